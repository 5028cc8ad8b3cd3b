package up

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// Down is one run of `hotc down`.
type Down struct {
	Cloud      Cloud
	Deployment Deployment // nil: only the stack is deleted
	View       View
	Name       string
	// SkipHooks leaves the delete hooks out.
	SkipHooks bool
	Look      time.Duration
}

// Gone is what `hotc down` has found to delete.
type Gone struct{ Stack, Deployment bool }

// Run runs the delete hooks, deletes the stack and then the deployment. It skips what is gone
// already, so an interrupted command can be repeated.
func (d *Down) Run(ctx context.Context) (gone Gone, err error) {
	s, err := d.Cloud.Stack(ctx, d.Name)
	if err != nil && !errors.Is(err, heat.ErrNotFound) {
		return gone, err
	}
	if s != nil && s.State == "DELETE_COMPLETE" {
		s = nil
	}
	gone.Stack = s != nil
	if d.Deployment != nil {
		if err := d.hold(ctx); err != nil {
			return gone, err
		}
		v, err := d.Deployment.Status(ctx)
		if err != nil {
			return gone, err
		}
		gone.Deployment = v != nil
		if v != nil && s != nil && !d.SkipHooks {
			d.Left(ctx, v)
			if err := d.Deployment.Hooks(ctx, v); err != nil {
				return gone, err
			}
			if err := d.hold(ctx); err != nil {
				return gone, err
			}
		}
	}
	if s != nil {
		if err := d.remove(ctx, s); err != nil {
			return gone, err
		}
	}
	if gone.Deployment {
		return gone, d.Deployment.Destroy(ctx)
	}
	return gone, nil
}

// hold makes this command the only one that changes the stack, or checks that it still is.
func (d *Down) hold(ctx context.Context) error {
	_, err := d.Deployment.Hold(ctx)
	if held, locked := errors.AsType[*deploy.HeldError](err); locked {
		return Locked(d.Name, held)
	}
	return err
}

// Left marks the servers whose machines Heat no longer has: no agent of theirs will return to run a
// hook, and without a relay nothing else reports it.
func (d *Down) Left(ctx context.Context, v *status.Status) {
	s, err := d.Cloud.Stack(ctx, d.Name)
	if err != nil || s.State == "DELETE_COMPLETE" {
		return // use the agents' state as known
	}
	all, err := d.Cloud.Resources(ctx, s.Name, s.ID, heat.MaxDepth)
	if err != nil {
		return // use the agents' state as known
	}
	there := map[string]bool{}
	for _, r := range all {
		there[r.ID] = true
	}
	for _, x := range v.Servers {
		id := x.Incarnation.Instance
		x.Left = x.Left || novas.MatchString(id) && !there[id]
	}
}

// novas matches Nova's ids; some images identify their machine differently.
var novas = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Stack clears the hooks that the stack's deletion waits for, as they have run, and follows it to
// its end; with begin it starts the deletion if none is under way. gone: there is no stack.
func (d *Down) Stack(ctx context.Context, begin bool) (gone bool, err error) {
	s, err := d.Cloud.Stack(ctx, d.Name)
	switch {
	case errors.Is(err, heat.ErrNotFound), err == nil && s.State == "DELETE_COMPLETE":
		return true, nil
	case err != nil:
		return false, err
	case s.State == "DELETE_FAILED" && !begin:
		return false, d.stuck(ctx, s, nil)
	case !begin && s.State.Action() != "DELETE":
		return false, nil
	}
	err = d.remove(ctx, s)
	return err == nil, err
}

// remove deletes a stack, clears the hooks it waits for, and follows it to its end.
func (d *Down) remove(ctx context.Context, s *heat.Stack) error {
	f := &following{cloud: d.Cloud, view: d.View, look: d.Look, name: s.Name, id: s.ID, mayGo: func(heat.Event) (string, bool) { return "", true }}
	if err := f.skip(ctx, s); err != nil && !errors.Is(err, heat.ErrUnreachable) {
		return err
	}
	asked := s.State.Action() == "DELETE" && s.State.InProgress()
	if !asked {
		d.View.Say("Heat deletes the stack " + s.Name)
	}
	for {
		if !asked {
			err := d.Cloud.Delete(ctx, s)
			switch {
			case errors.Is(err, heat.ErrNotFound):
				return nil
			case errors.Is(err, heat.ErrUnreachable):
				if !f.silent {
					d.View.Say("Heat does not answer; retrying: " + err.Error())
				}
				f.silent = true
			case err != nil:
				return err
			default:
				asked, f.silent = true, false
			}
		} else {
			now, err := f.heats(ctx)
			switch {
			case errors.Is(err, heat.ErrNotFound):
				return nil
			case err != nil:
				return err
			case now == nil: // no answer
			case now.State == "DELETE_COMPLETE":
				return nil
			case now.State == "DELETE_FAILED":
				return d.stuck(ctx, now, f.failed)
			}
		}
		if err := store.Pause(ctx, d.Look); err != nil {
			return err
		}
	}
}

// stuck explains why a stack could not be deleted.
func (d *Down) stuck(ctx context.Context, s *heat.Stack, its map[[2]string]bool) error {
	failure := source.Fail(source.StackFailed, "Heat could not delete the stack "+s.Name+": "+s.Reason, "fix the cause and run the same command again")
	all, err := d.Cloud.Resources(ctx, s.Name, s.ID, heat.MaxDepth)
	if err == nil {
		for _, f := range failures(all, its) {
			failure.Notes = append(failure.Notes, source.Note{Message: fmt.Sprintf("%s (%s): %s", strings.Join(f.Path, "/"), f.Type, f.Reason)})
		}
	}
	return failure
}
