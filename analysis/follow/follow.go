// Package follow works out what roles follow: which cells bring a role up to date, and
// where two ways of one change meet (docs/updates.md).
//
// A role that follows an input depends on the role that writes it, and so a change runs
// along these edges. They are a graph without cycles, or the deployment would never rest.
// The sources of a cell are the roles and facts from which it comes by such edges alone, the
// role that writes it among them. Where two cells that a role reads have a source in common,
// the role has to wait until both are made of the same; only these sources have to be named
// in stamps, by all roles between the source and the place where its ways meet.
package follow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/rings"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Role is what a role follows.
type Role struct {
	Follows []contract.Follow
	Carries []contract.Source
}

// finder is one search.
type finder struct {
	analysis *binding.Analysis
	diags    *source.Diagnostics
	writers  map[contract.CellName]*program.Role
	roles    []*program.Role // in the order of the text
	edges    map[*program.Role][]edge
	sources  map[*program.Role]sources // that it follows
	carries  map[*program.Role]sources
	told     map[string]bool // of an input's place
	heat     *HeatValues
	rings    map[*program.Role]int // roles with one number read each other, all around
}

type sources map[contract.Source]bool

// edge is a cell that a role follows.
type edge struct {
	input  *program.Input
	cell   contract.CellName
	writer *program.Role // nil for a fact, and for what Heat gives
}

// Find finds what every role follows; cyclic says that some follow each other.
func Find(p *program.Program, a *binding.Analysis, heat *HeatValues, diags *source.Diagnostics) (all map[*program.Role]*Role, cyclic bool) {
	f := &finder{analysis: a, heat: heat, diags: diags, writers: map[contract.CellName]*program.Role{}, edges: map[*program.Role][]edge{},
		sources: map[*program.Role]sources{}, carries: map[*program.Role]sources{}, told: map[string]bool{}}
	f.roles = slices.Collect(p.Roles)
	for _, r := range f.roles {
		for _, o := range r.Outputs {
			f.writers[o.Cell()] = r
		}
	}
	found := map[*program.Role]*Role{}
	for _, r := range f.roles {
		if f.watched(r) || len(f.edges[r]) > 0 {
			found[r] = &Role{}
		}
	}
	if len(found) == 0 {
		return nil, false
	}
	if f.cyclic() {
		return nil, true
	}
	f.rings = rings.Of(f.roles, f.readsOf)
	for _, r := range f.roles {
		if found[r] != nil {
			found[r].Follows = f.follows(r)
		}
	}
	for r, named := range f.carries {
		if found[r] == nil {
			found[r] = &Role{}
		}
		found[r].Carries = slices.Sorted(maps.Keys(named))
	}
	return found, false
}

// watched notes what a role follows, and says what it cannot. Heat or an operator may give it
// something, whether it can follow that or not.
func (f *finder) watched(r *program.Role) (outside bool) {
	brought := r.Update() != nil || r.Idempotent
	for in, bound := range f.analysis.Bound(r) {
		if in.AtLeastAt.Known() {
			f.atLeast(in, bound)
		}
		given := append(f.heat.cells(in), lists.Only(bound.Expr.Cells(), func(cell contract.CellName) bool { return cell.FromOutside() })...)
		outside = outside || len(given) > 0
		if brought {
			f.follow(r, in, given)
		}
		if !in.WatchAt.Known() {
			continue
		}
		if !brought || bound.Time != contract.Run && len(bound.References) == 0 {
			f.cannot(r, in, bound)
			continue
		}
		f.follow(r, in, bound.Expr.Cells())
	}
	return outside
}

// follow makes the edges of an input.
func (f *finder) follow(r *program.Role, in *program.Input, cells []contract.CellName) {
	for _, name := range cells {
		if !slices.ContainsFunc(f.edges[r], func(e edge) bool { return e.cell == name }) {
			f.edges[r] = append(f.edges[r], edge{in, name, f.writers[name]})
		}
	}
}

