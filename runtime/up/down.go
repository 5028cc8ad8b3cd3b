package up

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// Down is one run of `hotc down`.
type Down struct {
	Cloud      Cloud
	Deployment Deployment // nil: only the stack goes
	View       View
	Name       string
	// SkipHooks leaves the delete hooks out.
	SkipHooks bool
	Look      time.Duration
}

// Gone is what `hotc down` has found to delete.
type Gone struct{ Stack, Deployment bool }

// Run runs the delete hooks, deletes the stack and then the deployment. What is gone already
// is left out, so the same command goes on where one was ended.
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

// Left marks the servers whose machines Heat does not have any more: no agent of theirs will come
// back to run a hook, and where no relay ran nobody else says so.
func (d *Down) Left(ctx context.Context, v *status.Status) {
	s, err := d.Cloud.Stack(ctx, d.Name)
	if err != nil || s.State == "DELETE_COMPLETE" {
		return // the agents are asked as they are known
	}
	all, err := d.Cloud.Resources(ctx, s.Name, s.ID, heat.MaxDepth)
	if err != nil {
		return // the agents are asked as they are known
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

// novas are ids as Nova's; some images know another one of their machine.
var novas = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Stack lets Heat go on where the deletion of the stack waits for hooks, which have run, and
// follows it to its end; with begin it deletes one that nobody deletes yet. gone says that
// there is none any more.
func (d *Down) Stack(ctx context.Context, begin bool) (gone bool, err error) {
	s, err := d.Cloud.Stack(ctx, d.Name)
	switch {
	case errors.Is(err, heat.ErrNotFound), err == nil && s.State == "DELETE_COMPLETE":
		return true, nil
	case err != nil:
		return false, err
	case s.State == "DELETE_FAILED" && !begin:
		return false, d.stuck(ctx, s)
	case !begin && s.State.Action() != "DELETE":
		return false, nil
	}
	err = d.remove(ctx, s)
	return err == nil, err
}

// remove deletes a stack, lets Heat go on where it waits for hooks, and follows it to its end.
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
				return d.stuck(ctx, now)
			}
		}
		if err := coordinator.Pause(ctx, d.Look); err != nil {
			return err
		}
	}
}

// stuck says why a stack could not be deleted.
func (d *Down) stuck(ctx context.Context, s *heat.Stack) error {
	failure := source.Fail(source.StackFailed, "Heat could not delete the stack "+s.Name+": "+s.Reason, "fix the cause and run the same command again")
	all, err := d.Cloud.Resources(ctx, s.Name, s.ID, heat.MaxDepth)
	if err == nil {
		for _, f := range failures(all) {
			failure.Notes = append(failure.Notes, source.Note{Message: fmt.Sprintf("%s (%s): %s", strings.Join(f.Path, "/"), f.Type, f.Reason)})
		}
	}
	return failure
}
