// Package follow computes what roles follow: which cells bring a role up to date, and
// where two paths of one change meet (docs/updates.md).
//
// A role that follows an input depends on the role that writes it, and a change propagates
// along these edges. They must form no cycle, or the deployment would never settle. The
// sources of a cell are the roles and facts from which it derives through such edges alone,
// the role that writes it included. Where two cells that a role reads have a source in
// common, the role has to wait until both derive from the same run of it; only these sources
// have to be named in stamps, by all roles between the source and the place where its paths
// meet.
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

// finder is the state of Find.
type finder struct {
	analysis *binding.Analysis
	diags    *source.Diagnostics
	roles    []*program.Role // in template order
	edges    map[*program.Role][]edge
	sources  map[*program.Role]sources // of the cells that it writes
	carries  map[*program.Role]sources
	reported map[string]bool // places of inputs with a diagnostic
	heat     *HeatValues
	rings    map[*program.Role]int // roles with the same number read each other, in a cycle
}

type sources map[contract.Source]bool

// edge is a cell that a role follows.
type edge struct {
	input  *program.Input
	cell   contract.CellName
	writer *program.Role // nil for a fact, and for a value of Heat's
}

// Find finds what every role follows; cyclic says that some follow each other in a cycle.
func Find(p *program.Program, a *binding.Analysis, heat *HeatValues, diags *source.Diagnostics) (all map[*program.Role]*Role, cyclic bool) {
	f := &finder{analysis: a, heat: heat, diags: diags, edges: map[*program.Role][]edge{},
		sources: map[*program.Role]sources{}, carries: map[*program.Role]sources{}, reported: map[string]bool{}}
	f.roles = slices.Collect(p.Roles)
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

// watched notes what a role follows, and reports what it cannot follow. outside says that
// Heat or an operator supplies a value of it, whether it can follow that or not.
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
		if !brought || fixed(bound) {
			f.refuseWatch(r, in, bound)
			continue
		}
		f.follow(r, in, bound.Expr.Cells())
	}
	return outside
}

// follow adds the edges of an input.
func (f *finder) follow(r *program.Role, in *program.Input, cells []contract.CellName) {
	for _, name := range cells {
		if !slices.ContainsFunc(f.edges[r], func(e edge) bool { return e.cell == name }) {
			f.edges[r] = append(f.edges[r], edge{in, name, f.analysis.Cells[name].Role()})
		}
	}
}

// atLeast refuses `at_least` on an input that does not follow a group.
func (f *finder) atLeast(in *program.Input, bound *binding.Bound) {
	joins := false
	bound.Expr.JoinedCells(func(string, int, contract.CellName) { joins = true })
	if at := in.AtLeastAt.String(); !joins && !f.reported[at] {
		f.reported[at] = true
		f.diags.Error(source.BadMetadata, in.AtLeastAt, fmt.Sprintf("`at_least` counts the members of a group, but input %q does not follow a group's list", in.Name),
			"read a list of the group members' outputs, and set `watch: true`; or remove `at_least`")
	}
}

// fixed reports whether the value of an input can never change. That of a producer which these
// parameters switch off can, with others.
func fixed(bound *binding.Bound) bool {
	return bound.Time != contract.Run && len(bound.References) == 0 && !bound.Absent
}

// refuseWatch reports why an input cannot be followed, once for all members of a group.
func (f *finder) refuseWatch(r *program.Role, in *program.Input, bound *binding.Bound) {
	at := in.WatchAt.String()
	if f.reported[at] {
		return
	}
	f.reported[at] = true
	if fixed(bound) {
		f.diags.Error(source.NotYet, in.WatchAt, fmt.Sprintf("the value of %q is fixed by the template: it changes only with the template, and then `hotc apply` updates the role", in.Name), "remove `watch`")
		return
	}
	f.diags.Error(source.NothingToRun, in.WatchAt, fmt.Sprintf("role %q follows %q, but nothing would run when the value changes", r.Name, in.Name),
		"add a hook `update`; or set `idempotent: true`, if the role can simply run again")
}

