package status

import (
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// Renewal is how far the last change of a role is that has run.
type Renewal uint8

const (
	UpToDate  Renewal = iota
	ToUpdate          // its agent is asked to run the hook update
	Updating          // the hook runs
	OutOfDate         // it has failed
)

// Renewal says whether a role that is done is what its plan has become.
func (r *Role) Renewal() Renewal {
	if r.Status != coordinator.RoleDone {
		return UpToDate
	}
	answered := map[string]bool{}
	for _, a := range r.Server.Answers {
		answered[a.ID] = a.Final()
	}
	runs := r.Update != nil && r.Update.Status == coordinator.RoleRunning
	for _, q := range r.Server.Requests {
		if q.Kind == coordinator.Hook && q.Name == contract.HookUpdate && q.Role == r.Name && q.Incarnation == r.Server.Incarnation.Number && !answered[q.ID] {
			if runs {
				return Updating
			}
			return ToUpdate
		}
	}
	switch {
	case runs:
		return Updating
	case r.Update != nil && r.Update.Status == coordinator.RoleFailed:
		return OutOfDate
	}
	return UpToDate
}

// Shown is the role's status as people read it, its update included.
func (r *Role) Shown() string {
	switch r.Renewal() {
	case ToUpdate:
		return "to be updated"
	case Updating:
		return "updating"
	case OutOfDate:
		return "not updated"
	case UpToDate:
	}
	return r.Word()
}

// UpdateDetail says of an update that has not come to its end, or failed, what there is
// to say in a line.
func UpdateDetail(r *Role) string {
	switch r.Renewal() {
	case ToUpdate:
		if !r.Server.Alive {
			return "its agent is not there to run the hook update"
		}
		return "its agent is asked for the hook update"
	case Updating:
		return "the hook update runs"
	case OutOfDate:
		return "the hook update failed: " + CauseText(r.Update.Cause)
	case UpToDate:
	}
	return ""
}

// describeUpdate makes the finding of a role that is done, and perhaps not up to date.
func describeUpdate(f *Finding, r *Role) {
	f.Kind, f.Since = KindDone, r.Ended
	switch r.Renewal() {
	case ToUpdate:
		f.Kind, f.Since, f.Message = KindUpdating, time.Time{}, UpdateDetail(r)
	case Updating:
		f.Kind, f.Since, f.Message = KindUpdating, r.Update.Started, UpdateDetail(r)
	case OutOfDate:
		f.Kind, f.Since, f.Cause = KindOutOfDate, r.Update.Ended, r.Update.Cause
		f.LastLines = lastLines(r.Update.LastLines)
	case UpToDate:
	}
}

func CauseText(c *coordinator.Cause) string {
	if c == nil {
		return "no reason was given"
	}
	text := c.Reason
	if c.At != "" {
		text += " (" + string(c.At) + ")"
	}
	return text
}