// atLeast refuses a number of members where there are none.
func (f *finder) atLeast(in *program.Input, bound *binding.Bound) {
	joins := false
	bound.Expr.JoinedCells(func(string, int, contract.CellName) { joins = true })
	if at := in.AtLeastAt.String(); !joins && !f.told[at] {
		f.told[at] = true
		f.diags.Error(source.BadMetadata, in.AtLeastAt, fmt.Sprintf("`at_least` is about who is in a group, and input %q does not follow a group's list", in.Name),
			"read a list of what the group's members write, and say `watch: true`; or leave it out")
	}
}

// cannot says why an input cannot be followed, once for all members of a group.
func (f *finder) cannot(r *program.Role, in *program.Input, bound *binding.Bound) {
	at := in.WatchAt.String()
	if f.told[at] {
		return
	}
	f.told[at] = true
	if bound.Time != contract.Run && len(bound.References) == 0 {
		f.diags.Error(source.NotYet, in.WatchAt, fmt.Sprintf("the value of %q stands in the template: it changes with the template alone, and `hotc apply` brings the role to that", in.Name), "leave `watch` out")
		return
	}
	f.diags.Error(source.NothingToRun, in.WatchAt, fmt.Sprintf("role %q follows %q, and nothing would run when the value changes", r.Name, in.Name),
		"give it a hook `update`; or say `idempotent: true`, if it may be run again as it is")
}

