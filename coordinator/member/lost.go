package member

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A coordinator can lose its data, or be restored to an older state. A machine that was the server
// before waits until its deployment is there again, signed by the same operator, becomes the server
// again, with its old number, and republishes its values from its disk. Reads and writes wait
// meanwhile.

// keep stores what the server has published. A full disk does not fail the role: the value then
// cannot be republished, which is reported.
func (m *Member) keep(cell contract.CellName, r protocol.CellRecord) {
	if err := m.memory.Keep(cell, r); err != nil {
		m.tell(fmt.Sprintf("%s cannot be republished if the coordinator loses it: %v", cell, err))
	}
}

// keepFound stores a record of this machine that the coordinator has, if the disk has another: this
// is the one that its readers have seen.
func (m *Member) keepFound(cell contract.CellName, r protocol.CellRecord) {
	kept, err := m.memory.Kept()
	if k := kept[cell]; err == nil && r.State != protocol.Empty && (k.State != r.State || k.At() != r.At() || !protocol.SameValue(k.Value, r.Value)) {
		m.keep(cell, r)
	}
}

// OnLoss sets the function that reports a loss of the deployment, and what the member waits for.
func (m *Member) OnLoss(say func(what string)) { m.say = say }

// enrolment is how this machine became the server.
type enrolment struct {
	id, instance string
	now          time.Time
}

// lasting is a store whose deployment may be lost and come back.
type lasting struct {
	store.Session
	m *Member
}

type rejoining struct{}

// lasts repeats a read if the deployment was restored meanwhile: a record signed for the new one is
// not a forgery, and a missing or refused one does not mean that the deployment was destroyed.
func lasts[T any](ctx context.Context, m *Member, read func() (T, error)) (T, error) {
	for {
		since := m.returns.Load()
		found, err := read()
		switch back, lost := m.comeBack(ctx, since, err); {
		case lost != nil:
			return found, notBack(lost, err)
		case !back:
			return found, err
		}
	}
}

// notBack is why the machine cannot become the server again, after an error that was a sign of the
// loss. It is not that error: a version that differs in what was restored says nothing of this
// machine.
func notBack(lost, sign error) error { return fmt.Errorf("%w (after: %v)", lost, sign) }

func (s *lasting) Read(ctx context.Context, path store.Path) (store.Node, error) {
	return lasts(ctx, s.m, func() (store.Node, error) { return s.Session.Read(ctx, path) })
}

// Commit implements Store. After a loss, a commit prepared before is out of date.
func (s *lasting) Commit(ctx context.Context, ops ...store.Op) error {
	since := s.m.returns.Load()
	err := s.Session.Commit(ctx, ops...)
	back, lost := s.m.comeBack(ctx, since, err)
	switch {
	case lost != nil:
		return notBack(lost, err)
	case back:
		return fmt.Errorf("the deployment was restored: %w", store.ErrVersion)
	}
	return err
}

// Announce implements Store. The loss may come between enrolling and announcing.
func (s *lasting) Announce(ctx context.Context, path store.Path, data []byte) error {
	_, err := lasts(ctx, s.m, func() (struct{}, error) { return struct{}{}, s.Session.Announce(ctx, path, data) })
	return err
}

// Stat implements Store. If a node that always exists does not, that is a sign of a loss.
func (s *lasting) Stat(ctx context.Context, path store.Path) (store.Version, bool, error) {
	for {
		since := s.m.returns.Load()
		version, exists, err := s.Session.Stat(ctx, path)
		if err != nil || exists || path != s.m.deployment.ServerPlan(s.m.server) && path != s.m.deployment.State(s.m.server) {
			return version, exists, err
		}
		if back, lost := s.m.comeBack(ctx, since, store.ErrNotFound); lost != nil || !back {
			return version, exists, lost
		}
	}
}

// signsOfLoss are errors that may mean that the coordinator's state is not the one that this machine has seen.
var signsOfLoss = []error{store.ErrNotFound, store.ErrVersion, store.ErrRefused, protocol.ErrForged}

