package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A server's part of the plan may change while its agent runs: cells are added and removed. A
// member learns the location and the readers of cells at once, since a role would wait forever for
// a removed one. It learns changes of its roles between roles (PlanAgain).

// RemovedError says that an operator has removed the server from the deployment.
type RemovedError struct {
	Server     contract.ServerPath
	Deployment protocol.Deployment
	Since      time.Time
}

func (e *RemovedError) Error() string {
	return fmt.Sprintf("server %s was removed from the deployment %s by its operator at %s", e.Server, e.Deployment, e.Since.UTC().Format(time.RFC3339))
}

// Is makes it an ErrDestroyed: for this server nothing is left of the deployment.
func (e *RemovedError) Is(target error) bool { return target == ErrDestroyed }

// Removed returns a *RemovedError if the server was removed from the deployment.
func (m *Member) Removed(ctx context.Context) error {
	_, _, err := m.readIdentity(context.WithValue(ctx, rejoining{}, true))
	if removed, is := errors.AsType[*RemovedError](err); is {
		return removed
	}
	return nil
}

// PlanAgain reads the server's part of the plan after a change. The server waits for one that is no older than it has
// followed.
func (m *Member) PlanAgain(ctx context.Context) (*contract.Server, error) {
	var version store.Version
	read := func() (s *contract.Server, err error) {
		s, version, err = m.readPlan(ctx)
		return s, err
	}
	s, err := lasts(ctx, m, read)
	for errors.Is(err, ErrOlder) && m.enrolment.Load() != nil {
		if err = m.awaitBack(ctx); err == nil {
			s, err = lasts(ctx, m, read)
		}
	}
	if err != nil {
		return nil, m.gone(ctx, err)
	}
	m.mu.Lock()
	m.plans.read = version
	m.mu.Unlock()
	return s, m.showNewKey(ctx)
}

// LearnAhead learns the cells that a change of the plan has added and removed, while a role may
// run. The role's plan stays as it was read: ReportStart still returns ErrPlanChanged.
func (m *Member) LearnAhead(ctx context.Context) error {
	if news, err := m.learnPlan(ctx); err != nil || !news {
		return err
	}
	return m.showNewKey(ctx)
}

// learnPlan is LearnAhead of a machine that may not be the server yet. news says that the plan has changed.
func (m *Member) learnPlan(ctx context.Context) (news bool, err error) {
	version, exists, err := m.store.Stat(ctx, m.deployment.ServerPlan(m.server))
	if err != nil || !exists || version == m.knownPlans().learnt {
		return false, err
	}
	_, _, err = m.readPlan(ctx)
	return true, err
}

// plans are what is known of the server's part of the plan.
type plans struct {
	read   store.Version // version of its node when it was last read
	learnt store.Version // version from which its cells are known
	news   chan struct{} // closed when the known cells change
}

// unread is a version that no node has: the part of the plan that was last read is of a state that the
// coordinator has lost. The one that is there may have the same version, and its numbers are of
// another deployment.
const unread store.Version = -2

// forgetPlan makes the next CheckPlan return ErrPlanChanged.
func (m *Member) forgetPlan() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plans.read = unread
}

// LostPlan reports whether the plan that was last read is of a state that the coordinator has lost.
func (m *Member) LostPlan() bool { return m.knownPlans().read == unread }

func (m *Member) knownPlans() plans {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plans
}

// take learns the cells of a part of the plan.
func (m *Member) take(s *contract.Server, version store.Version) error {
	if m.sealing.needs(s) && m.sealing.ownKey() == (seal.Key{}) && m.machine.Key != nil {
		key, err := m.machine.Key()
		if err != nil {
			return err
		}
		m.UseKey(key)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.places
	m.places, m.own = map[contract.CellName]contract.CellRef{}, map[contract.CellName]bool{}
	for _, r := range s.Reads {
		m.places[r.Cell] = r
	}
	for _, c := range s.Writes {
		m.places[c] = contract.CellRef{Cell: c, Server: m.server}
		m.own[c] = true
	}
	for _, c := range s.Seals {
		m.places[c.Cell] = contract.CellRef{Cell: c.Cell, Server: m.server, Sealed: true}
	}
	for cell := range before {
		if _, stays := m.places[cell]; !stays {
			m.left[cell] = true
			delete(m.empty, cell)
		}
	}
	for cell := range m.places {
		delete(m.left, cell)
	}
	m.sealing.learn(s)
	m.plans.learnt = version
	close(m.plans.news)
	m.plans.news = make(chan struct{})
	return nil
}

// showNewKey publishes the server's public key, if the plan did not need one before.
func (m *Member) showNewKey(ctx context.Context) error {
	if m.enrolment.Load() == nil {
		return nil
	}
	return m.showKey(ctx)
}

// leftOf is why a cell that was in the server's part of the plan can no longer be read; nil if it
// never was.
func (m *Member) leftOf(cell contract.CellName) error {
	if !m.left[cell] {
		return nil
	}
	return &FailedCellError{cell, &protocol.Cause{Reason: "server " + string(m.server) + " no longer reads it: the plan has changed"}}
}

// hasLeft reports whether a cell was removed from the plan since the server's cells were listed.
func (m *Member) hasLeft(cell contract.CellName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left[cell]
}

// commit commits writes that were computed for a version of the plan. If a node is missing because
// the plan has changed it returns ErrVersion: they have to be computed again.
func (m *Member) commit(ctx context.Context, learnt store.Version, ops ...store.Op) error {
	err := m.store.Commit(ctx, ops...)
	if errors.Is(err, store.ErrNotFound) && m.LearnAhead(ctx) == nil && m.knownPlans().learnt != learnt {
		return fmt.Errorf("the plan has changed: %w", store.ErrVersion)
	}
	return err
}

// missed explains the error if a cell was removed from the plan.
func (m *Member) missed(ctx context.Context, cell contract.CellName, err error) error {
	if !errors.Is(err, errMissing) || m.LearnAhead(ctx) != nil {
		return err
	}
	if _, left := m.place(cell); left != nil {
		return left
	}
	return err
}
