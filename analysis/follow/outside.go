package follow

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/preview"
	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Changes from outside: of parameters of the root stack, by whatever path they reach a role's
// input, and of attributes of resources.

// read is an input that reads a changing value, with the time at which that is known.
type read struct {
	input *program.Input
	at    source.Place
	time  contract.Time
}

// readsOf are the inputs of roles that read something, as a function decides.
func readsOf(roles []*program.Role, a *binding.Analysis, is func(*program.Input, *binding.Bound) (source.Place, contract.Time, bool)) []read {
	var all []read
	for _, role := range roles {
		for in, bound := range a.Bound(role) {
			if at, time, reads := is(in, bound); reads {
				all = append(all, read{in, at, time})
			}
		}
	}
	return all
}

// parameterFinder finds the paths from one of the root's parameters.
func parameterFinder(p *program.Program, parameter *hot.Parameter) *trace.Finder {
	ways := trace.NewFinder(func(o trace.Origin) bool { return o.Stack == p.Root && o.Parameter == parameter }, nil)
	ways.Properties = true
	return ways
}

// readsOfParameter are the inputs that one of the root's parameters reaches.
func readsOfParameter(roles []*program.Role, p *program.Program, a *binding.Analysis, parameter *hot.Parameter, ways *trace.Finder) []read {
	time := contract.Deploy
	switch {
	case slices.Contains(a.Secrets, parameter):
		time = contract.Run
	case p.Supplied.Used(parameter.Name):
		time = contract.Static
	}
	return readsOf(roles, a, func(in *program.Input, bound *binding.Bound) (source.Place, contract.Time, bool) {
		way := ways.Find(in.Role.Stack, in.Expr)
		if way == nil {
			return source.Place{}, "", false
		}
		if way.Via != nil {
			return way.At, contract.Deploy, true
		}
		return way.At, time, true
	})
}

// notUpdatable is the reason why a new value does not reach a role.
const notUpdatable = "the role has no hook `update` and is not `idempotent`"

// reachOf says how a new value reaches the role of an input, or why it does not.
func reachOf(x read, heat *HeatValues) (how How, why string) {
	role := x.input.Role
	brought := role.Update() != nil || role.Idempotent
	switch {
	case x.time == contract.Deploy && heat.Secret(x.input) != nil:
		return "", "it is secret, and a relay would read it where anyone who can see the stack can; Heat supplies it only when it creates the server"
	case !brought && x.time == contract.Static:
		return "", notUpdatable + "; once it has run, `hotc apply` refuses the change"
	case !brought:
		return "", notUpdatable
	case x.time == contract.Static:
		return Apply, ""
	}
	return updatedBy(role), ""
}

// parameter computes what a new value of a parameter reaches.
func (r *reacher) parameter(parameter *hot.Parameter) Change {
	ways := parameterFinder(r.program, parameter)
	var cells []contract.CellName // of members that it adds or removes
	for _, g := range groups(r.analysis) {
		if n := g.StackResource; n.Count != nil && ways.Find(n.In, n.Count) != nil {
			cells = append(cells, g.Cells...)
		}
	}
	return r.fromOutside("parameter "+parameter.Name, readsOfParameter(r.roles, r.program, r.analysis, parameter, ways), cells)
}

// DecidedBy are, by their keys in the plan, Heat's decisions that parameters may change when they get
// their defaults, and what becomes of them: nil where that is not known.
func DecidedBy(p *program.Program, a *binding.Analysis, parameters []string) map[string]value.Value {
	decided := map[string]value.Value{}
	byDefault := func(call *hot.Expr) (*hot.Expr, error) {
		if r := call.Ref(); r.Kind == hot.ToParameter && !r.Computed && len(r.Path) == 0 {
			if d := p.Template.Parameter(r.Name); d != nil && d.Default != nil {
				v, err := d.Cast(d.Default.Data())
				return hot.Constant(v, call.At), err
			}
		}
		return call, nil
	}
	for _, name := range parameters {
		parameter := p.Template.Parameter(name)
		if parameter == nil {
			continue
		}
		ways := parameterFinder(p, parameter)
		for _, d := range a.Decisions {
			if ways.Find(d.In, d.Expr) == nil {
				continue
			}
			decided[d.Key] = nil
			if e, err := hot.Fold(d.Expr, byDefault); err == nil && e.IsValue() && d.In == p.Root {
				decided[d.Key] = e.Value
			}
		}
	}
	return decided
}

