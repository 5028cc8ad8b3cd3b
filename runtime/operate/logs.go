package operate

import (
	"bytes"
	"context"
	"io"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// Log is the end of what a role has printed.
func (o *Operator) Log(ctx context.Context, r *status.Role) ([]byte, error) {
	within, stop := o.Within(ctx)
	defer stop()
	return deploy.ReadLog(within, o, o.Deployment, r.Server.Path, r.Name)
}

// FollowLog writes what a role prints until it has ended.
func (o *Operator) FollowLog(ctx context.Context, w io.Writer, v *status.Status, r *status.Role) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := o.Watch(ctx, o.Deployment.Log(r.Server.Path, r.Name))
	if err != nil {
		return err
	}
	states, err := o.Watch(ctx, o.Deployment.State(r.Server.Path))
	if err != nil {
		return err
	}
	alone := onlyServer(v.Plan, r.Server.Path)
	var seen []byte
	for {
		select {
		case _, open := <-changes:
			if !open {
				return ErrInterrupted
			}
		case _, open := <-states:
			if !open {
				return ErrInterrupted
			}
		}
		// The state is read before the log, so that the last lines of an ended role are not missed.
		v, err := o.StatusOf(ctx, alone)
		if err != nil {
			return err
		}
		text, err := o.Log(ctx, r)
		if err != nil {
			return err
		}
		if _, err := w.Write(newText(seen, text)); err != nil {
			return err
		}
		seen = text
		if now := v.Role(r.Server.Path, r.Name); now == nil || !now.Ended.IsZero() && now.Verdict.State != reconcile.Running && now.Verdict.State != reconcile.Superseded || now.Status == protocol.RoleSkipped {
			return nil
		}
	}
}

// onlyServer is a plan of one server without its cells: reading its status is cheap.
func onlyServer(p *contract.Plan, path contract.ServerPath) *contract.Plan {
	return &contract.Plan{Format: p.Format, Servers: lists.Only(p.Servers, func(s contract.Server) bool { return s.Path == path })}
}

// gap marks where more was printed than the coordinator keeps.
const gap = "\n[… hotc: some output was not kept …]\n"

// newText is what a log has gained: both are the ends of one text.
func newText(before, after []byte) []byte {
	if bytes.HasPrefix(after, before) {
		return after[len(before):]
	}
	for n := min(len(before), len(after)); n > 0; n-- {
		if bytes.Equal(before[len(before)-n:], after[:n]) {
			return after[n:]
		}
	}
	return append([]byte(gap), after...)
}
