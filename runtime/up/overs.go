package up

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// Others may change, cancel, suspend or delete a stack while it is followed. Whatever Heat does
// from then on is not the end of what was requested: it is recognized and reported.

// ErrTakenOver says that another hotc has changed the stack or the deployment meanwhile.
var ErrTakenOver = errors.New("another update has taken over")

// errOtherTag is an ErrTakenOver of which only Heat tells.
var errOtherTag = fmt.Errorf("%w: Heat was asked for another template", ErrTakenOver)

// overs distinguishes what was requested from what others have requested since.
type overs struct {
	tag  string // the stack's, as we have set it
	ours bool   // Heat has begun with that
	// given are the parameters whose values differ from ours.
	given func(*heat.Stack) []string

	updated  time.Time // the last action seen, to Heat's precision of a second
	back     bool      // Heat rolls back to the previous template, and that was reported
	settling int       // polls of a stack that claims to be cancelled
}

// takenOver returns an error where another user has changed the stack meanwhile, or is changing it.
// What makes no difference is only reported.
func (o *overs) takenOver(s *heat.Stack, name string, say func(string)) error {
	switch s.State.Action() {
	case "DELETE":
		return deletedBy(name, s.State)
	case "SUSPEND":
		return source.Fail(source.StackFailed, "another user has suspended the stack "+name+" or is suspending it ("+string(s.State)+")", "run \"openstack stack resume "+name+"\", and then the same command again")
	case "ROLLBACK":
		if !o.back {
			say("Heat is rolling back to the previous template: an update has failed or was cancelled")
		}
		o.back = true
		return nil
	}
	own := slices.Contains(s.Tags, o.tag)
	o.ours = o.ours || own
	switch {
	case !o.ours:
		return nil
	case !own && slices.ContainsFunc(s.Tags, func(tag string) bool { return strings.HasPrefix(tag, tagPrefix) }):
		return errOtherTag
	case !own:
		return updatedBy(name, "something else")
	}
	before := o.updated
	o.updated = s.Updated.Time
	if s.State.InProgress() && (before.IsZero() || before.Equal(o.updated)) {
		return nil
	}
	if others := o.given(s); len(others) > 0 {
		return updatedBy(name, "other values of "+strings.Join(others, ", "))
	}
	if !before.IsZero() && !before.Equal(o.updated) {
		say("Another update with the same template has overtaken this one: following that one")
	}
	return nil
}

func updatedBy(name, to string) error {
	return source.Fail(source.StackFailed, "another update has taken over: it changes the stack "+name+" to "+to,
		"\"openstack stack event list --follow "+name+"\" shows its progress; the same command submits this template again")
}

func deletedBy(name string, state heat.State) error {
	return source.Fail(source.StackFailed, "another user has deleted the stack "+name+" or is deleting it ("+string(state)+")", "\"hotc down "+name+"\" removes what is left of it")
}

// unsettled reports whether a stack was cancelled a moment ago.
func (o *overs) unsettled(s *heat.Stack) bool {
	is := s.Cancelled() || s.CancelledWithin()
	if is {
		o.settling++
	}
	return is && o.settling <= heat.Settled
}

// cancelledBy says that another user has cancelled the stack's action.
func cancelledBy(name string, s *heat.Stack) error {
	if !s.Cancelled() {
		return nil
	}
	return source.Fail(source.StackFailed, "another user has cancelled Heat's operation on the stack "+name+" ("+string(s.State)+")",
		"what had started runs to completion; the same command submits the template again")
}

// mostAgain is how often a template that Heat itself has cancelled is submitted again.
const mostAgain = 3
