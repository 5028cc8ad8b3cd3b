package heat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// PreDelete is the hook at which Heat pauses before it deletes servers whose roles have a delete
// hook. It does so whenever the stack that contains the server is deleted, also for a group's
// member that is removed by an update.
const PreDelete = "pre-delete"

// pauses reports whether an event is about PreDelete; begun is true if the resource pauses, false
// if it continues.
func (e Event) pauses() (begun, is bool) {
	if strings.HasSuffix(e.Reason, " paused until Hook "+PreDelete+" is cleared") {
		return true, true
	}
	return false, e.Reason == "Hook "+PreDelete+" is cleared"
}

// Pauses reports whether a resource is paused at PreDelete from this event on.
func (e Event) Pauses() bool {
	begun, _ := e.pauses()
	return begun
}

// Paused are the resources that are paused at PreDelete, by stack and name.
type Paused map[[2]string]Event

// See learns from events, the oldest first.
func (p Paused) See(events ...Event) {
	for _, e := range events {
		switch begun, is := e.pauses(); {
		case begun:
			p[[2]string{e.StackID, e.Name}] = e
		case is, e.State.Action() == "DELETE": // it continues
			delete(p, [2]string{e.StackID, e.Name})
		}
	}
}

// All are the paused resources, in the order of their stacks' ids and their names.
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

// Clearer clears a hook at which the resource of an event is paused.
type Clearer interface {
	Properties(ctx context.Context, e Event) (json.RawMessage, error)
	ClearHook(ctx context.Context, e Event, hook string) error
}

// ErrForeign is a hook that hotc has not set: the resource is not a server with an agent.
var ErrForeign = errors.New("hotc has not set this hook: its owner has to clear it (openstack stack hook clear --" + PreDelete + ")")

// Clear clears a resource's hook, and reports whether it did: Heat may be unreachable, or the hook
// already cleared. ErrForeign, once.
func (p Paused) Clear(ctx context.Context, by Clearer, e Event) (bool, error) {
	err := hasAgent(ctx, by, e)
	if err == nil {
		err = by.ClearHook(ctx, e, PreDelete)
	}
	switch {
	case errors.Is(err, ErrForeign):
		delete(p, [2]string{e.StackID, e.Name})
		return false, err
	case errors.Is(err, ErrUnreachable): // retried in the next round
		return false, nil
	case err != nil && !errors.Is(err, ErrNotFound) && !Refused(err): // already cleared or deleted
		return false, err
	}
	delete(p, [2]string{e.StackID, e.Name})
	return err == nil, nil
}

// bootFile is in the user_data of every server with an agent (emit/userdata).
const bootFile = "/etc/hotc/boot.json"

// hasAgent returns ErrForeign unless a resource is a server with an agent, by its properties: the
// template of a stack that is being deleted has no resources any more (heat: engine/service.py,
// delete_stack). If the properties cannot be read it counts as one.
func hasAgent(ctx context.Context, by Clearer, e Event) error {
	properties, err := by.Properties(ctx, e)
	switch {
	case errors.Is(err, ErrNotFound), err != nil && Refused(err):
		return nil
	case err == nil && !bytes.Contains(properties, []byte(bootFile)):
		return ErrForeign
	}
	return err
}
