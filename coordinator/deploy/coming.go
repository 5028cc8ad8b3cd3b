package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/rings"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A change of the plan may reach a role on several paths: the role itself is changed, and so is a
// role that it reads; or two that it follows are; or a secret is supplied together with the change,
// or with another secret. The role has to run once, when all of that is there. So before any server
// is told of the change, such roles are told which cells to wait for, and the roles on the way to
// them that others wait for their cells (docs/updates.md).

// announce tells them. What an interrupted attempt of the same change has announced is there
// already, and says which roles it has asked.
func (u *update) announce(ctx context.Context, changes []RoleChange) error {
	found := map[contract.ServerPath]map[string]protocol.Coming{}
	if u.resumed || u.live == u.to {
		for _, s := range u.to.Servers {
			record, _, _, err := u.reader().requests(ctx, s.Path)
			if err != nil {
				return err
			}
			found[s.Path] = record.Coming
		}
	}
	reached := newReach(u.to, u.given)
	had := map[contract.RoleKey]bool{}
	for s, r := range u.live.EachRole() {
		had[s.Path.Role(r.Name)] = true
	}
	for _, c := range changes {
		switch {
		case c.Effect == EffectHook || c.Effect == EffectAgain:
			reached.asked[c.Key()] = true
		case c.Effect == EffectRun && !had[c.Key()]:
			reached.added[c.Key()] = true
		}
	}
	number := u.record.Counter
	if u.live == u.to {
		number = u.unfinished(found)
	}
	for server, coming := range found {
		for role, c := range coming {
			key := server.Role(role)
			reached.asked[key] = reached.asked[key] || c.Number == number && c.Asked
			reached.added[key] = reached.added[key] || u.live == u.to && c.Number == number && c.Added
		}
	}
	told, err := u.comings(ctx, reached, number)
	if err != nil {
		return err
	}
	return store.Each(ctx, len(u.to.Servers), func(ctx context.Context, i int) error {
		s := &u.to.Servers[i]
		if told[s.Path] == nil && (!u.resumed || len(found[s.Path]) == 0) {
			return nil
		}
		return u.tellComing(ctx, s, told[s.Path])
	})
}

// announceSecrets announces secrets that are supplied together, without a change of the plan. If it
// is interrupted, the next apply treats it as a change to the same plan.
func (w *Publication) announceSecrets(ctx context.Context, s store.Session, found protocol.DeploymentRecord) (protocol.DeploymentRecord, error) {
	u, err := newUpdate(ctx, s, w, newTokens(w.Secret, w.Deployment, w.Plan), found.Plan)
	if err == nil {
		u.live = u.to
		announce := func(ctx context.Context) error { return u.announce(ctx, nil) }
		end := func(ctx context.Context) error { return u.end(ctx) }
		err = store.InTurn(ctx, u.mark, announce, end)
	}
	if err != nil {
		return found, fmt.Errorf("publish %s: %w", w.Deployment, operatorError(err))
	}
	return u.after(), nil
}

// unfinished is the number of the change that has announced secrets which now come without a change of
// the plan, or this one's number: the apply that made it ended before it supplied them all. Roles that
// it has changed still wait for these secrets, and run once for both.
func (u *update) unfinished(found map[contract.ServerPath]map[string]protocol.Coming) int64 {
	for _, coming := range found {
		for _, c := range coming {
			for cell, before := range c.After {
				if next := u.given[cell]; next > 0 && before == next-1 {
					return c.Number
				}
			}
		}
	}
	return u.record.Counter
}

// comings are the announcements of a change to the roles of each server.
func (u *update) comings(ctx context.Context, reached *reach, number int64) (map[contract.ServerPath]map[string]protocol.Coming, error) {
	numbers := map[contract.ServerPath]int{}
	all := map[contract.ServerPath]map[string]protocol.Coming{}
	for key, after := range reached.told() {
		c := protocol.Coming{Number: number, Asked: reached.asked[key] || reached.added[key], Added: reached.added[key]}
		for _, cell := range after {
			if c.After == nil {
				c.After = map[contract.CellName]int{}
			}
			if next := u.given[cell]; next > 0 {
				c.After[cell] = next - 1
				continue
			}
			server := reached.place[reached.writer[cell]].server
			if _, known := numbers[server]; !known {
				node, err := u.store.Read(ctx, u.d.Server(server))
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					return nil, err
				}
				if err == nil {
					numbers[server] = protocol.ParseIncarnation(node).Number
				}
			}
			c.After[cell] = numbers[server]
		}
		at := reached.place[key]
		if all[at.server] == nil {
			all[at.server] = map[string]protocol.Coming{}
		}
		all[at.server][at.role.Name] = c
	}
	return all, nil
}

// tellComing writes the announcements to the roles of a server. Those of an earlier change stay,
// unless that was interrupted: no role waits for what may never come.
func (u *update) tellComing(ctx context.Context, s *contract.Server, told map[string]protocol.Coming) error {
	for {
		record, next, write, err := u.reader().requests(ctx, s.Path)
		if err != nil {
			return err
		}
		now := map[string]protocol.Coming{}
		for role, c := range record.Coming {
			if !u.resumed && slices.ContainsFunc(s.Roles, func(r contract.Role) bool { return r.Name == role }) {
				now[role] = c
			}
		}
		for role, c := range told {
			now[role] = u.withGiven(c, record.Coming[role])
		}
		if maps.EqualFunc(now, record.Coming, func(a, b protocol.Coming) bool {
			return a.Number == b.Number && a.Asked == b.Asked && a.Added == b.Added && maps.Equal(a.After, b.After)
		}) {
			return nil
		}
		record.Coming = now
		op, err := write(record, next)
		if err == nil {
			err = u.store.Commit(ctx, u.guard(), op)
		}
		if !errors.Is(err, store.ErrVersion) {
			return err
		}
		if err := u.check(ctx); err != nil {
			return err
		}
	}
}

