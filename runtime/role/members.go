package role

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A role that follows a group's membership has one list of members per run: the members when
// the run begins, if it is for a change, or otherwise when the list is first read. The first
// run waits for as many as Heat was told to create, or the input's minimum, except for those
// that have failed or are gone, or whose agent is.

// MembersOf returns the relays' records of the followed groups.
func MembersOf(ctx context.Context, cells Cells, follows []contract.Follow) (map[string]protocol.MembersRecord, error) {
	all := map[string]protocol.MembersRecord{}
	for i := range follows {
		m := follows[i].Machine()
		if m == nil {
			continue
		}
		if _, known := all[m.Group]; known {
			continue
		}
		said, err := cells.Members(ctx, m.Group)
		if err != nil {
			return nil, err
		}
		all[m.Group] = said
	}
	return all, nil
}

// memberLists are a run's members of each group.
type memberLists struct {
	mu     sync.Mutex
	groups map[string][]int
}

func (m *memberLists) of(group string) (list []int, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, known = m.groups[group]
	return list, known
}

// keep keeps the first list of a group.
func (m *memberLists) keep(group string, list []int) []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, known := m.groups[group]; known {
		return first
	}
	if m.groups == nil {
		m.groups = map[string][]int{}
	}
	m.groups[group] = list
	return list
}

// has reports whether a followed cell's member is in the run's list.
func (m *memberLists) has(f *contract.Follow) bool {
	if f.Member == nil {
		return true
	}
	list, _ := m.of(f.Member.Group)
	return slices.Contains(list, f.Member.Number)
}

// Joined returns the run's members of a group (hot.Joiner).
func (r *resolver) Joined(group string, count, possible int) ([]int, error) {
	l := r.life
	if list, known := l.members.of(group); known {
		return list, nil
	}
	w := l.look(group)
	w.resolver = r
	if l.task != nil {
		return w.decideNow(r.ctx)
	}
	if count > possible {
		return nil, fmt.Errorf("the group %s has %d members, but was compiled for at most %d", group, count, possible)
	}
	now, err := w.wait(r.ctx, count, r.in.AtLeast)
	if err != nil {
		return nil, err
	}
	return w.decide(now)
}

// pinMembers decides, for a run that is for a change or requested by an operator, the
// members of the groups that its role follows.
func (l *life) pinMembers() error {
	for _, f := range l.follows {
		if f.Member == nil {
			continue
		}
		if _, known := l.members.of(f.Member.Group); known {
			continue
		}
		if _, err := l.look(f.Member.Group).decideNow(l.ctx); err != nil {
			return err
		}
	}
	return nil
}

// groupWait is the wait for a group's initial members.
type groupWait struct {
	life     *life
	resolver *resolver // the waiting one
	group    string
	follows  []contract.Follow
	news     chan struct{}

	mu    sync.Mutex
	known map[contract.CellName]protocol.CellRecord // the non-empty ones
	lost  map[int]contract.CellName                 // awaited in vain of members whose agent came and went

	awaited contract.CellName // the awaited cell
	stop    context.CancelFunc
	done    chan error
}

func (l *life) look(group string) *groupWait {
	w := &groupWait{life: l, group: group, known: map[contract.CellName]protocol.CellRecord{},
		lost: map[int]contract.CellName{}, news: make(chan struct{}, 1)}
	for _, f := range l.follows {
		if f.Member != nil && f.Member.Group == group {
			w.follows = append(w.follows, f)
		}
	}
	return w
}

func (w *groupWait) wake() { store.Wake(w.news) }

// lookAnew reads the cells of all members, whatever is known of them.
func (w *groupWait) lookAnew(ctx context.Context) (reconcile.Cells, error) {
	w.mu.Lock()
	clear(w.known)
	w.mu.Unlock()
	return w.look(ctx, w.follows)
}

// decideNow decides the members of a run that waits for none.
func (w *groupWait) decideNow(ctx context.Context) ([]int, error) {
	if w.life.task.Pins != nil {
		return w.decide(w.life.cells.record)
	}
	now, err := w.lookAnew(ctx)
	if err != nil {
		return nil, err
	}
	return w.decide(now)
}

// decide makes the members by these records the run's.
func (w *groupWait) decide(now reconcile.Cells) ([]int, error) {
	if w.resolver == nil || w.resolver.in.AtLeast == 0 {
		for _, f := range w.follows {
			if now(f.Cell).State == protocol.Unknown {
				return nil, fmt.Errorf("the members of the group %s: %s is hidden by an older record", w.group, f.Cell)
			}
		}
	}
	list := []int{}
	for number, in := range reconcile.Groups(w.follows, now)[w.group].In {
		if in {
			list = append(list, number)
		}
	}
	slices.Sort(list)
	list = w.life.members.keep(w.group, list)
	for _, f := range w.follows {
		if r := now(f.Cell); r.State == protocol.Valued && slices.Contains(list, f.Member.Number) {
			w.life.cells.put(f.Cell, r)
		}
	}
	return list, nil
}

