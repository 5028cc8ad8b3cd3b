// Package analysis looks at a whole program before anything is deployed. Check
// runs the passes, each a package here that only finds and never prints:
//
//	references  names that lead nowhere, arguments that a function cannot take
//	properties  properties that a resource's type has not, or needs
//	order       cycles that Heat refuses, and roles that wait for each other (waits)
//	types       values of a type that is not what their use needs
//	secrecy     secrets that reach a place where others can read them
//	lint        outputs never written, inputs never read
//
// What must be decided before them is in binding; what is predicted for an
// operator who asks is in timeline.
package analysis

import (
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/lint"
	"github.com/hotc-dev/hotc/analysis/order"
	"github.com/hotc-dev/hotc/analysis/properties"
	"github.com/hotc-dev/hotc/analysis/references"
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
}

// Check runs all passes over a program.
func Check(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) *Findings {
	references.Check(p, a, diags)
	properties.Check(p, diags)
	order.HeatCycles(p, a, diags)
	f := &Findings{Net: order.Net(p, a)}
	f.Deadlocks = order.Deadlocks(p, f.Net, diags)
	types.Check(p, a, diags)
	secrecy.Check(p, a, diags)
	if !diags.Failed() { // an error may be why something looks unused
		lint.Check(p, a, diags)
	}
	return f
}
