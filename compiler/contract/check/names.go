package check

import (
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// names checks what the schema cannot: servers, cells and files that are named exist,
// once, and each server's reads and writes agree with the cells.
func names(p *contract.Plan) error {
	c := checker{
		servers: map[contract.ServerPath]bool{},
		cells:   map[contract.CellName]contract.Cell{},
		readers: map[use]bool{},
		files:   map[string]bool{},
	}
	for i, s := range p.Servers {
		c.must(!c.servers[s.Path], "/servers/%d/path: duplicate %s", i, s.Path)
		c.servers[s.Path] = true
	}
	for i, f := range p.Files {
		c.must(!c.files[f.Digest], "/files/%d/digest: duplicate %s", i, f.Digest)
		c.files[f.Digest] = true
	}
	for i, cell := range p.Cells {
		_, twice := c.cells[cell.Name]
		c.must(!twice, "/cells/%d/name: duplicate %s", i, cell.Name)
		c.must(c.servers[cell.Server], "/cells/%d/server: the plan has no server %s", i, cell.Server)
		for j, r := range cell.Readers {
			c.must(c.servers[r], "/cells/%d/readers/%d: the plan has no server %s", i, j, r)
		}
		c.cells[cell.Name] = cell
		for _, r := range cell.Readers {
			c.readers[use{r, cell.Name}] = true
		}
	}
	for i, s := range p.Secrets {
		_, twice := c.cells[s.Cell]
		c.must(!twice, "/secrets/%d/cell: duplicate %s", i, s.Cell)
		c.must(s.Cell == contract.SecretCell(s.Name), "/secrets/%d/cell: %s is not the cell of %s", i, s.Cell, s.Name)
		c.cells[s.Cell] = contract.Cell{Name: s.Cell, Server: contract.Operator}
		for j, r := range s.Readers {
			c.must(c.servers[r], "/secrets/%d/readers/%d: the plan has no server %s", i, j, r)
			c.readers[use{r, s.Cell}] = true
		}
	}
	for i := range p.Servers {
		c.server(fmt.Sprintf("/servers/%d", i), &p.Servers[i])
	}
	if len(c.wrong) == 0 {
		c.complete(p)
	}
	if len(c.wrong) > mostReported {
		c.wrong = append(c.wrong[:mostReported:mostReported], fmt.Errorf("and %d more", len(c.wrong)-mostReported))
	}
	return errors.Join(c.wrong...)
}

type checker struct {
	servers map[contract.ServerPath]bool
	cells   map[contract.CellName]contract.Cell
	readers map[use]bool
	files   map[string]bool
	wrong   []error
}

// use is a server's access to a cell.
type use struct {
	server contract.ServerPath
	cell   contract.CellName
}

func (c *checker) must(holds bool, format string, args ...any) {
	if !holds {
		c.wrong = append(c.wrong, fmt.Errorf(format, args...))
	}
}

func (c *checker) server(at string, s *contract.Server) {
	usable := map[contract.CellName]bool{}
	for j, r := range s.Reads {
		cell, known := c.cells[r.Cell]
		c.must(known, "%s/reads/%d/cell: the plan has no cell %s", at, j, r.Cell)
		if known {
			c.must(cell.Server == r.Server, "%s/reads/%d/server: %s is written by %s", at, j, r.Cell, cell.Server)
			c.must(cell.Server == s.Path || c.readers[use{s.Path, r.Cell}],
				"%s/reads/%d: %s is not among the readers of %s", at, j, s.Path, r.Cell)
		}
		usable[r.Cell] = true
	}
	for j, w := range s.Writes {
		cell, known := c.cells[w]
		c.must(known && cell.Server == s.Path, "%s/writes/%d: %s is not a cell of %s", at, j, w, s.Path)
		usable[w] = true
	}
	roles := map[string]bool{}
	for j, r := range s.Roles {
		at := fmt.Sprintf("%s/roles/%d", at, j)
		c.must(!roles[r.Name], "%s/name: duplicate %s", at, r.Name)
		roles[r.Name] = true
		c.role(at, s, r, usable)
	}
}

func (c *checker) role(at string, s *contract.Server, r contract.Role, usable map[contract.CellName]bool) {
	for j, digest := range r.Files {
		c.must(c.files[digest], "%s/files/%d: the plan lists no file %s", at, j, digest)
	}
	c.tasks(at+"/actions", r.Actions)
	c.tasks(at+"/hooks", r.Hooks)
	for j, f := range r.Render {
		c.must(c.files[f.Template], "%s/render/%d/template: the plan lists no file %s", at, j, f.Template)
	}
	for j, d := range r.DependsOn {
		c.must(usable[d.Cell], "%s/depends_on/%d/cell: %s is not among the reads of %s", at, j, d.Cell, s.Path)
	}
	inputs := map[string]bool{}
	for j, in := range r.Inputs {
		c.must(!inputs[in.Name], "%s/inputs/%d/name: duplicate %s", at, j, in.Name)
		inputs[in.Name] = true
		for n, cell := range in.Reads {
			c.must(usable[cell], "%s/inputs/%d/reads/%d: %s is not among the reads of %s", at, j, n, cell, s.Path)
		}
	}
	outputs := map[string]bool{}
	for j, out := range r.Outputs {
		outputs[out.Name] = true
		c.must(c.cells[out.Cell].Server == s.Path, "%s/outputs/%d/cell: %s is not among the writes of %s", at, j, out.Cell, s.Path)
	}
	for j, signal := range r.Signals {
		for n, name := range signal.Outputs {
			c.must(outputs[name], "%s/signals/%d/outputs/%d: the role has no output %s", at, j, n, name)
		}
	}
}

func (c *checker) tasks(at string, tasks []contract.Task) {
	named := map[string]bool{}
	for i, t := range tasks {
		c.must(!named[t.Name], "%s/%d/name: duplicate %s", at, i, t.Name)
		named[t.Name] = true
		for j, digest := range t.Files {
			c.must(c.files[digest], "%s/%d/files/%d: the plan lists no file %s", at, i, j, digest)
		}
	}
}

// complete checks the other direction: every right that the cells grant is listed by its
// server.
func (c *checker) complete(p *contract.Plan) {
	reads, writes := map[use]bool{}, map[use]bool{}
	for _, s := range p.Servers {
		for _, r := range s.Reads {
			reads[use{s.Path, r.Cell}] = true
		}
		for _, w := range s.Writes {
			writes[use{s.Path, w}] = true
		}
	}
	for i, s := range p.Secrets {
		for j, r := range s.Readers {
			c.must(reads[use{r, s.Cell}], "/secrets/%d/readers/%d: %s is not among the reads of %s", i, j, s.Cell, r)
		}
	}
	for i, cell := range p.Cells {
		c.must(writes[use{cell.Server, cell.Name}], "/cells/%d/name: %s is not among the writes of %s", i, cell.Name, cell.Server)
		for j, r := range cell.Readers {
			c.must(r == cell.Server || reads[use{r, cell.Name}],
				"/cells/%d/readers/%d: %s is not among the reads of %s", i, j, cell.Name, r)
		}
	}
}
