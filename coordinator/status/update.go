package status

import (
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
)

// Asked reports whether there is a request for the role without a final answer.
func (r *Role) Asked(kind protocol.RequestKind, name string) bool {
	return slices.ContainsFunc(protocol.Open(r.Server.Requests, r.Server.Answers), func(q protocol.Request) bool {
		return q.Kind == kind && q.Name == name && q.Role == r.Name && q.Incarnation == r.Server.Incarnation.Number
	})
}

// Outdated reports whether a role that is done could not be brought up to date.
func (r *Role) Outdated() bool {
	return r.Status == protocol.RoleDone && (r.Verdict.State == reconcile.Behind || r.Verdict.State == reconcile.Failed)
}

// Behind is why a role is out of date that follows a failed one; nil for any other.
func (r *Role) Behind() *protocol.Cause {
	if r.Verdict.State != reconcile.Behind {
		return nil
	}
	return r.Verdict.Cause
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

// toUpdate reports whether a role that is done has to run for a change.
func (r *Role) toUpdate() bool {
	return r.Status == protocol.RoleDone && (r.Verdict.State == reconcile.Due || r.Verdict.State == reconcile.Held)
}

// Shown is the role's status in messages, with its update.
func (r *Role) Shown() string {
	switch s := r.Verdict.State; {
	case s == reconcile.Superseded:
		return "superseded"
	case r.Outdated():
		return "not updated"
	case r.Status != protocol.RoleDone, s == reconcile.Current:
		return r.Word()
	case s == reconcile.Running:
		return "updating"
	case s == reconcile.Unreached:
		return "not reached"
	}
	return "to be updated"
}

// UpdateDetail describes an unfinished or failed update in one line.
func UpdateDetail(r *Role) string {
	newer := len(r.Verdict.Newer) > 0
	switch s := r.Verdict.State; {
	case r.toUpdate():
		run := "run " + r.either("the update hook", "the role again")
		why := "its plan has changed"
		switch {
		case newer:
			why = "what it follows has changed"
		case r.Asked(protocol.Hook, contract.HookUpdate):
			why = "its agent was asked to " + run
		}
		switch {
		case !r.Server.Alive:
			return "its agent is not there to " + run
		case s == reconcile.Held:
			return why + "; it waits for the rest of the change: " + r.rest()
		}
		return why
	case s == reconcile.Superseded:
		since := "the plan has changed since"
		if newer {
			since = "what it follows has changed since"
		}
		if r.Status == protocol.RoleRunning {
			return "it runs to completion, then " + r.either("the update hook runs", "again") + ": " + since
		}
		return r.either("the update hook", "the role") + " runs to completion, then again: " + since
	case s == reconcile.Behind:
		root := r.Verdict.Cause.Root()
		why := CauseText(root)
		if root.Role != "" {
			why = string(root.Role) + ": " + why
		}
		return CauseText(r.behind()) + ": " + why
	case r.Outdated():
		return r.either("the update hook failed: ", "the role failed when it ran again: ") + CauseText(r.Verdict.Cause)
	case r.waitsForRest():
		return "it was added by a change of the plan, and waits for the rest of it: " + r.rest()
	case r.Status != protocol.RoleDone:
	case s == reconcile.Running:
		return r.either("the update hook is running", "the role is running again")
	case s == reconcile.Unreached:
		return "it keeps the values it ran with, since it has no hook update and is not idempotent; changed since: " + strings.Join(r.Unreached(), ", ") + "; hotc retry NAME " + string(r.Key()) + " --force runs it with them"
	}
	return ""
}

// behind is why a role is out of date.
func (r *Role) behind() *protocol.Cause {
	if r.Verdict.State == reconcile.Behind {
		return &protocol.Cause{Role: r.Key(), At: r.Plan.At, Reason: "the role that writes what it follows failed", Cause: r.Verdict.Cause}
	}
	return r.Verdict.Cause
}

// waitsForRest reports whether a role has to run for a change that has not completely reached it.
func (r *Role) waitsForRest() bool { return r.Verdict.State == reconcile.Held && r.Server.Came() }

// rest names the part of a change that a role waits for.
func (r *Role) rest() string { return r.Server.heatName(r.Verdict.Waits) + r.gone }

// Unreached names the values that have changed since the role ran, as in templates.
func (r *Role) Unreached() []string {
	var all []string
	for _, cell := range r.Verdict.Unreached {
		all = append(all, r.Server.heatName(cell))
	}
	return all
}

// describeUpdate fills in the finding of a role that is done, and perhaps not up to date.
func describeUpdate(f *Finding, r *Role) {
	f.Kind, f.Since, f.Message = KindDone, r.Ended, UpdateDetail(r)
	switch r.Verdict.State {
	case reconcile.Due, reconcile.Held:
		f.Kind, f.Since = KindUpdating, time.Time{}
	case reconcile.Running, reconcile.Superseded:
		f.Kind, f.Since = KindUpdating, r.Update.Started
	case reconcile.Behind:
		f.Kind, f.Cause, f.Since = KindOutOfDate, r.behind(), time.Time{}
	case reconcile.Failed:
		f.Kind, f.Cause, f.Since, f.LastLines = KindOutOfDate, r.behind(), r.Update.Ended, lastLines(r.Update.LastLines)
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
