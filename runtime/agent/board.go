package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// reporter reports a server's state; member.Session is one.
type reporter interface {
	Report(ctx context.Context, state protocol.ServerState, failed map[contract.CellName]*protocol.Cause) error
	ReportStart(ctx context.Context, state protocol.ServerState) error
}

// board is the server's state, and reports it to the coordinator. Transitions are committed: the
// agent continues when the coordinator has them. Mere information, such as a blocked read, is
// shown: reported soon, several changes at once.
type board struct {
	to      reporter
	console *console
	stop    context.CancelCauseFunc
	now     func() time.Time
	changed chan struct{}

	mu    sync.Mutex
	state protocol.ServerState
	// wrote returns the versions of what the server has published; nil if unknown.
	wrote func() map[contract.CellName]protocol.Count

	reporting chan struct{} // full from the read of the state to the end of its report
}

func newBoard(to reporter, c *console, stop context.CancelCauseFunc, now func() time.Time, state protocol.ServerState) *board {
	return &board{to: to, console: c, stop: stop, now: now, state: state,
		changed: make(chan struct{}, 1), reporting: make(chan struct{}, 1)}
}

// settle is the time for which shown changes are collected.
const settle = 50 * time.Millisecond

// follow reports what is shown, until it is stopped.
func (b *board) follow(ctx context.Context) (stop func()) {
	return store.Beside(ctx, func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-b.changed:
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(settle):
			}
			if err := b.commit(ctx, nil, nil); err != nil && ctx.Err() == nil {
				b.console.say("%v", err)
			}
		}
	})
}

// show changes the state; it is reported soon.
func (b *board) show(change func(*protocol.ServerState)) {
	b.change(change)
	store.Wake(b.changed)
}

// commit changes the state, and returns when the coordinator has it; with it the cells are marked
// as failed. A permanent error ends the agent.
func (b *board) commit(ctx context.Context, failed map[contract.CellName]*protocol.Cause, change func(*protocol.ServerState)) error {
	b.change(change)
	return b.report(ctx, func() error { return b.to.Report(ctx, b.copy(), failed) })
}

// begin is commit for a role that is about to start. It starts only once the coordinator has this:
// until then no other report shows it as started, and none does if it is refused.
// member.ErrPlanChanged.
func (b *board) begin(ctx context.Context, r protocol.RoleState) error {
	return b.report(ctx, func() error {
		var before protocol.RoleState
		b.change(func(s *protocol.ServerState) {
			before = s.Role(r.Name)
			setRole(s, r)
		})
		err := b.to.ReportStart(ctx, b.copy())
		if err != nil {
			b.change(func(s *protocol.ServerState) { setRole(s, before) })
		}
		return err
	})
}

// report makes one report at a time.
func (b *board) report(ctx context.Context, report func() error) error {
	select {
	case b.reporting <- struct{}{}:
		defer func() { <-b.reporting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := report()
	if errors.Is(err, member.ErrFenced) || errors.Is(err, member.ErrDestroyed) {
		b.stop(err)
	}
	return err
}

func (b *board) change(change func(*protocol.ServerState)) {
	if change == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	phase := b.state.Phase
	change(&b.state)
	if b.state.Phase != phase {
		b.state.Since = b.now().UTC()
	}
}

func (b *board) copy() protocol.ServerState {
	b.mu.Lock()
	state, wrote := b.state, b.wrote
	state.Roles = slices.Clone(state.Roles)
	b.mu.Unlock()
	if wrote != nil {
		state.Wrote = wrote()
	}
	return state
}

func setRole(s *protocol.ServerState, r protocol.RoleState) {
	for i := range s.Roles {
		if s.Roles[i].Name == r.Name {
			r.Update = withLines(r.Update, s.Roles[i].Update)
			s.Roles[i] = r
		}
	}
}
