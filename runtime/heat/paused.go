package heat

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// PreDelete is the hook at which Heat waits with servers whose roles have a delete hook. It
// does so whenever the stack that holds the server is deleted: a group's member, too, that
// leaves in an update.
const PreDelete = "pre-delete"

// pauses says whether an event is a resource's stop at PreDelete; begun is false where it goes
// on.
func (e Event) pauses() (begun, is bool) {
	if strings.HasSuffix(e.Reason, " paused until Hook "+PreDelete+" is cleared") {
		return true, true
	}
	return false, e.Reason == "Hook "+PreDelete+" is cleared"
}

// Pauses says that a resource waits at PreDelete from this event on.
func (e Event) Pauses() bool {
	begun, _ := e.pauses()
	return begun
}

// Paused are the resources that wait at PreDelete, by stack and name.
type Paused map[[2]string]Event

// See learns from events, the oldest first.
func (p Paused) See(events ...Event) {
	for _, e := range events {
		switch begun, is := e.pauses(); {
		case begun:
			p[[2]string{e.StackID, e.Name}] = e
		case is, e.State.Action() == "DELETE": // it goes on
			delete(p, [2]string{e.StackID, e.Name})
		}
	}
}

// All are those that wait, in the order of their stacks' ids and their names.
func (p Paused) All() []Event {
	all := make([]Event, 0, len(p))
	for _, e := range p {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Event) int {
		return slices.Compare([]string{a.StackID, a.Name}, []string{b.StackID, b.Name})
	})
	return all
}

// Clearer lets the resource of an event go on that waits at a hook.
type Clearer interface {
	ClearHook(ctx context.Context, e Event, hook string) error
}

// Clear lets a resource go on, and says whether it did: Heat may be away, or somebody else was
// faster.
func (p Paused) Clear(ctx context.Context, by Clearer, e Event) (bool, error) {
	err := by.ClearHook(ctx, e, PreDelete)
	switch {
	case errors.Is(err, ErrUnreachable): // at the next look
		return false, nil
	case err != nil && !errors.Is(err, ErrNotFound) && !Refused(err): // gone on, or gone
		return false, err
	}
	delete(p, [2]string{e.StackID, e.Name})
	return err == nil, nil
}
