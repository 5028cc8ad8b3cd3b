// Package up brings a stack and its deployment from whatever state they are in to what a
// template says, and takes them away again: what `hotc up` and `hotc down` do.
//
// Nothing is remembered between runs but what stands in Heat and in the coordinator. Each run
// looks at both, and Next says what is to be done; so the same command comes back after
// Ctrl-C, after kill -9 at any stage, and from another machine. A stack's tag tells whether
// what Heat was last asked for is what it would be asked for now.
package up

import (
	"strings"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// Facts are what decides the next step.
type Facts struct {
	// Publish is what publishing the plan would do.
	Publish deploy.Outcome
	// Stack is the stack's state; "" if there is none.
	Stack heat.State
	// Asked says that the stack's last action was asked for with this very template and these
	// parameters.
	Asked bool
	// Failed says that roles have failed.
	Failed bool
}

// Step is what comes next. All but AwaitEnd and Refuse publish the plan first.
type Step string

// The steps.
const (
	// Create makes the stack.
	Create Step = "create"
	// Follow asks Heat for nothing: it is at it, or has done it.
	Follow Step = "follow"
	// Mend runs failed roles again and gives Heat the same template again.
	Mend Step = "mend"
	// Update gives Heat another template, or the servers another plan. The operator is asked.
	Update Step = "update"
	// AwaitEnd waits until Heat has deleted the stack, and looks again.
	AwaitEnd Step = "await the end"
	// Refuse is a stack that wants something else first.
	Refuse Step = "refuse"
)

// Next decides.
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
