package role

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// life is one run of a role.
type life struct {
	host *Host
	role contract.Role
	task *Task  // run instead of the role's own source, if not nil
	hook string // the hook after the role's own source, once it runs
	// ctx is the agent's; process ends earlier if the role is doomed.
	ctx     context.Context
	process context.Context
	kill    context.CancelCauseFunc
	timers  []*time.Timer

	inputs  map[string]*input
	outputs map[string]*output
	cells   *cellCache // of this run: one value per cell
	follows []contract.Follow
	members memberLists
	files   []renderedFile // to be written at the role's start
	prints  *prints
	mask    mask
	mark    string

	showing sync.Mutex // before mu
	over    bool       // show no more

	mu    sync.Mutex
	now   protocol.RoleState // its Runs do not include this one until it is recorded
	waits waits
	doom  *protocol.Cause
	fatal error
}

func newLife(ctx context.Context, h *Host, r contract.Role) *life {
	noted := h.Journal.Role(r.Name)
	now := protocol.RoleState{Name: r.Name, Status: protocol.RolePending, Attempt: noted.Attempt, ByHand: noted.ByHand,
		Made: noted.Made, Update: noted.Update, Runs: noted.Runs, Followed: noted.Followed}
	l := &life{host: h, role: r, ctx: ctx, now: now, follows: r.Follows,
		inputs: map[string]*input{}, outputs: map[string]*output{}, cells: &cellCache{}}
	l.process, l.kill = context.WithCancelCause(ctx)
	for _, o := range r.Outputs {
		l.outputs[o.Name] = newOutput(o)
	}
	return l
}

func (l *life) release() {
	l.kill(nil)
	l.showing.Lock()
	l.over = true
	l.showing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.timers {
		t.Stop()
	}
}

// state is the role's current state.
func (l *life) state() protocol.RoleState {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now
	now.Blocked, now.BlockedSeconds = l.waits.now(), l.waits.seconds(l.host.Now())
	return now
}

// recall restores what an earlier agent recorded.
func (l *life) recall(noted journal.Role) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = noted.RoleState
}

// noteRunning records the start. Its order matters: see the package comment.
func (l *life) noteRunning(ctx context.Context) error {
	l.mu.Lock()
	l.now.Status, l.now.Started = protocol.RoleRunning, l.host.Now().UTC()
	l.mu.Unlock()
	err := l.noteStart(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.now.Status, l.now.Started = protocol.RolePending, time.Time{}
		if l.fatal == nil && l.ctx.Err() == nil {
			l.fatal = err
		}
		return err
	}
	if l.role.Timeout > 0 {
		l.timers = append(l.timers, time.AfterFunc(seconds(l.role.Timeout), func() {
			defer mistake.Ends()
			l.setDoom(l.reason(fmt.Sprintf("timed out after %v", seconds(l.role.Timeout))))
			l.kill(errDoomed)
		}))
	}
	return nil
}

func (l *life) noteStart(ctx context.Context) error {
	l.mu.Lock()
	l.now.Runs++
	l.mu.Unlock()
	if l.task != nil {
		return l.task.Start(ctx, l.mark, l.followed())
	}
	made := l.role.Made()
	l.mu.Lock()
	l.now.Made, l.now.Update, l.now.Followed = made, nil, nil
	l.mu.Unlock()
	if err := l.host.Begin(ctx, l.state()); err != nil {
		return err
	}
	return l.host.Journal.NoteRunning(l.role.Name, l.mark, made)
}

func (l *life) end(status protocol.RoleStatus, code *int, cause *protocol.Cause) {
	var lines string
	if status == protocol.RoleFailed && l.prints != nil {
		lines = l.prints.lastLines()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Status, l.now.ExitCode, l.now.Cause, l.now.LastLines = status, code, cause, lines
	l.now.Ended = l.host.Now().UTC()
}

// ending is why the agent is to end; nil if it is not.
func (l *life) ending() error { return context.Cause(l.ctx) }

// endingOr is why the agent is to end, or otherwise the error.
func (l *life) endingOr(err error) error {
	if stopsAgent(err) {
		return err
	}
	return l.ending()
}

var errDoomed = errors.New("the role has failed")

// doomed makes the role fail with a cause, whatever its process does: the process is ended
// after a moment in which it may handle the error.
func (l *life) doomed(cause *protocol.Cause) {
	if !l.setDoom(cause) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timers = append(l.timers, time.AfterFunc(l.host.Parting, func() {
		defer mistake.Ends()
		l.kill(errDoomed)
	}))
}

// setDoom keeps the first cause.
func (l *life) setDoom(cause *protocol.Cause) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.doom != nil {
		return false
	}
	l.doom = cause
	return true
}

