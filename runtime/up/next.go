// Package up brings a stack and its deployment from whatever state they are in to what a template
// declares, and removes them again: what `hotc up` and `hotc down` do.
//
// Nothing is remembered between runs but what Heat and the coordinator store. Each run reads both,
// and Next decides what to do; so the same command resumes after Ctrl-C, after kill -9 at any
// stage, and from another machine. A stack's tag shows whether Heat was last asked for what it
// would be asked for now.
package up

import (
	"strings"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// Facts are what the next step depends on.
type Facts struct {
	// Publish is what publishing the plan would do.
	Publish deploy.Outcome
	// Stack is the stack's state; "" if there is none.
	Stack heat.State
	// Asked says that the stack's last action was requested with this very template and these
	// parameters.
	Asked bool
	// Failed says that roles have failed.
	Failed bool
}

// Step is the next step. All but AwaitEnd and Refuse publish the plan first.
type Step string

// The steps.
const (
	// Create creates the stack.
	Create Step = "create"
	// Follow requests nothing from Heat: it is working on it, or has finished.
	Follow Step = "follow"
	// Mend runs failed roles again and submits the same template to Heat again.
	Mend Step = "mend"
	// Update submits another template to Heat, or another plan to the servers. The operator is
	// asked.
	Update Step = "update"
	// AwaitEnd waits until Heat has deleted the stack, and starts over.
	AwaitEnd Step = "await the end"
	// Refuse is for a stack that needs something else first.
	Refuse Step = "refuse"
)

// Next decides on the next step.
func Next(f Facts) Step {
	changed := f.Publish == deploy.Updated || !f.Asked
	switch action := f.Stack.Action(); {
	case f.Stack == "", f.Stack == "DELETE_COMPLETE":
		return Create
	case action == "DELETE" && f.Stack.InProgress():
		return AwaitEnd
	case action == "DELETE", strings.HasPrefix(string(f.Stack), "SUSPEND_"):
		return Refuse
	case changed, action == "ROLLBACK":
		return Update
	case f.Stack.InProgress():
		return Follow
	case f.Stack.Failed(), f.Failed:
		return Mend
	}
	return Follow
}