// look reads cells of members.
func (w *groupWait) look(ctx context.Context, follows []contract.Follow) (reconcile.Cells, error) {
	cells := w.life.host.Cells
	groups, err := MembersOf(ctx, cells, follows)
	if err != nil {
		return nil, err
	}
	all := map[contract.CellName]protocol.CellRecord{}
	for _, f := range follows {
		w.mu.Lock()
		r, known := w.known[f.Cell]
		w.mu.Unlock()
		if !known {
			r, err = cells.Cell(ctx, f.Cell)
			switch {
			case stopsAgent(err), ctx.Err() != nil:
				return nil, errors.Join(context.Cause(ctx), err)
			case saysGone(err):
				r = protocol.CellRecord{State: protocol.Gone}
			case err != nil:
				return nil, err // nothing says that the member is not there
			case r.State != protocol.Empty && r.State != protocol.Unknown:
				w.mu.Lock()
				w.known[f.Cell] = r
				w.mu.Unlock()
			}
		}
		all[f.Cell] = r
	}
	return reconcile.Followed(follows, groups, func(c contract.CellName) protocol.CellRecord { return all[c] }), nil
}

// saysGone reports whether an error of reading a member's cell is about the member: its writer has
// written nonsense, or it is no longer in the plan.
func saysGone(err error) bool {
	for _, not := range []error{protocol.ErrForged, store.ErrNotFound, store.ErrRefused} {
		if errors.Is(err, not) {
			return false
		}
	}
	_, nonsense := errors.AsType[*protocol.RecordError](err)
	_, left := errors.AsType[*member.FailedCellError](err)
	return nonsense || left || errors.Is(err, member.ErrNotInPlan)
}

// wait waits until count members have an outcome, or at least least are in the group, and returns
// the records that say so.
func (w *groupWait) wait(ctx context.Context, count, least int) (reconcile.Cells, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer w.leave()
	cells, follows := w.life.host.Cells, w.follows
	if least == 0 { // members beyond that number are not awaited
		follows = slices.DeleteFunc(slices.Clone(follows), func(f contract.Follow) bool { return f.Member.Number >= count })
	}
	began := false
	for {
		now, err := w.look(ctx, follows)
		if err != nil {
			return nil, err
		}
		open := w.open(follows, now, count, least)
		if open == nil { // by what may have changed since it was read
			w.findAgain(ctx)
			if now, err = w.lookAnew(ctx); err == nil {
				open = w.open(w.follows, now, count, least)
			}
		}
		if err != nil {
			return nil, err
		}
		if open == nil {
			w.resolver.last = ""
			return now, nil
		}
		if !began {
			began = true
			if err := cells.FollowMembers(ctx, w.group, w.wake); err != nil {
				return nil, err
			}
			for _, f := range follows {
				if least == 0 {
					break
				}
				err := cells.Follow(ctx, f.Cell, func() { w.forget(f.Cell) })
				if _, left := errors.AsType[*member.FailedCellError](err); err != nil && !left { // which was removed from the plan
					return nil, err
				}
			}
		}
		if err := w.await(ctx, open); err != nil {
			return nil, err
		}
	}
}

// findAgain makes members awaited again whose agent has come back.
func (w *groupWait) findAgain(ctx context.Context) {
	maps.DeleteFunc(w.lost, func(_ int, cell contract.CellName) bool {
		away, err := w.life.host.Cells.Away(ctx, cell)
		return err == nil && !away
	})
}

func (w *groupWait) forget(cell contract.CellName) {
	w.mu.Lock()
	delete(w.known, cell)
	w.mu.Unlock()
	w.wake()
}

// open is a cell that is still awaited; nil if none is.
func (w *groupWait) open(follows []contract.Follow, now reconcile.Cells, count, least int) *contract.Follow {
	g := reconcile.Groups(follows, now)[w.group]
	in := 0
	for _, is := range g.In {
		if is {
			in++
		}
	}
	if least > 0 && in >= least {
		return nil
	}
	for i := range follows {
		m := follows[i].Member
		if m.Number < count && !g.Out[m.Number] && w.lost[m.Number] == "" {
			if is := now(follows[i].Cell).State; is == protocol.Empty || is == protocol.Unknown {
				return &follows[i]
			}
		}
	}
	return nil
}

// await waits for a member's cell, or for news of the group. The wait for one cell continues
// while it is awaited: restarting it may wake others that watch the same.
func (w *groupWait) await(ctx context.Context, f *contract.Follow) error {
	if w.awaited != f.Cell {
		w.leave()
		one, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		w.awaited, w.stop, w.done, w.resolver.last = f.Cell, stop, done, f.Cell
		mistake.Go(func() {
			_, err := w.resolver.awaitCell(one, f.Cell)
			done <- err
		})
	}
	select {
	case <-w.news:
	case err := <-w.done:
		w.done <- nil
		w.leave()
		var lost *member.LostProducerError
		switch {
		case ctx.Err() != nil:
		case stopsAgent(err):
			return err
		case errors.As(err, &lost):
			w.lost[f.Member.Number] = f.Cell
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// leave ends the wait for a cell.
func (w *groupWait) leave() {
	if w.stop != nil {
		w.stop()
		<-w.done
	}
	w.awaited, w.stop = "", nil
}
