package contract

import (
	"encoding/json"
	"slices"
)

// Derive fills in what follows from the cells and from what roles read: who reads a cell or a
// secret, and what a server reads, writes and seals. A plan has it as soon as it is built or read.
// To read a cell that is not in the plan gives no right; check.Plan refuses it.
func (p *Plan) Derive() {
	cells, types := make(map[CellName]CellRef, len(p.Cells)+len(p.Secrets)), p.Types()
	for _, c := range p.Cells {
		cells[c.Name] = CellRef{Cell: c.Name, Server: c.Server, Sealed: c.Sealed, Type: types[c.Name]}
	}
	for _, s := range p.Secrets {
		cells[s.Cell] = s.Ref()
	}
	servers, readers := make(map[ServerPath]*Server, len(p.Servers)), make(map[CellName][]ServerPath, len(cells))
	for i := range p.Servers {
		s := &p.Servers[i]
		servers[s.Path], s.Reads, s.Writes, s.Seals = s, nil, nil, nil
		seen := map[CellName]bool{}
		for k := range s.Roles {
			for _, name := range s.Roles[k].Reads() {
				cell, known := cells[name]
				if !known || seen[name] {
					continue
				}
				seen[name], s.Reads = true, append(s.Reads, cell)
				if cell.Server != s.Path {
					readers[name] = append(readers[name], s.Path)
				}
			}
		}
	}
	for _, of := range readers {
		slices.Sort(of)
	}
	for i := range p.Secrets {
		p.Secrets[i].Readers = readers[p.Secrets[i].Cell]
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		c.Readers = readers[c.Name]
		if s := servers[c.Server]; s != nil {
			s.Writes = append(s.Writes, c.Name)
			if c.Sealed {
				s.Seals = append(s.Seals, Sealing{Cell: c.Name, Readers: c.Readers})
			}
		}
	}
}

// Reads are the cells that the role may read: those of its inputs, and the completions of the roles
// that it depends on.
func (r *Role) Reads() (cells []CellName) {
	for _, in := range r.Inputs {
		cells = append(cells, in.Reads...)
	}
	for _, d := range r.DependsOn {
		cells = append(cells, d.Cell)
	}
	return cells
}

// UnmarshalJSON reads plan.json, and derives what it does not say.
func (p *Plan) UnmarshalJSON(text []byte) error {
	type said Plan
	err := json.Unmarshal(text, (*said)(p))
	p.Derive()
	return err
}

// MarshalJSON leaves out what is derived.
func (p Plan) MarshalJSON() ([]byte, error) {
	type said Plan
	p.Servers = slices.Clone(p.Servers)
	for i := range p.Servers {
		s := &p.Servers[i]
		s.Reads, s.Writes, s.Seals = nil, nil, nil
	}
	return json.Marshal(said(p))
}
