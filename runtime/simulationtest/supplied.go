package simulationtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// In some cases an operator supplies secrets, which roles follow: several in one apply, with or
// without a change of the plan. That is one change like any other.

// addSecrets adds secrets that roles follow, and changes of these.
func (c *Case) addSecrets(r *rand.Rand) {
	g, p := mishaps{r}, &c.Program.Plan
	if !g.perhaps(0.5) {
		return
	}
	for n := range 2 + r.IntN(2) {
		name := fmt.Sprintf("s%d", n)
		x := contract.Secret{Name: name, Cell: contract.SecretCell(name), At: "site.yaml:1:1", Declaration: json.RawMessage(`{}`)}
		for i := range p.Servers {
			s := &p.Servers[i]
			for k := range s.Roles {
				if role := &s.Roles[k]; g.perhaps(0.4) {
					role.Inputs = append(role.Inputs, contract.Input{Name: name, Time: contract.Run, Secret: true, Watch: true, Reads: []contract.CellName{x.Cell},
						Expr: json.RawMessage(fmt.Sprintf(`{"$cell":%q}`, x.Cell)), At: map[string]contract.Position{"": role.At}})
					role.Follows = append(role.Follows, contract.Follow{Cell: x.Cell, Watch: true})
					of := c.Program.Roles[s.Path.Role(role.Name)]
					of.Steps = append([]Step{{Op: Read, Name: name, Eager: true}}, of.Steps...)
				}
			}
		}
		p.Secrets = append(p.Secrets, x)
	}
	p.Derive()
	p.Secrets = slices.DeleteFunc(p.Secrets, func(x contract.Secret) bool { return len(x.Readers) == 0 })
	for i := range c.Faults.Updates {
		u := &c.Faults.Updates[i]
		if u.Gives = g.perhaps(0.7); u.Gives && g.perhaps(0.3) {
			u.Cut, u.Again = 1+r.IntN(60), u.At+g.within(20*time.Second)
		}
		u.Keeps = u.Gives && g.perhaps(0.6)
	}
}

// value is a secret's last supplied value.
func (w *world) value(name string) json.RawMessage {
	text, _ := json.Marshal(fmt.Sprintf("%s as given in change %d", name, w.gives.Load()))
	return text
}

// after are the secrets whose value changes.
func (w *world) after(s store.Session, p *contract.Plan) (map[contract.CellName]int, error) {
	if len(p.Secrets) == 0 {
		return nil, nil
	}
	given, err := deploy.ReadGiven(w.ctx, s, deployment, w.secret, p)
	if errors.Is(err, deploy.ErrNotApplied) || errors.Is(err, deploy.ErrUnfinished) || errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	after := map[contract.CellName]int{}
	for i := range given {
		if x := p.Secrets[i]; given[i].Becomes(w.secret, deployment, x.Name, w.value(x.Name)) {
			after[x.Cell] = given[i].Next()
		}
	}
	return after, err
}

// give supplies all secrets of a plan.
func (w *world) give(s store.Session, p *contract.Plan) error {
	for _, x := range p.Secrets {
		if err := deploy.Give(w.ctx, s, deployment, w.secret, p, x, w.value(x.Name), w.operatorsNow()); err != nil {
			return err
		}
		w.history.count("secrets given")
	}
	return nil
}

// cell is a cell as the operator sees it.
func (v *verdict) cell(c contract.CellName) protocol.CellRecord {
	for i, x := range v.world.program.Plan.Secrets {
		if x.Cell == c {
			return v.snapshot.Given[i].Record()
		}
	}
	r := v.servers[v.cells[c].Server].Cells[c]
	if r.State == protocol.Valued { // a snapshot has no values
		cluster := v.world.cluster
		cluster.mu.Lock()
		defer cluster.mu.Unlock()
		r.Value = cluster.plain(v.world, contract.CellRef{Cell: c, Server: v.cells[c].Server}, len(cluster.commits)).Value
	}
	return r
}
