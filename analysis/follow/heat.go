package follow

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/secrecy"
	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
)

// Values of Heat's may change at each update of the stack. With a relay a role follows them
// without `watch`: a parameter, unlike an output that its reader may need only once, describes
// the current stack. Secrets are excluded, since anyone who can see the stack could read them
// in Heat.

// HeatValues are the values that Heat supplies to roles' inputs.
type HeatValues struct {
	keys   map[*program.Input][]string
	secret map[string]*trace.Path // by key, the path from a secret to it
}

// OfHeat finds them.
func OfHeat(p *program.Program, a *binding.Analysis) *HeatValues {
	h := &HeatValues{keys: map[*program.Input][]string{}, secret: map[string]*trace.Path{}}
	ways := secrecy.ForHeat()
	for r := range p.Roles {
		for in, bound := range a.Bound(r) {
			h.input(in, bound, ways)
		}
	}
	return h
}

func (h *HeatValues) input(in *program.Input, bound *binding.Bound, ways *trace.Finder) {
	if bound.Time == contract.Static {
		return
	}
	var keys []string
	binding.Slots(bound.Expr.WithoutCounts(), func(e *hot.Expr) *hot.Expr {
		if key := binding.Key(e); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		return e
	})
	if len(keys) == 0 {
		return
	}
	h.keys[in] = keys
	if way := ways.Find(in.Role.Stack, in.Expr); way != nil {
		for _, key := range keys {
			h.secret[key] = way
		}
	}
}

// Relays says whether a relay may carry the value of a key.
func (h *HeatValues) Relays(key string) bool { return h.secret[key] == nil }

// Secret is the path from a secret to a value of Heat's for an input; nil if there is none.
func (h *HeatValues) Secret(in *program.Input) *trace.Path {
	for _, key := range h.keys[in] {
		if way := h.secret[key]; way != nil {
			return way
		}
	}
	return nil
}

// Reads says whether Heat supplies a value to an input.
func (h *HeatValues) Reads(in *program.Input) bool { return len(h.keys[in]) > 0 }

// cells are the cells of an input that a relay may carry.
func (h *HeatValues) cells(in *program.Input) []contract.CellName {
	var cells []contract.CellName
	for _, key := range h.keys[in] {
		if h.Relays(key) {
			cells = append(cells, contract.HeatCell(key))
		}
	}
	return cells
}

// WithoutHeat is what a role follows where no relay reports values of Heat's.
func (r *Role) WithoutHeat() *Role {
	without := func(sources []contract.Source) []contract.Source {
		return slices.DeleteFunc(slices.Clone(sources), func(s contract.Source) bool { return s == contract.HeatSource })
	}
	out := &Role{Carries: without(r.Carries)}
	for _, f := range r.Follows {
		f.Sources, f.Perhaps = without(f.Sources), nil
		if _, heats := f.Cell.HeatKey(); !heats && (f.Watch || len(f.Sources) > 0 || f.Cell.FromOutside()) {
			out.Follows = append(out.Follows, f)
		}
	}
	return out
}