// follows are the cells that count for a role.
func (f *finder) follows(r *program.Role) []contract.Follow {
	watched := lists.Set(lists.Map(f.edges[r], func(e edge) contract.CellName { return e.cell }))
	var names []contract.CellName
	needed := map[contract.CellName]bool{}
	members, perhaps := f.members(r), f.perhaps(r)
	for in, bound := range f.analysis.Bound(r) {
		for _, name := range slices.Concat(f.heat.cells(in), bound.Expr.Cells()) {
			needed[name] = needed[name] || !in.Optional && !in.HasDefault
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	of := map[contract.Source][]contract.CellName{} // the cells of a source
	follows := sources{}
	for _, name := range names {
		for s := range f.sourcesOf(name) {
			way := name
			if s == contract.HeatSource && f.writers[name] == nil {
				way = contract.CellName(s) // all that Heat gives a server stands in one record
			}
			if !slices.Contains(of[s], way) {
				of[s] = append(of[s], way)
			}
			follows[s] = follows[s] || watched[name]
		}
	}
	var cells []contract.Follow
	for _, name := range names {
		c := contract.Follow{Cell: name, Watch: watched[name], Optional: !needed[name], Member: members[name]}
		if c.Member == nil {
			c.Perhaps = perhaps[name]
		}
		if w := f.writers[name]; w != nil && !c.Watch && f.rings[w] == f.rings[r] {
			continue // each would wait for the other
		}
		for _, s := range slices.Sorted(maps.Keys(f.sourcesOf(name))) {
			if len(of[s]) > 1 && follows[s] {
				c.Sources = append(c.Sources, s)
				f.carry(name, s)
			}
		}
		if c.Cell.FromOutside() || c.Watch || c.Sources != nil || c.Perhaps != nil {
			cells = append(cells, c)
		}
	}
	return cells
}

// members says of which members of groups the cells are that a role follows as such.
func (f *finder) members(r *program.Role) map[contract.CellName]*contract.Member {
	members := map[contract.CellName]*contract.Member{}
	for _, bound := range f.analysis.Bound(r) {
		bound.Expr.JoinedCells(func(group string, number int, cell contract.CellName) {
			if server := f.serverOf(cell); strings.HasPrefix(string(server), group+"/") { // else it is no news of the member
				members[cell] = &contract.Member{Group: group, Number: number, Server: server}
			}
		})
	}
	return members
}

// serverOf is the server that writes a cell.
func (f *finder) serverOf(cell contract.CellName) contract.ServerPath {
	if w := f.writers[cell]; w != nil {
		return w.Server.Path
	}
	server, _, _ := strings.Cut(string(cell), ":") // of a fact
	return contract.ServerPath(server)
}

// perhaps says which cells are of servers that are there if Heat decides so, by what it gives the
// role's server.
func (f *finder) perhaps(r *program.Role) map[contract.CellName]*contract.Perhaps {
	all := map[contract.CellName]*contract.Perhaps{}
	var visit func(e *hot.Expr, decided []contract.CellName)
	visit = func(e *hot.Expr, decided []contract.CellName) {
		e.Walk(func(x *hot.Expr) bool {
			if choice, is := x.If(); is && choice.Else != nil && choice.Else.Kind == hot.CallExpr && choice.Else.Func == hot.AbsentRef {
				if key := choice.Condition.Ref(); key.Kind == hot.ToDeploy && f.heat.Carries(key.Name) {
					visit(choice.Then, append(slices.Clip(decided), contract.HeatCell(key.Name)))
					return false
				}
			}
			if ref := x.Ref(); ref.Kind == hot.ToCell && ref.Name != "" && len(decided) > 0 {
				all[ref.Cell()] = &contract.Perhaps{Server: f.serverOf(ref.Cell()), If: decided}
			}
			return true
		})
	}
	for _, bound := range f.analysis.Bound(r) {
		if bound.Time == contract.Run {
			visit(binding.Slots(bound.Expr.WithoutCounts(), func(e *hot.Expr) *hot.Expr {
				return hot.NewCall(hot.DeployRef, e.At, hot.Constant(binding.Key(e), e.At))
			}), nil)
		}
	}
	return all
}

// sourcesOf are those from which a cell comes.
func (f *finder) sourcesOf(cell contract.CellName) sources {
	r := f.writers[cell]
	if _, heats := cell.HeatKey(); heats {
		return sources{contract.HeatSource: true}
	}
	if r == nil {
		return sources{contract.Source(cell): true}
	}
	if f.sources[r] == nil {
		all := sources{contract.Source(r.Key()): true}
		for _, e := range f.edges[r] {
			maps.Copy(all, f.sourcesOf(e.cell))
		}
		f.sources[r] = all
	}
	return f.sources[r]
}

// carry makes the stamps of a cell name a source, and those of the cells that it comes from.
func (f *finder) carry(cell contract.CellName, name contract.Source) {
	r := f.writers[cell]
	if r == nil || f.carries[r][name] {
		return
	}
	if f.carries[r] == nil {
		f.carries[r] = sources{}
	}
	f.carries[r][name] = true
	for _, e := range f.edges[r] {
		if f.sourcesOf(e.cell)[name] {
			f.carry(e.cell, name)
		}
	}
}

// readsOf are the roles that write what a role reads.
func (f *finder) readsOf(r *program.Role) []*program.Role {
	var all []*program.Role
	for _, bound := range f.analysis.Bound(r) {
		for _, name := range bound.Expr.Cells() {
			if w := f.writers[name]; w != nil {
				all = append(all, w)
			}
		}
	}
	return all
}

// cyclic refuses roles that follow each other.
func (f *finder) cyclic() bool {
	cycle := rings.First(f.roles, func(r *program.Role, yield func(edge, *program.Role) bool) {
		for _, e := range f.edges[r] {
			if e.writer != nil && !yield(e, e.writer) {
				return
			}
		}
	})
	if cycle != nil {
		f.refuse(cycle)
	}
	return cycle != nil
}

// mostSteps is how many steps of a cycle are told.
const mostSteps = 12

func (f *finder) refuse(cycle []edge) {
	message := "roles follow each other, and would run for ever: "
	for _, e := range cycle[:min(len(cycle), mostSteps)] {
		message += fmt.Sprintf("%s → ", e.input.Role.Key())
	}
	if left := len(cycle) - mostSteps; left > 0 {
		message += fmt.Sprintf("… (%d more) → ", left)
	}
	d := f.diags.Error(source.WatchCycle, cycle[0].input.WatchAt, message+string(cycle[0].input.Role.Key()), "leave out one of these `watch`: its role reads the value when it runs")
	for _, e := range cycle[:min(len(cycle), mostSteps)] {
		d.Note(e.input.WatchAt, fmt.Sprintf("%s follows %s (input %q)", e.input.Role.Key(), e.cell, e.input.Name))
	}
}
