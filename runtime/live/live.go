// Package live gives one view of a live deployment as data: its status, what has happened since the
// last look, why roles wait, and what Heat says of the stack. Whoever shows a deployment, a command
// or a page, takes it from here.
package live

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// Observer looks at a deployment, in one loop over Views at a time.
type Observer struct {
	*operate.Operator
	Coordinator string // its name in advice

	cloud  *heat.Client
	asked  time.Time
	answer status.Stack
}

// View is a deployment at one moment, with its dependency cycles and Heat's state of the stack.
type View struct {
	*status.Status
	// Events have happened since the view before; the first one has none.
	Events []status.Event
	// Unsure says that there seem to be dependency cycles, which another view has to confirm.
	Unsure bool
	// Ticked says that no change was announced, and only time has passed.
	Ticked bool
}

const (
	// swarm is the shortest time between two reads: changes come in bursts.
	swarm = 250 * time.Millisecond
	// clocks is how often there is a view where nothing has changed, for the clocks in it, and for
	// what nobody announces: Heat's state.
	clocks = 5 * time.Second
)

// Views are a view, and another one whenever something has changed, also after everything has
// finished: the caller ends it, by leaving the loop or with ctx. An error is the last.
func (o *Observer) Views(ctx context.Context) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		err := o.follow(ctx, nil, func(v *View) bool { return yield(v, nil) })
		if err != nil && ctx.Err() != nil {
			err = operate.ErrInterrupted
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (o *Observer) follow(parent context.Context, history *status.History, yield func(*View) bool) error {
	ctx, stop := context.WithCancel(parent)
	defer stop()
	ticker := time.NewTicker(clocks)
	defer ticker.Stop()
	var (
		cycles  status.Looks
		changes <-chan store.Path
		said    status.Stack
		ticked  bool
	)
	now, err := o.Status(ctx)
	if err == nil && history == nil {
		history = &status.History{}
		history.See(now, time.Now())
	}
	for err == nil {
		if now.Stack = o.ask(ctx); ctx.Err() != nil {
			return ctx.Err()
		}
		v := &View{Status: now, Events: history.See(now, time.Now()), Unsure: cycles.See(now, time.Now()), Ticked: ticked && now.Stack == said}
		if !yield(v) {
			return nil
		}
		if changes == nil { // announces all that has happened since then, too
			if changes, err = o.WatchServers(ctx, now.Plan); err != nil {
				return err
			}
		}
		var soon <-chan time.Time
		if v.Unsure {
			soon = time.After(status.BetweenLooks)
		}
		if ticked, err = nextChange(changes, soon, ticker.C); err != nil {
			return err
		}
		said = now.Stack
		if now, err = o.StatusOf(ctx, v.Plan); err == nil && now.Stands != v.Stands { // another plan was applied
			stop()
			return o.follow(parent, history, yield)
		}
	}
	return err
}

// nextChange waits for a change and the burst around it to pass; ticked says that only time has passed.
func nextChange(changes <-chan store.Path, soon, tick <-chan time.Time) (ticked bool, err error) {
	for quiet := (<-chan time.Time)(nil); ; {
		select {
		case _, open := <-changes:
			if !open {
				return false, operate.ErrInterrupted
			}
			if quiet == nil {
				quiet, soon, tick = time.After(swarm), nil, nil
			}
		case <-quiet:
			return false, nil
		case <-soon:
			return false, nil
		case <-tick:
			return true, nil
		}
	}
}

// Now is the first view that is sure of its dependency cycles.
func (o *Observer) Now(ctx context.Context) (last *View, err error) {
	for last, err = range o.Views(ctx) {
		if err != nil || !last.Unsure {
			break
		}
	}
	return last, err
}

// Explain says why the roles wait that a question is about (operate.Questioned), with their last lines,
// and with what to check or to do.
func (o *Observer) Explain(ctx context.Context, v *View, about string) (*status.Explanation, error) {
	roles, err := operate.Questioned(v.Status, about)
	if err != nil {
		return nil, err
	}
	i := status.Explain(v.Status, roles)
	o.Advise(i)
	within, stop := o.Within(ctx)
	defer stop()
	return i, i.ReadLogs(within, o, o.Deployment)
}

// Advise adds to root causes what may keep an agent away, and what to check or to do.
func (o *Observer) Advise(i *status.Explanation) {
	came := len(lists.Only(i.Status.Servers, (*status.Server).Came))
	stack := protocol.ShellWord(string(o.Deployment))
	for _, f := range i.Findings {
		switch f.Kind {
		case status.KindAbsent:
			if perhaps := i.Status.ByPath[f.Server].Perhaps; perhaps != "" {
				f.Perhaps = append(f.Perhaps, "Heat has not created it if "+perhaps+": no live agent knows")
			}
			if i.Status.Restored {
				f.Perhaps = append(f.Perhaps, "the deployment was restored, and a server that was there before has not rejoined yet: it does so by itself once its agent runs and reaches the coordinator")
			}
			f.Perhaps = append(f.Perhaps,
				"Heat has not created the server yet, or could not: openstack stack resource list "+stack,
				"it is still booting, or its user-data did not run: openstack console log show SERVER",
				"its machine is older than its first role: user-data is for new machines; openstack stack resource mark unhealthy "+stack+" RESOURCE, and the next update replaces it",
				"it cannot reach the coordinator: a route, a firewall, or an address that only works from this machine ("+o.Coordinator+")")
			if came == 0 {
				f.Perhaps = append(f.Perhaps, "its token is refused, because the stack has another hotc_secret or another name than "+string(o.Deployment)+": its console shows that")
			} else {
				f.Perhaps = append(f.Perhaps, fmt.Sprintf("not the secret: %s joined with tokens of the same secret", source.Counted(came, "other server")))
			}
		case status.KindNotGiven:
			f.Message = o.Command("apply", "DIR") + operate.SecretFlags(f.Secret)
		case status.KindRefused:
			f.Message = strings.Join(o.Asking(f.Server, i.Status.ByPath[f.Server].AwaitingApproval), "; ")
		case status.KindFailed, status.KindOutOfDate:
			if f.Kind == status.KindOutOfDate && f.Since.IsZero() { // because of another
				continue
			}
			f.Remedy = "once the cause is fixed: "
			if s := i.Status.ByPath[f.Server]; s != nil && !s.Alive {
				f.Remedy = "once the cause is fixed, and the server's agent is there: "
			}
			f.Remedy += o.Command("retry", f.Subject)
		default:
		}
	}
}