// follows are the cells that matter to a role.
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
			if s == contract.HeatSource && f.analysis.Cells[name].Role() == nil {
				way = contract.CellName(s) // all values of Heat's for a server are in one record
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
		if w := f.analysis.Cells[name].Role(); w != nil && !c.Watch && f.rings[w] == f.rings[r] {
			continue // they would wait for each other
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

// members maps the cells that a role follows as a group's list to the members.
func (f *finder) members(r *program.Role) map[contract.CellName]*contract.Member {
	members := map[contract.CellName]*contract.Member{}
	for _, bound := range f.analysis.Bound(r) {
		bound.Expr.JoinedCells(func(group string, number int, cell contract.CellName) {
			if server := f.analysis.Cells[cell].Server; strings.HasPrefix(string(server), group+"/") { // otherwise it does not tell of the member
				members[cell] = &contract.Member{Group: group, Number: number, Server: server}
			}
		})
	}
	return members
}

// perhaps finds the cells of servers whose existence Heat decides, with the decisions that it
// passes to the role's server.
func (f *finder) perhaps(r *program.Role) map[contract.CellName]*contract.Perhaps {
	all := map[contract.CellName]*contract.Perhaps{}
	var visit func(e *hot.Expr, decided []contract.CellName)
	visit = func(e *hot.Expr, decided []contract.CellName) {
		e.Walk(func(x *hot.Expr) bool {
			if choice, is := x.If(); is && choice.Else != nil && choice.Else.Kind == hot.CallExpr && choice.Else.Func == hot.AbsentRef {
				if key := choice.Condition.Ref(); key.Kind == hot.ToDeploy && f.heat.Relays(key.Name) {
					visit(choice.Then, append(slices.Clip(decided), contract.HeatCell(key.Name)))
					return false
				}
			}
			if ref := x.Ref(); ref.Kind == hot.ToCell && ref.Name != "" && len(decided) > 0 {
				all[ref.Cell()] = &contract.Perhaps{Server: f.analysis.Cells[ref.Cell()].Server, If: decided}
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

// sourcesOf are the sources from which a cell derives.
func (f *finder) sourcesOf(cell contract.CellName) sources {
	r := f.analysis.Cells[cell].Role()
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

// carry makes the stamps of a cell name a source, and those of the cells it derives from.
func (f *finder) carry(cell contract.CellName, name contract.Source) {
	r := f.analysis.Cells[cell].Role()
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

// readsOf are the roles whose outputs a role reads.
func (f *finder) readsOf(r *program.Role) []*program.Role {
	var all []*program.Role
	for _, bound := range f.analysis.Bound(r) {
		for _, name := range bound.Expr.Cells() {
			if w := f.analysis.Cells[name].Role(); w != nil {
				all = append(all, w)
			}
		}
	}
	return all
}

// cyclic refuses roles that follow each other in a cycle.
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

// maxSteps bounds how many steps of a cycle are shown.
const maxSteps = 12

func (f *finder) refuse(cycle []edge) {
	message := "roles follow each other in a cycle and would run forever: "
	for _, e := range cycle[:min(len(cycle), maxSteps)] {
		message += fmt.Sprintf("%s → ", e.input.Role.Key())
	}
	if left := len(cycle) - maxSteps; left > 0 {
		message += fmt.Sprintf("… (%d more) → ", left)
	}
	d := f.diags.Error(source.WatchCycle, cycle[0].input.WatchAt, message+string(cycle[0].input.Role.Key()), "remove one of these `watch`: its role still reads the value when it runs")
	for _, e := range cycle[:min(len(cycle), maxSteps)] {
		d.Note(e.input.WatchAt, fmt.Sprintf("%s follows %s (input %q)", e.input.Role.Key(), e.cell, e.input.Name))
	}
}
