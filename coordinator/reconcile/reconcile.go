// Package reconcile decides what a role owes: from how its plan describes it, what ran, and what is
// there now. Its agent, `hotc status` and its like, and the relay ask the same function. They differ
// in what they see, so a verdict names what is newer: a relay sees no failures of cells, and takes
// from the agent's report which of these the agent has seen.
package reconcile

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// State is what a role owes.
type State string

// The states.
const (
	Pending    State = "pending"    // it has not run; it runs when its turn comes
	Held       State = "held"       // it owes a run, and part of the change for which it does is missing
	Due        State = "due"        // it owes a run, and nothing but its turn is missing
	Running    State = "running"    // it runs, for the first time or again, for the newest
	Superseded State = "superseded" // it runs, and something newer is there
	Behind     State = "behind"     // it owes a run, and what it follows has failed
	Failed     State = "failed"     // it has failed, or its last update has, and nothing has changed since
	Unreached  State = "unreached"  // a value has changed that it does not watch, and nothing runs for it
	Current    State = "current"    // it ran with what is there now
)

// Unfinished reports whether a run goes on, or is to come for a change.
func (s State) Unfinished() bool {
	return s == Held || s == Due || s == Running || s == Superseded
}

// Facts are all that a verdict depends on.
type Facts struct {
	Role *contract.Role     // as its plan describes it
	Ran  protocol.RoleState // what ran
	Now  Cells              // what is there now
	// Asked says that an operator or Heat has asked for an update.
	Asked bool
	// Rest is a cell that a change of the plan on its way to the role has not reached; "" is none.
	Rest contract.CellName
}

// Verdict is what a role owes, and why.
type Verdict struct {
	State State
	// Redefined says that the plan describes the role otherwise than it ran.
	Redefined bool
	// Newer are watched cells that have changed since it ran, Unreached values of Heat's or an
	// operator's that have, and that it does not watch.
	Newer, Unreached []contract.CellName
	// Waits is a cell that a change has not reached, while others that the role follows are newer; ""
	// is none. For one that has not run, only a change of the plan counts.
	Waits contract.CellName
	// Cause is why it has failed, or what keeps it behind.
	Cause *protocol.Cause
}

// Decide decides what a role owes. It depends on its arguments alone.
func Decide(f Facts) Verdict {
	r, ran := f.Role, f.Ran
	s := standing{}
	if ran.Status == protocol.RoleDone || ran.Status == protocol.RoleFailed {
		s = stands(r.Follows, ran.Followed, f.Now)
	}
	v := Verdict{Redefined: r.OutOfDate(ran.Made), Waits: s.waits}
	if v.Waits == "" {
		v.Waits = f.Rest
	}
	changed := v.Redefined && r.Updating() != nil
	if r.Updating() != nil {
		v.Newer = s.newer
	}
	switch ran.Status {
	case protocol.RoleDone:
		v.Unreached = s.unreached
	case protocol.RoleFailed, protocol.RoleSkipped:
		v.State, v.Cause = Failed, ran.Cause
		return v
	case protocol.RoleRunning:
		v.State = Running
		if changed && len(ran.Blocked) == 0 { // one that still waits takes what is new
			v.State = Superseded
		}
		return v
	default:
		v.State = Pending
		if f.Rest != "" {
			v.State = Held
		}
		return v
	}
	watches := slices.ContainsFunc(r.Follows, func(f contract.Follow) bool { return f.Watch })
	newer := len(v.Newer) > 0
	switch u := ran.Update; {
	case u != nil && u.Status == protocol.RoleRunning && (changed || newer):
		v.State = Superseded
	case u != nil && u.Status == protocol.RoleRunning:
		v.State = Running
	case !changed && !f.Asked && !newer && u != nil && u.Status == protocol.RoleFailed:
		v.State, v.Cause = Failed, u.Cause
	case !changed && !f.Asked && !newer && len(s.unreached) > 0:
		v.State = Unreached
	case !changed && !f.Asked && !newer:
		v.State = Current
	case s.stays != nil && f.Rest == "": // it would have half of a change, and the rest comes with a retry alone
		v.State, v.Cause = Behind, s.stays
	case changed || f.Asked, s.waits == "" && s.behind == nil:
		// For its plan, one that watches nothing does not wait: it does when it reads.
		if v.State = Due; f.Rest != "" || s.waits != "" && watches {
			v.State = Held
		}
	case s.waits != "":
		v.State = Held
	default:
		v.State, v.Cause = Behind, s.behind
	}
	return v
}
