// Package analysis checks a whole program before anything is deployed. Check
// runs the passes, each a package here that only finds and never prints:
//
//	references  unknown names, arguments that a function does not accept
//	order       cycles that Heat refuses, and roles that wait for each other (waits)
//	follow      inputs that are followed, and cycles of them
//	types       values of the wrong type for their use
//	secrecy     secrets that reach a place where others can read them
//	rule        everything else, one file per rule; and the list of all rules
//
// What must be decided before them is in binding; predictions for operators are in
// timeline.
package analysis

import (
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/follow"
	"github.com/hotc-dev/hotc/analysis/order"
	"github.com/hotc-dev/hotc/analysis/references"
	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/analysis/secrecy"
	"github.com/hotc-dev/hotc/analysis/types"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Findings are what the passes leave for pictures and predictions.
type Findings struct {
	Net       *waits.Net
	Deadlocks []waits.Deadlock
	Follow    map[*program.Role]*follow.Role
	Cyclic    bool // roles follow each other in a cycle
	// Heat are the values that Heat supplies to roles.
	Heat *follow.HeatValues
}

// CheckBroken runs those passes that need no binding over a program whose template has errors.
func CheckBroken(p *program.Program, want rule.Options, diags *source.Diagnostics) {
	none := &binding.Analysis{}
	references.Check(p, none, diags)
	rule.Check(p, none, want, diags)
}

// Check runs all passes over a program; want selects the rules.
func Check(p *program.Program, a *binding.Analysis, want rule.Options, diags *source.Diagnostics) *Findings {
	references.Check(p, a, diags)
	order.HeatCycles(p, a, diags)
	f := &Findings{}
	if !want.Lint || len(p.Servers) > 0 { // without roles only Heat waits
		f.Net = order.Net(p, a)
		if f.Deadlocks = order.Deadlocks(p, f.Net, diags); len(f.Deadlocks) == 0 {
			order.UpdateDeadlocks(p, a, diags)
		}
	}
	f.Heat = follow.OfHeat(p, a)
	f.Follow, f.Cyclic = follow.Find(p, a, f.Heat, diags)
	types.Check(p, a, diags)
	secrecy.Check(p, a, diags)
	rule.Check(p, a, want, diags)
	return f
}
