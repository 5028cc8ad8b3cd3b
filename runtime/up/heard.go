package up

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// hearing is how long an update waits until Heat learns that former failures are fixed.
const hearing = 30 * time.Second

// heard waits until no handle of the stack holds a failure of a server whose roles are done by now:
// Heat would fail with it at once. Agents or the relay signal a moment after the roles.
func (u *Up) heard(ctx context.Context) error {
	if u.TakesOver || u.Relay == nil { // Heat waits for no handles
		return nil
	}
	v, err := u.Deployment.Status(ctx)
	if err != nil || v == nil {
		return err
	}
	done := map[string]bool{} // by the ids with which servers signal
	for _, s := range v.Servers {
		well := !slices.ContainsFunc(s.Roles, func(r *status.Role) bool { return r.Status != protocol.RoleDone })
		done[string(s.Path)] = s.Came() && well
		for _, r := range s.Roles {
			for _, x := range r.Plan.Signals {
				done[x.ID] = s.Came() && well
			}
		}
	}
	for began, said := time.Now(), false; ; said = true {
		late, err := u.unheard(ctx, done)
		switch {
		case errors.Is(err, heat.ErrUnreachable), err == nil && len(late) == 0:
			return nil // if there is no answer, requesting the update fails next
		case err != nil:
			return err
		case time.Since(began) >= hearing:
			u.View.Say("Heat has not been told yet that all roles are done on " + strings.Join(late, ", ") + ": if the update fails with the old failure, run the same command again")
			return nil
		case !said:
			u.View.Say("Telling Heat that all roles are done on " + strings.Join(late, ", "))
		}
		if err := store.Pause(ctx, u.Look); err != nil {
			return err
		}
	}
}

// unheard are the servers that are done while a handle still holds their failure.
func (u *Up) unheard(ctx context.Context, done map[string]bool) (late []string, err error) {
	all, err := u.Cloud.Resources(ctx, u.stack.Name, u.stack.ID, heat.MaxDepth)
	for _, x := range all {
		if x.Type != heat.HandleType || x.ID == "" || err != nil {
			continue
		}
		var told map[string]string
		if told, err = u.Cloud.Signals(ctx, x.StackName, x.StackID, x.Name); errors.Is(err, heat.ErrNotFound) {
			err = nil // it was just deleted
		}
		for id, is := range told {
			if is == string(signal.Failure) && done[id] {
				late = append(late, id)
			}
		}
	}
	slices.Sort(late)
	return slices.Compact(late), err
}
