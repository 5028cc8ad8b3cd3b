package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

// changedRole is a role that `hotc apply` changes on a live deployment (docs/json.md).
type changedRole struct {
	Role   plan.RoleKey       `json:"role"`
	What   []string           `json:"what"`
	Effect coordinator.Effect `json:"effect"`
}

func changedRoles(changes []coordinator.RoleChange) []changedRole {
	all := []changedRole{}
	for _, c := range changes {
		all = append(all, changedRole{Role: c.Key(), What: c.What, Effect: c.Effect})
	}
	return all
}

// printChanges says what a changed plan means for each role.
func printChanges(io streams, changes []changedRole, t *target) {
	for _, c := range changes {
		var then string
		switch c.Effect {
		case coordinator.EffectHook:
			then = "its agent runs the hook update"
		case coordinator.EffectRun:
			then = "it has not run, and will as it is then"
		case coordinator.EffectRetry:
			then = "it has failed: \"" + t.command("retry", string(c.Role)) + "\" runs it as it is then"
		case coordinator.EffectNone:
			then = "nothing that has run is out of date"
		}
		fmt.Fprintf(io.out, "  %s: %s: %s.\n", c.Role, strings.Join(c.What, ", "), then)
	}
	if len(changes) == 0 {
		fmt.Fprintln(io.out, "  no role changes: only outputs, positions in the template or names of files differ.")
	}
}

// lacksHook is the diagnostic of roles that have run and have no hook update.
func (s *session) lacksHook(err *coordinator.NoUpdateHookError) error {
	d := source.Fail(source.ChangedPlan, "the deployment "+string(s.deployment)+" is live, and roles that have run, or run now, would be out of date: they have no hook update",
		"add `hooks: {update: …}` to the role, a source that its agent runs once for the change; or \""+s.target.command("destroy")+"\" first, and build its servers anew. A role that has failed needs no hook: after \"hotc apply\", \"hotc retry\" runs it as it is then")
	for _, r := range err.Roles {
		d.Notes = append(d.Notes, source.Note{Message: fmt.Sprintf("role %s: %s changed", r.Key(), strings.Join(r.What, ", "))})
	}
	return d
}

// renewal is how far the last change of a role is that has run.
type renewal uint8

const (
	upToDate  renewal = iota
	toUpdate          // its agent is asked to run the hook update
	updating          // the hook runs
	outOfDate         // it has failed
)

// renewal says whether a role that is done is what its plan has become.
func (r *roleStanding) renewal() renewal {
	if r.Status != coordinator.RoleDone {
		return upToDate
	}
	answered := map[string]bool{}
	for _, a := range r.server.Answers {
		answered[a.ID] = a.Final()
	}
	runs := r.Update != nil && r.Update.Status == coordinator.RoleRunning
	for _, q := range r.server.Requests {
		if q.Kind == coordinator.Hook && q.Name == plan.HookUpdate && q.Role == r.Name && q.Incarnation == r.server.Incarnation.Number && !answered[q.ID] {
			if runs {
				return updating
			}
			return toUpdate
		}
	}
	switch {
	case runs:
		return updating
	case r.Update != nil && r.Update.Status == coordinator.RoleFailed:
		return outOfDate
	}
	return upToDate
}

// shown is the role's status as people read it, its update included.
func (r *roleStanding) shown() string {
	switch r.renewal() {
	case toUpdate:
		return "to be updated"
	case updating:
		return "updating"
	case outOfDate:
		return "not updated"
	case upToDate:
	}
	return r.word()
}

// updateDetail says of an update that has not come to its end, or failed, what there is
// to say in a line.
func updateDetail(r *roleStanding) string {
	switch r.renewal() {
	case toUpdate:
		if !r.server.Alive {
			return "its agent is not there to run the hook update"
		}
		return "its agent is asked for the hook update"
	case updating:
		return "the hook update runs"
	case outOfDate:
		return "the hook update failed: " + causeText(r.Update.Cause)
	case upToDate:
	}
	return ""
}

// describeUpdate makes the finding of a role that is done, and perhaps not up to date.
func describeUpdate(f *finding, r *roleStanding) {
	f.Kind, f.Since = findDone, r.Ended
	switch r.renewal() {
	case toUpdate:
		f.Kind, f.Since, f.Message = findUpdating, time.Time{}, updateDetail(r)
	case updating:
		f.Kind, f.Since, f.Message = findUpdating, r.Update.Started, updateDetail(r)
	case outOfDate:
		f.Kind, f.Since, f.Cause = findOutOfDate, r.Update.Ended, r.Update.Cause
		f.LastLines = lastLines(r.Update.LastLines)
	case upToDate:
	}
}