// fromOutside computes what new values from Heat, an operator, or the compiler reach, and new
// values of cells.
func (r *reacher) fromOutside(what string, reads []read, cells []contract.CellName) Change {
	c := Change{What: what, Reaches: []Reached{}, Keeps: []Kept{}}
	begin := preview.Begin{Roles: map[contract.RoleKey]How{}, Why: map[contract.RoleKey]string{}, Cells: cells, After: map[contract.RoleKey][]contract.RoleKey{}}
	inputs := map[contract.RoleKey][]preview.Followed{}
	heard := map[contract.ServerPath]bool{}
	var changed []*program.Role
	for _, x := range reads {
		how, why := reachOf(x, r.heat)
		role := x.input.Role
		if x.time == contract.Deploy && r.heat.Secret(x.input) == nil {
			heard[role.Server.Path] = true
		}
		i := slices.IndexFunc(c.Reaches, func(y Reached) bool { return y.Role == role.Key() })
		if how != "" {
			inputs[role.Key()] = append(inputs[role.Key()], preview.Followed{Input: x.input.Name, At: x.at.String()})
		}
		switch {
		case how == "":
			c.Keeps = append(c.Keeps, keeps(x.input, x.at, why))
		case i < 0:
			after := r.readFrom(role, changed)
			c.Reaches = append(c.Reaches, Reached{role.Key(), how, after})
			changed = append(changed, role)
			begin.Roles[role.Key()], begin.After[role.Key()] = updatedBy(role), after
		case how != Apply:
			c.Reaches[i].How = how
		}
	}
	for _, x := range c.Reaches {
		if begin.Why[x.Role] = preview.Changes(inputs[x.Role]); x.How == Apply {
			begin.Why[x.Role] += ", with `hotc compile` and `hotc apply`"
		}
	}
	then := r.fromHeat("", begin, heard)
	c.Reaches, c.Keeps, c.Preview = append(c.Reaches, then.Reaches...), append(c.Keeps, then.Keeps...), then.Preview
	c.Resources = then.Resources
	return c
}

// ParameterReader is a role that gets values of the root's parameters: one entry for those that can be
// updated, and one for those that stay in its server's user-data.
type ParameterReader struct {
	Role       *program.Role
	Parameters []string
	How        How // "" if a new value does not reach it
	// Kept says that its server has the value only in its user-data, which is not updated.
	Kept bool
}

// ParameterReaders are the roles that get values of parameters; relayed says that a relay reports values
// of Heat's to servers.
func ParameterReaders(p *program.Program, a *binding.Analysis, heat *HeatValues, parameters []string, relayed bool) []ParameterReader {
	var all []ParameterReader
	roles := slices.Collect(p.Roles)
	order := map[*program.Role]int{}
	for i, role := range roles {
		order[role] = i
	}
	type entry struct {
		role *program.Role
		kept bool
	}
	at := map[entry]int{}
	for _, name := range parameters {
		parameter := p.Template.Parameter(name)
		if parameter == nil {
			continue
		}
		ways := parameterFinder(p, parameter)
		add := func(to entry, reached bool) {
			i, known := at[to]
			if !known {
				i = len(all)
				at[to] = i
				all = append(all, ParameterReader{Role: to.role, Kept: to.kept})
			}
			if !slices.Contains(all[i].Parameters, name) {
				all[i].Parameters = append(all[i].Parameters, name)
			}
			if reached {
				all[i].How = updatedBy(to.role)
			}
		}
		for _, x := range readsOfParameter(roles, p, a, parameter, ways) {
			if x.time == contract.Static {
				continue // the plan has it
			}
			how, _ := reachOf(x, heat)
			kept := x.time == contract.Deploy && (!relayed || heat.Secret(x.input) != nil)
			add(entry{x.input.Role, kept}, how != "" && !kept)
		}
		for _, g := range a.Gathers { // it may decide the number of members
			if n := g.StackResource; relayed && g.Input.WatchAt.Known() && n.Count != nil && ways.Find(n.In, n.Count) != nil {
				add(entry{role: g.Input.Role}, true)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y ParameterReader) int { return order[x.Role] - order[y.Role] })
	return all
}
