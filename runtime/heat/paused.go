package heat

import (
	"bytes"
	"context"
	"encoding/json"
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
	Properties(ctx context.Context, e Event) (json.RawMessage, error)
	ClearHook(ctx context.Context, e Event, hook string) error
}

// ErrForeign is a hook that hotc has not set: the resource is no server with an agent.
var ErrForeign = errors.New("whoever has set this hook lets Heat go on (openstack stack hook clear --" + PreDelete + ")")

// Clear lets a resource go on, and says whether it did: Heat may be away, or somebody else was
// faster. ErrForeign, once.
func (p Paused) Clear(ctx context.Context, by Clearer, e Event) (bool, error) {
	err := hasAgent(ctx, by, e)
	if err == nil {
		err = by.ClearHook(ctx, e, PreDelete)
	}
	switch {
	case errors.Is(err, ErrForeign):
		delete(p, [2]string{e.StackID, e.Name})
		return false, err
	case errors.Is(err, ErrUnreachable): // at the next look
		return false, nil
	case err != nil && !errors.Is(err, ErrNotFound) && !Refused(err): // gone on, or gone
		return false, err
	}
	delete(p, [2]string{e.StackID, e.Name})
	return err == nil, nil
}

// bootFile stands in the user_data of every server with an agent (emit/userdata).
const bootFile = "/etc/hotc/boot.json"

// hasAgent says whether a resource is a server with an agent, by what Heat has made it with: the
// template of a stack that is being deleted has no resources any more (heat: engine/service.py,
// delete_stack). It counts as one where nobody can see that. ErrForeign.
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