// comeBack waits, if the coordinator has lost the deployment, as an error or an ended session means,
// until the machine is its server again: an older state may have all that an operation needs. since is
// m.returns when the operation began: another goroutine may have come back meanwhile.
func (m *Member) comeBack(ctx context.Context, since int64, err error) (back bool, lost error) {
	isSign := slices.ContainsFunc(signsOfLoss, func(sign error) bool { return errors.Is(err, sign) })
	if !isSign && m.sessionsEnded() <= m.ended.Load() || m.enrolment.Load() == nil || ctx.Value(rejoining{}) != nil {
		return false, nil
	}
	select {
	case m.returning <- struct{}{}:
		defer func() { <-m.returning }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if m.returns.Load() != since {
		return true, nil
	}
	if !m.hasLost(ctx, err) {
		return false, nil
	}
	return true, m.rejoin(context.WithValue(ctx, rejoining{}, true))
}

// hasLost reports whether the coordinator has less than this machine has seen there. A destroyed
// deployment leaves the root in place.
func (m *Member) hasLost(ctx context.Context, err error) bool {
	if m.sessionsEnded() > m.ended.Load() {
		return true
	}
	if errors.Is(err, store.ErrNotFound) {
		if _, stands, statErr := m.store.Stat(ctx, ""); statErr == nil && !stands {
			return true
		}
	}
	// It may have been restored before any session was refused.
	now, look := m.newestIdentity(context.WithValue(ctx, rejoining{}, true))
	return look == nil && now.Restored && now.ID != m.known().identity.ID
}

// sessionsEnded counts the sessions that every server refused.
func (m *Member) sessionsEnded() int64 {
	now, _ := m.store.Connection()
	return int64(now.Ended)
}

// rejoin makes the machine the server again. While its disk is full it waits: at rest nothing else
// would try again.
func (m *Member) rejoin(ctx context.Context) error {
	m.tell("the coordinator has lost its data, or was restored to an older state: roles continue, but their reads and publications wait until the deployment is there again")
	for {
		ended := m.sessionsEnded()
		err := m.tryToRejoin(ctx)
		if errors.Is(err, ErrDestroyed) && m.sessionsEnded() > ended {
			continue // it has lost data again meanwhile
		}
		if !errors.Is(err, ErrForgets) {
			return err
		}
		m.tell(fmt.Sprintf("%v; trying again in %v", err, lookAgain))
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (m *Member) tryToRejoin(ctx context.Context) error {
	ended := m.sessionsEnded()
	before := m.known().identity
	was := m.enrolment.Load()
	s, err := (*Session)(nil), error(ErrAnew)
	for errors.Is(err, ErrAnew) {
		if err := m.awaitBack(ctx); err != nil {
			return err
		}
		if m.known().strange {
			return fmt.Errorf("another deployment of the same name has replaced it: %w", ErrDestroyed)
		}
		s, err = m.Enrol(ctx, was.id, was.instance, true, was.now)
	}
	if err != nil {
		return err
	}
	if err := s.Republish(ctx, s.Incarnation.Number); err != nil {
		return err
	}
	m.forgetPlan()
	m.ended.Store(ended)
	m.returns.Add(1)
	if m.known().identity.ID == before.ID {
		m.tell("the same deployment is there again, in an earlier state: what this server had published since is republished")
	} else {
		m.tell("the operator has restored the deployment: what this server had published is republished")
	}
	return nil
}

// awaitBack waits until the deployment is there, with a plan no older than this machine has
// followed.
func (m *Member) awaitBack(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := m.store.Watch(ctx, m.deployment.ServerPlan(m.server))
	if err != nil {
		return err
	}
	for said := false; ; said = true {
		err := m.AwaitDeployment(ctx, func(why string) {
			if !m.asks { // for approval
				why += `; "hotc apply --restore" of the same folder restores it`
			}
			m.tell(why)
		})
		if err == nil {
			_, _, err = m.readPlan(ctx)
		}
		if !errors.Is(err, ErrOlder) {
			return err
		}
		if !said {
			m.tell(olderStands)
		}
		m.leaveWord(ctx, olderStands) // again, where the coordinator has lost it, too
		select {
		case <-changes:
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

const olderStands = `the coordinator has an older state of the deployment, from before its plan was changed: "hotc apply" of the newest folder brings it up to date`

// leaveWord writes into the server's state which records are older than this machine has seen, for
// who writes them next, and what its agent waits for, for `hotc status`. If that fails, the console
// has it.
func (m *Member) leaveWord(ctx context.Context, waits string) {
	ctx = context.WithValue(ctx, rejoining{}, true)
	if _, ready, err := m.store.Stat(ctx, m.deployment.Ready()); err != nil || !ready {
		return // who applies it still creates its nodes
	}
	path := m.deployment.State(m.server)
	node, err := m.store.Read(ctx, path)
	if err != nil || m.known().key.Public() == "" {
		return
	}
	state, _, err := protocol.OpenIfAny[protocol.ServerState](path, node.Data, m.known().key.Public(), m.ownPlace(protocol.KindState))
	if err != nil {
		return
	}
	if state.Phase == "" { // no state was reported yet
		f, _ := m.enrolled()
		state = protocol.ServerState{Incarnation: f.record.Number, Phase: protocol.PhaseWaiting, Since: time.Now().UTC()}
	}
	state.Message = cmp.Or(waits, state.Message)
	if data, err := m.encodeState(state); err == nil && !bytes.Equal(data, node.Data) {
		_ = m.store.Commit(ctx, store.Op{Path: path, Version: node.Version, Write: true, Data: data})
	}
}

func (m *Member) tell(what string) {
	if m.say != nil {
		m.say(what)
	}
}

// Republish publishes again what the machine has published in its incarnation, or in its previous
// one, where the cells are empty: the coordinator had an older state, or none; or another machine
// has been the server in between.
func (m *Session) Republish(ctx context.Context, before int) error {
	f, err := m.enrolled()
	if err != nil {
		return err
	}
	kept, err := m.memory.Kept()
	if err != nil {
		return err
	}
	for _, cell := range slices.Sorted(maps.Keys(kept)) {
		record := kept[cell]
		m.mu.Lock()
		version, empty := m.empty[cell]
		own := m.own[cell] // otherwise it was removed from the plan
		m.mu.Unlock()
		if !own || record.State == protocol.Empty || record.Incarnation != f.record.Number && record.Incarnation != before {
			continue
		}
		again := record.Incarnation != f.record.Number // after another machine
		if again {
			record = m.anew(record, f.record.Number)
			m.keep(cell, record)
		}
		if err := m.republish(ctx, cell, record, version, empty); err != nil {
			return fmt.Errorf("publish %s again: %w", cell, err)
		}
	}
	return nil
}

// republish publishes a record again, unless the cell has what is at least as new. empty says that it
// has nothing, at a version.
func (m *Member) republish(ctx context.Context, cell contract.CellName, record protocol.CellRecord, version store.Version, empty bool) error {
	ref := contract.CellRef{Cell: cell, Server: m.server}
	for ; ; empty = false {
		if !empty {
			there, at, err := m.readCell(ctx, ref)
			if err != nil {
				if m.hasLeft(cell) {
					err = nil
				}
				return err
			}
			unpublished := there.State == protocol.Empty && there.At() == record.At() // the agent was killed in between
			if !unpublished && !there.At().Less(record.At()) {
				return nil
			}
			version = at
		}
		f, err := m.enrolled()
		if err == nil {
			err = m.writeCell(ctx, f, ref, version, record)
		}
		if !errors.Is(err, store.ErrVersion) {
			return err
		}
		if err := m.checkFence(ctx); err != nil { // otherwise it was another write, perhaps of this machine's former agent
			return err
		}
	}
}

// anew is a record that the machine published as an earlier incarnation, with number, by its runs of then.
func (m *Member) anew(record protocol.CellRecord, number int) protocol.CellRecord {
	before, stamp := record.Incarnation, maps.Clone(record.Stamp)
	m.mu.Lock()
	defer m.mu.Unlock()
	for source, run := range stamp {
		if m.own[contract.CellName(source)] && run[0] == before {
			stamp[source] = protocol.Count{number, run[1]}
		}
	}
	record.Incarnation, record.Stamp = number, stamp
	return record
}