// withGiven adds the previously announced secrets where the plan does not change: the apply that
// supplied them may have ended before it supplied the rest, which makes this the same change.
func (u *update) withGiven(now, before protocol.Coming) protocol.Coming {
	if u.live != u.to || now.After == nil {
		return now
	}
	now.After = maps.Clone(now.After)
	for cell, number := range before.After {
		if _, told := now.After[cell]; !told && cell.FromOutside() {
			now.After[cell] = number
		}
	}
	return now
}

// reach computes which roles a change of a plan reaches, and on which paths.
type reach struct {
	asked, added map[contract.RoleKey]bool
	given        map[contract.CellName]int // secrets that get a new value, with its number
	roles        []contract.RoleKey
	place        map[contract.RoleKey]placed
	writer       map[contract.CellName]contract.RoleKey
	ring         map[contract.RoleKey]int // roles with the same number read each other, in a cycle
}

type placed struct {
	server contract.ServerPath
	role   *contract.Role
}

func newReach(p *contract.Plan, given map[contract.CellName]int) *reach {
	g := &reach{given: given, asked: map[contract.RoleKey]bool{}, added: map[contract.RoleKey]bool{}, place: map[contract.RoleKey]placed{}, writer: map[contract.CellName]contract.RoleKey{}}
	for _, c := range p.Cells {
		if c.Role != "" && c.Name != c.Server.Role(c.Role).Completion() {
			g.writer[c.Name] = c.Server.Role(c.Role)
		}
	}
	for s, r := range p.EachRole() {
		key := s.Path.Role(r.Name)
		g.roles = append(g.roles, key)
		g.place[key] = placed{s.Path, r}
	}
	return g
}

// reads are the roles whose outputs a role reads, with a cell of each; watched are those that it
// follows.
func (g *reach) reads(key contract.RoleKey) (cells map[contract.RoleKey]contract.CellName, watched map[contract.RoleKey]bool) {
	cells, watched = map[contract.RoleKey]contract.CellName{}, map[contract.RoleKey]bool{}
	note := func(cell contract.CellName) contract.RoleKey {
		w := g.writer[cell]
		if w == "" || w == key {
			return ""
		}
		if before, known := cells[w]; !known || cell < before {
			cells[w] = cell
		}
		return w
	}
	r := g.place[key].role
	for _, in := range r.Inputs {
		for _, cell := range in.Reads {
			note(cell)
		}
	}
	for _, f := range r.Follows {
		if w := note(f.Cell); w != "" && f.Watch {
			watched[w] = true
		}
	}
	return cells, watched
}

// told are the roles that have to be told of the change, each with the cells it waits for: one of
// each role that it reads and that runs for the change. Among roles that read each other only
// followed ones are waited for, which never form a cycle.
func (g *reach) told() map[contract.RoleKey][]contract.CellName {
	if len(g.asked)+len(g.added)+len(g.given) < 2 {
		return nil // the compiler knows these paths, as sources
	}
	runs := maps.Clone(g.asked)
	maps.DeleteFunc(runs, func(_ contract.RoleKey, is bool) bool { return !is })
	followers := map[contract.RoleKey][]contract.RoleKey{}
	secrets := map[contract.RoleKey][]contract.CellName{} // that a role gets
	for _, key := range g.roles {
		for _, f := range g.place[key].role.Follows {
			if g.given[f.Cell] > 0 {
				secrets[key] = append(secrets[key], f.Cell)
				runs[key] = runs[key] || f.Watch && !g.added[key]
			}
		}
		_, watched := g.reads(key)
		for w := range watched {
			followers[w] = append(followers[w], key)
		}
	}
	for open := slices.Collect(maps.Keys(runs)); len(open) > 0; {
		key := open[len(open)-1]
		open = open[:len(open)-1]
		for _, f := range followers[key] {
			if !runs[f] && !g.added[f] && g.place[f].role.Updating() != nil {
				runs[f] = true
				open = append(open, f)
			}
		}
	}
	g.ring = rings.Of(g.roles, func(key contract.RoleKey) []contract.RoleKey {
		cells, _ := g.reads(key)
		return slices.SortedFunc(maps.Keys(cells), cmp.Compare)
	})
	after := map[contract.RoleKey][]contract.CellName{}
	var open []contract.RoleKey
	for _, key := range g.roles {
		if !runs[key] && !g.added[key] {
			continue
		}
		cells, watched := g.reads(key)
		for w, cell := range cells {
			if runs[w] && (watched[w] || g.ring[w] != g.ring[key]) {
				after[key] = append(after[key], cell)
			}
		}
		after[key] = append(after[key], secrets[key]...)
		slices.Sort(after[key])
		if n := len(after[key]); n > 1 || n == 1 && (g.asked[key] || g.added[key]) {
			open = append(open, key)
		}
	}
	told := map[contract.RoleKey][]contract.CellName{}
	for len(open) > 0 {
		key := open[len(open)-1]
		open = open[:len(open)-1]
		if _, known := told[key]; known {
			continue
		}
		told[key] = after[key]
		for _, cell := range after[key] { // its writer announces how far the change is
			if w := g.writer[cell]; w != "" {
				open = append(open, w)
			}
		}
	}
	return told
}
