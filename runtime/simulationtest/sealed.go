package simulationtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// In many cases some outputs are secret: the coordinator holds them sealed, and each reader needs a
// key from the writer's agent. In some, a change of the plan adds a role that writes a secret, often
// the first one of the deployment, and one on another server that reads it.

// firstSecrets lets a change of the plan add the first secret of a server.
const firstSecrets = true

// addSealed makes outputs secret, and changes of the plan that add secrets.
func (c *Case) addSealed(r *rand.Rand) {
	g := mishaps{r}
	grown := c.addGrowth(g)
	share := 0.4
	if !g.perhaps(0.5) {
		share = 0 // of those that are there from the start
	}
	if !firstSecrets {
		grown = nil
	}
	secret := map[contract.CellName]bool{}
	for _, s := range c.Program.Plan.Servers {
		for _, role := range s.Roles {
			for _, o := range role.Outputs {
				secret[o.Cell] = slices.Contains(grown, o.Cell) && g.perhaps(0.8) || g.perhaps(share) && !isToldHeat(role, o)
			}
		}
	}
	sealCells(&c.Program.Plan, secret)
}

// isToldHeat reports whether Heat gets an output.
func isToldHeat(r contract.Role, o contract.Output) bool {
	return o.Heat || slices.ContainsFunc(r.Signals, func(s contract.Signal) bool { return slices.Contains(s.Outputs, o.Name) })
}

// sealCells marks cells as secret wherever a plan says it.
func sealCells(p *contract.Plan, secret map[contract.CellName]bool) {
	for i := range p.Cells {
		p.Cells[i].Sealed = p.Cells[i].Sealed || secret[p.Cells[i].Name]
	}
	for i := range p.Servers {
		s := &p.Servers[i]
		for k := range s.Roles {
			role := &s.Roles[k]
			for n := range role.Outputs {
				role.Outputs[n].Secret = secret[role.Outputs[n].Cell]
			}
			for n := range role.Inputs {
				in := &role.Inputs[n]
				in.Secret = in.Secret || slices.ContainsFunc(in.Reads, func(c contract.CellName) bool { return secret[c] })
			}
		}
	}
	p.Derive()
}

// addGrowth makes the first change of the plan add a role that writes, and one that reads it. It
// returns what is written.
func (c *Case) addGrowth(g mishaps) []contract.CellName {
	p := c.Program
	if len(c.Faults.Updates) == 0 || c.Faults.Destroy > 0 || len(p.Plan.Servers) < 2 || p.Joining != nil || !g.perhaps(0.5) {
		return nil
	}
	c.Faults.Updates[0].Grows = true
	for i := range min(2, len(c.Faults.Updates)) {
		c.Faults.Updates[i].Back, c.Faults.Updates[i].Keeps = false, false // to a plan without them
	}
	for i := range c.Faults.Machines {
		c.Faults.Machines[i].Once = false
	}
	from := g.IntN(len(p.Plan.Servers) - 1)
	writer, reader := &p.Plan.Servers[from], &p.Plan.Servers[from+1]
	late := func(s *contract.Server, steps ...Step) *contract.Role {
		r := contract.Role{Name: lateName, At: "site.yaml:90:1", Driver: driverName, Source: json.RawMessage(`{}`)}
		if p.Follow { // as the other roles
			hook, _ := json.Marshal(made{Hook: true})
			r.Hooks = []contract.Task{{Name: contract.HookUpdate, At: r.At, Source: hook}}
		}
		key := s.Path.Role(r.Name)
		p.Roles[key] = &Role{Steps: steps}
		p.Plan.Cells = append(p.Plan.Cells, contract.Cell{Name: key.Completion(), Server: s.Path, Role: r.Name})
		s.Roles = append(s.Roles, r)
		return &s.Roles[len(s.Roles)-1]
	}
	w := late(writer, Step{Op: Work, For: g.within(5 * time.Second)}, Step{Op: Write, Name: "o0"})
	cell := contract.CellName(fmt.Sprintf("%s:o0", writer.Path.Role(lateName)))
	w.Outputs = []contract.Output{{Name: "o0", Cell: cell, Type: contract.String, At: w.At}}
	p.Plan.Cells = append(p.Plan.Cells, contract.Cell{Name: cell, Server: writer.Path, Role: lateName})
	r := late(reader, Step{Op: Read, Name: "i0"})
	r.Inputs = []contract.Input{{Name: "i0", Time: contract.Run, At: map[string]contract.Position{"": r.At}, IfDown: 30,
		Reads: []contract.CellName{cell}, Expr: json.RawMessage(fmt.Sprintf(`{"$cell":%q}`, cell))}}
	slices.SortFunc(p.Plan.Cells, func(a, b contract.Cell) int { return cmp.Compare(a.Name, b.Name) })
	return []contract.CellName{cell}
}

// lateName is the role that a change of the plan adds.
const lateName = "late"

// first is the plan that is applied first: without what its first change adds.
func (c *Case) first() contract.Plan {
	p := c.Program.Plan
	if len(c.Faults.Updates) == 0 || !c.Faults.Updates[0].Grows {
		return p
	}
	added := func(c contract.CellName) bool { return isOf(c, lateName) }
	p.Servers, p.Cells = slices.Clone(p.Servers), slices.DeleteFunc(slices.Clone(p.Cells), func(c contract.Cell) bool { return added(c.Name) })
	for i := range p.Servers {
		s := &p.Servers[i]
		s.Roles = slices.DeleteFunc(slices.Clone(s.Roles), func(r contract.Role) bool { return r.Name == lateName })
	}
	p.Secrets = slices.Clone(p.Secrets)
	p.Derive()
	return p
}

// isOf reports whether a cell is a role's completion or output.
func isOf(c contract.CellName, role string) bool {
	key, _, _ := strings.Cut(string(c), ":")
	return strings.HasSuffix(key, "."+role)
}

// plain is a record with its value, which a machine of its writer can open. Locked.
func (c *cluster) plain(w *world, ref contract.CellRef, view int) protocol.CellRecord {
	r := cell(c.state(deployment.Cell(ref), view).data)
	if r.Sealed == "" {
		return r
	}
	var seals protocol.SealsRecord
	_ = json.Unmarshal(c.state(deployment.SealsFor(ref.Server, ref.Server), view).data, &seals)
	box := seals[ref.Cell]
	for _, m := range w.machines {
		key, has := m.key()
		if m.Server != ref.Server || !has || box.Box != seal.ID(r.Sealed) || box.To != seal.ID(key.Public()) {
			continue
		}
		content, err := key.Unwrap(box.Key, deployment.KeyPlace(ref.Cell, ref.Server, box.Box))
		if err == nil {
			r.Value, err = content.Open(r.Sealed, deployment.BoxPlace(ref.Cell))
		}
		if err == nil {
			r.Sealed = ""
		}
	}
	return r
}

// key is the key on the machine's disk.
func (m *machine) key() (key seal.Key, has bool) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	var there struct{ Key string }
	if f := m.disk.names["key"]; f == nil || json.Unmarshal(f.text, &there) != nil {
		return key, false
	}
	key, err := seal.ParseKey(there.Key)
	return key, err == nil
}