// doomCause is why the role is doomed; nil if it is not.
func (l *life) doomCause() *protocol.Cause {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doom
}

// giveUp ends the role and the agent, which can no longer write.
func (l *life) giveUp(err error) {
	l.mu.Lock()
	if l.fatal == nil {
		l.fatal = err
	}
	l.mu.Unlock()
	l.kill(err)
}

func (l *life) fatalError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// causeOf is why a role whose process has ended has failed; nil if it has not.
func (l *life) causeOf(exit driver.Exit, err error) *protocol.Cause {
	doom := l.doomCause()
	switch {
	case doom != nil:
		return doom
	case err != nil:
		return l.reason(l.inHook() + err.Error())
	case !exit.OK():
		reason := l.inHook() + exit.String()
		if line := l.prints.lastLine(); line != "" {
			reason += ": " + line
		}
		return l.reason(reason)
	}
	return nil
}

// inHook begins the reason of a hook's failure.
func (l *life) inHook() string {
	if l.hook == "" {
		return ""
	}
	return "hook " + l.hook + ": "
}

// reason is a cause at the role's place.
func (l *life) reason(text string) *protocol.Cause {
	return &protocol.Cause{Role: l.host.Key(l.role.Name), Reason: string(l.mask.hide([]byte(text))), At: l.role.At}
}

// reasonAt is a cause with its own place, if known.
func (l *life) reasonAt(at contract.Position, text string) *protocol.Cause {
	cause := l.reason(text)
	cause.At = cmp.Or(at, cause.At)
	return cause
}

// blockedOn is the cause of a role that needs a value which was not delivered.
func (l *life) blockedOn(cell contract.CellName, what string, at contract.Position, err error) *protocol.Cause {
	cause := l.reasonAt(at, fmt.Sprintf("blocked on %s%s", cell, what))
	var failed *member.FailedCellError
	var lost *member.LostProducerError
	switch {
	case errors.As(err, &failed):
		cause.Cause = failed.Cause
	case errors.As(err, &lost):
		cause.Reason += fmt.Sprintf(": the agent of server %s is gone, not seen since %s",
			lost.Server, lost.Since.UTC().Format(time.RFC3339))
	default:
		cause.Reason += ": " + err.Error()
	}
	return cause
}

func (l *life) awaitDependencies() (*protocol.Cause, error) {
	for _, d := range l.role.DependsOn {
		there, err := l.isThere(d.If)
		if err == nil && there {
			_, err = l.await(l.ctx, d.Cell, "", d.At, 0)
		}
		switch {
		case err == nil:
		case l.ending() != nil:
			return nil, l.ending()
		case stopsAgent(err):
			return nil, err
		default:
			return l.blockedOn(d.Cell, " (depends_on)", d.At, err), nil
		}
	}
	return nil, nil
}

// await is a blocked read that is shown in the role's state.
func (l *life) await(ctx context.Context, cell contract.CellName, input string, at contract.Position, ifDown time.Duration) (protocol.CellRecord, error) {
	var stop func()
	record, err := l.host.Cells.AwaitRecord(ctx, cell, member.AwaitOptions{
		IfDown: ifDown, Machine: l.machine(cell),
		Blocked: func(since time.Time) {
			stop = l.blocked(protocol.Wait{Cell: cell, Input: input, At: at, Since: since.UTC()})
		},
	})
	if stop != nil {
		stop()
	}
	return record, err
}

// machine is the cell's server, if it has a condition.
func (l *life) machine(cell contract.CellName) *contract.Member {
	for i := range l.role.Follows {
		if f := &l.role.Follows[i]; f.Cell == cell && f.Perhaps != nil {
			return f.Machine()
		}
	}
	return nil
}

// stopsAgent reports whether an error is about the agent and not a value.
func stopsAgent(err error) bool {
	return errors.Is(err, member.ErrFenced) || errors.Is(err, member.ErrDestroyed) ||
		errors.Is(err, store.ErrClosed)
}

func (l *life) missingOutputs() *protocol.Cause {
	var missing []string
	var at contract.Position
	for _, o := range l.role.Outputs {
		if !l.outputs[o.Name].isWritten() {
			if missing == nil {
				at = o.At
			}
			missing = append(missing, o.Name)
		}
	}
	if missing == nil {
		return nil
	}
	return l.reasonAt(at, "finished without writing "+strings.Join(missing, ", "))
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
