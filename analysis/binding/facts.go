package binding

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
)

// The facts that an agent can publish (coordinator/plan has the same names).
const (
	factID           = "id"
	factName         = "name"
	factFirstAddress = "first_address"
)

// factsAtRun says whether the input that is being bound gets facts from agents.
// A stack's output and a wish for deploy time get them from Heat.
func (b *binder) factsAtRun() bool {
	if b.current == nil || b.current.Bind == "deploy" {
		return false
	}
	return b.options.Facts == FactsAtRun || b.current.Bind == "run"
}

// fact is a reference to what a server's own agent knows.
func (b *binder) fact(call *hot.Expr, r *hot.Resource, fact, rule string) *hot.Expr {
	cell := program.FactCell(r.Name, fact)
	if !slices.Contains(b.analysis.Facts[r.Name], fact) {
		b.analysis.Facts[r.Name] = append(b.analysis.Facts[r.Name], fact)
	}
	b.note(call, Run, rule, cell, r.Name)
	return cellCall(call.At, cell, nil)
}

// serverFact is a reference to a real attribute of a server: a run-time fact
// where the agent can know it as Heat would give it, else Heat's.
func (b *binder) serverFact(call *hot.Expr, r *hot.Resource, attribute string, path []hot.Value) (*hot.Expr, error) {
	leave := func(rule string) (*hot.Expr, error) {
		b.note(call, Deploy, rule, "", "")
		return call, nil
	}
	if !b.factsAtRun() {
		return leave("facts of servers were left to Heat")
	}
	switch {
	case attribute == "name" && len(path) == 0:
		if n := r.Property("name"); n != nil {
			b.note(call, Deploy, "the server's name is what its property says", "", "")
			return hot.Fold(b.template.Expr(n), b.resolve)
		}
		return b.fact(call, r, factName, "a server's name is known to its own agent"), nil
	case attribute == "first_address" && len(path) == 0 && oneNetwork(r):
		return b.fact(call, r, factFirstAddress, "the server has one network: its own agent knows the address"), nil
	case attribute == "networks" && len(path) == 2 && isZero(path[1]) && networkIs(r, path[0]):
		return b.fact(call, r, factFirstAddress, "the server has this one network: its own agent knows the address"), nil
	case attribute == "first_address" || attribute == "networks" || attribute == "addresses":
		return leave("the agent cannot know for sure which address Heat would give: the server has not just one network")
	}
	return leave("only Heat knows this attribute")
}

// oneNetwork says whether a server has exactly one network: without the property
// Nova takes the project's only one and refuses if there are several.
func oneNetwork(r *hot.Resource) bool {
	n := r.Property("networks")
	return n == nil || n.Kind == hot.List && len(n.Items) == 1 && n.Items[0].Kind == hot.Map && n.Items[0].Get("get_param") == nil
}

// networkIs says whether a server's one network has this very name.
func networkIs(r *hot.Resource, name hot.Value) bool {
	n := r.Property("networks")
	if n == nil || !oneNetwork(r) {
		return false
	}
	label, ok := n.Items[0].Get("network").Text()
	return ok && name == label
}

func isZero(v hot.Value) bool { return hot.Equal(v, int64(0)) && v != false }
