package status

import (
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Renewal is the progress of the last change of a role that has run.
type Renewal uint8

const (
	UpToDate Renewal = iota
	ToUpdate         // the update hook was requested, or what it follows has changed
	Updating         // the hook is running, or the role again
	// Superseded is a run, or the role's first one, that is no longer for the newest state: it is
	// finished, and the role is brought up to date after it.
	Superseded
	OutOfDate // the update failed, or the writer of what it follows
	Unreached // Heat or an operator has supplied new values that do not reach the role
)

// Renewal says whether a role that is done is up to date with its plan and what it follows.
func (r *Role) Renewal() Renewal {
	another := r.Plan.OutOfDate(r.Made) && r.Plan.Updating() != nil
	if r.Status == protocol.RoleRunning && another && !r.IsBlocked() {
		return Superseded
	}
	if r.Status != protocol.RoleDone {
		return UpToDate
	}
	if r.Update != nil && r.Update.Status == protocol.RoleRunning {
		if another || r.standing.Newer {
			return Superseded
		}
		return Updating
	}
	switch {
	case another, r.Asked(protocol.Hook, contract.HookUpdate), r.standing.Newer && r.standing.Behind == nil:
		return ToUpdate
	case r.standing.Newer, r.Update != nil && r.Update.Status == protocol.RoleFailed:
		return OutOfDate
	case len(r.standing.Unreached) > 0:
		return Unreached
	}
	return UpToDate
}

// Asked reports whether there is a request for the role without a final answer.
func (r *Role) Asked(kind protocol.RequestKind, name string) bool {
	return slices.ContainsFunc(protocol.Open(r.Server.Requests, r.Server.Answers), func(q protocol.Request) bool {
		return q.Kind == kind && q.Name == name && q.Role == r.Name && q.Incarnation == r.Server.Incarnation.Number
	})
}

// Behind is why a role is out of date that follows a failed one; nil for any other.
func (r *Role) Behind() *protocol.Cause {
	if r.Renewal() != OutOfDate || !r.standing.Newer {
		return nil
	}
	return r.standing.Behind
}

// behind is why a role is out of date.
func (r *Role) behind() *protocol.Cause {
	if r.standing.Newer {
		return &protocol.Cause{Role: r.Key(), At: r.Plan.At, Reason: "the role that writes what it follows failed", Cause: r.standing.Behind}
	}
	return r.Update.Cause
}

// hooked reports whether the update hook brings the role up to date: otherwise it runs again.
func (r *Role) hooked() bool { return contract.FindTask(r.Plan.Hooks, contract.HookUpdate) != nil }

// either is the wording for the update hook or, without one, for running the role again.
func (r *Role) either(hook, again string) string {
	if r.hooked() {
		return hook
	}
	return again
}

// Shown is the role's status in messages, with its update.
func (r *Role) Shown() string {
	switch r.Renewal() {
	case ToUpdate:
		return "to be updated"
	case Updating:
		return "updating"
	case Superseded:
		return "superseded"
	case OutOfDate:
		return "not updated"
	case Unreached:
		return "not reached"
	case UpToDate:
	}
	return r.Word()
}

// UpdateDetail describes an unfinished or failed update in one line.
func UpdateDetail(r *Role) string {
	switch r.Renewal() {
	case ToUpdate:
		run := "run " + r.either("the update hook", "the role again")
		why := "its plan has changed"
		switch {
		case r.standing.Newer:
			why = "what it follows has changed"
		case r.Asked(protocol.Hook, contract.HookUpdate):
			why = "its agent was asked to " + run
		}
		switch {
		case !r.Server.Alive:
			return "its agent is not there to " + run
		case r.waitsForRest():
			return why + "; it waits for the rest of the change: " + r.rest()
		}
		return why
	case Updating:
		return r.either("the update hook is running", "the role is running again")
	case Superseded:
		since := "the plan has changed since"
		if r.standing.Newer {
			since = "what it follows has changed since"
		}
		if r.Status == protocol.RoleRunning {
			return "it runs to completion, then " + r.either("the update hook runs", "again") + ": " + since
		}
		return r.either("the update hook", "the role") + " runs to completion, then again: " + since
	case OutOfDate:
		if r.standing.Newer {
			root := r.standing.Behind.Root()
			why := CauseText(root)
			if root.Role != "" {
				why = string(root.Role) + ": " + why
			}
			return CauseText(r.behind()) + ": " + why
		}
		return r.either("the update hook failed: ", "the role failed when it ran again: ") + CauseText(r.Update.Cause)
	case Unreached:
		return "it keeps the values it ran with, since it has no hook update and is not idempotent; changed since: " + strings.Join(r.Unreached(), ", ") + "; hotc retry NAME " + string(r.Key()) + " --force runs it with them"
	case UpToDate:
		if r.waitsForRest() {
			return "it was added by a change of the plan, and waits for the rest of it: " + r.rest()
		}
	}
	return ""
}

// waitsForRest reports whether a role has to run for a change that has not completely reached it.
func (r *Role) waitsForRest() bool {
	return r.standing.Waits != "" && (r.Renewal() == ToUpdate || r.Status == protocol.RolePending && r.Server.Came())
}

// rest names the part of a change that a role waits for.
func (r *Role) rest() string { return r.Server.heatName(r.standing.Waits) + r.gone }

// Unreached names the values that have changed since the role ran, as in templates.
func (r *Role) Unreached() []string {
	var all []string
	for _, cell := range r.standing.Unreached {
		all = append(all, r.Server.heatName(cell))
	}
	return all
}

// describeUpdate fills in the finding of a role that is done, and perhaps not up to date.
func describeUpdate(f *Finding, r *Role) {
	f.Kind, f.Since = KindDone, r.Ended
	switch r.Renewal() {
	case ToUpdate:
		f.Kind, f.Since, f.Message = KindUpdating, time.Time{}, UpdateDetail(r)
	case Updating, Superseded:
		f.Kind, f.Since, f.Message = KindUpdating, r.Update.Started, UpdateDetail(r)
	case OutOfDate:
		f.Kind, f.Cause, f.Message, f.Since = KindOutOfDate, r.behind(), UpdateDetail(r), time.Time{}
		if !r.standing.Newer {
			f.Since, f.LastLines = r.Update.Ended, lastLines(r.Update.LastLines)
		}
	case Unreached:
		f.Message = UpdateDetail(r)
	case UpToDate:
	}
}

func CauseText(c *protocol.Cause) string {
	if c == nil {
		return "no reason was given"
	}
	text := c.Reason
	if c.At != "" {
		text += " (" + string(c.At) + ")"
	}
	return text
}
