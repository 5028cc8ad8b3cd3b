// Package member is the agent's side of a deployment in a coordinator: it becomes the server's
// incarnation, reads and writes cells, and reports.
package member

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// What an agent decides on.
var (
	// ErrNotInPlan says that the deployment exists, but has no such server or cell, or none that
	// this server may use.
	ErrNotInPlan = errors.New("not in the plan")
	// ErrDestroyed says that the deployment was or is being destroyed.
	ErrDestroyed = errors.New("the deployment has been destroyed")
	// ErrPlanChanged says that the server's part of the plan has changed since it was read: read it
	// again (PlanAgain).
	ErrPlanChanged = errors.New("the plan has changed")
)

// Member is a server's agent in its deployment. Its methods may be called concurrently. An agent
// calls AwaitDeployment, Plan and Enrol, in this order. The Session that Enrol returns announces
// the server, writes and reports.
type Member struct {
	store      store.Session
	deployment protocol.Deployment
	server     contract.ServerPath
	token      string
	memory     Memory

	mu     sync.Mutex
	places map[contract.CellName]contract.CellRef // of the cells that this server may read
	own    map[contract.CellName]bool             // the cells this server writes
	empty  map[contract.CellName]store.Version    // those of them that are assumed to be empty
	fence  *fence
	state  *store.Version             // of the state's node, if known
	left   map[contract.CellName]bool // cells that were removed
	plans  plans

	planning chan struct{} // full while the plan is read
	learning sync.Mutex

	pinned   *protocol.Identity // as the machine remembers it
	knows    atomic.Pointer[knowledge]
	scope    string // the id of the deployment in which the following were seen: see Remembered
	counters map[string]int64
	seen     map[contract.CellName]protocol.Count
	older    map[string]int64                  // of the counters, those whose record is older now
	groups   map[string]protocol.MembersRecord // the last valid records of relays

	tried   int // see RememberTries
	noteTry func(number int) error

	machine Machine
	self    *store.Credential                // the machine's identity, once the session has it
	asks    bool                             // another machine has used its token: it waits for approval
	member  atomic.Pointer[store.Credential] // the server's identity, where tokens are valid for one enrolment

	claim *Claim // of a slot, in a scaling group
	slot  int

	say       func(what string) // see OnLoss
	enrolment atomic.Pointer[enrolment]
	ended     atomic.Int64  // sessions that every server has refused, when the machine became the server
	returning chan struct{} // full while the machine becomes it again
	returns   atomic.Int64  // how often it has

	reporting chan struct{} // full while a report is under way
	sealing   sealing
}

// Join returns the member of a deployment for a server. The store was opened with the server's own
// credential (ServerCredential), which is derived from its token.
func Join(s store.Session, d protocol.Deployment, server contract.ServerPath, token string) *Member {
	s.Among(d.Servers())
	m := &Member{
		deployment: d, server: server, token: token, memory: newMemory{},
		places: map[contract.CellName]contract.CellRef{},
		own:    map[contract.CellName]bool{},
		empty:  map[contract.CellName]store.Version{},
		left:   map[contract.CellName]bool{},
		plans:  plans{news: make(chan struct{})},

		planning:  make(chan struct{}, 1),
		reporting: make(chan struct{}, 1),
		returning: make(chan struct{}, 1),
	}
	m.store = &lasting{s, m}
	m.sealing = newSealing(sync.OnceValues(func() (seal.Key, error) { return protocol.TokenKey(token) }))
	return m
}

// AwaitDeployment waits until the deployment is applied and this machine admitted. It calls waiting
// with the reason to wait, when that changes. ErrNotInPlan says that the deployment has no such
// server, ErrRefused that the token is not valid for it.
func (m *Member) AwaitDeployment(ctx context.Context, waiting func(why string)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := m.store.Watch(ctx, m.deployment.Ready())
	if err != nil {
		return fmt.Errorf("wait for the deployment %s: %w", m.deployment, err)
	}
	var admissions <-chan struct{} // watched once this machine waits for approval
	said := ""
	for open := true; open; {
		why, err := m.whyNotReady(ctx)
		if err != nil || why == "" {
			return err
		}
		if why != said && waiting != nil {
			waiting(why)
		}
		said = why
		if m.asks && admissions == nil {
			if admissions, err = m.store.Watch(ctx, m.deployment.Admission(m.server)); err != nil {
				return fmt.Errorf("wait for the deployment %s: %w", m.deployment, err)
			}
		}
		again := time.NewTimer(lookAgain)
		select {
		case _, open = <-changes:
		case _, open = <-admissions:
		case <-again.C: // rights have no watch
		}
		again.Stop()
	}
	return fmt.Errorf("wait for the deployment %s: %w", m.deployment, store.WatchEnded(ctx))
}

// lookAgain is how often a machine that waits for its deployment or approval tries again.
const lookAgain = 30 * time.Second

// whyNotReady is "" when the deployment is ready and this server admitted. A plan that is missing,
// or refused, may be that of a deployment that is being destroyed, or was applied again between two
// reads: a second attempt sees that the rest is missing too, or all of the new one.
func (m *Member) whyNotReady(ctx context.Context) (why string, err error) {
	for range 2 {
		why, err = m.lookReady(ctx)
		var format *protocol.FormatError
		if !errors.Is(err, ErrNotInPlan) && !errors.Is(err, ErrDestroyed) && !errors.Is(err, store.ErrRefused) && !errors.As(err, &format) {
			break
		}
	}
	return why, err
}

// whyIncomplete is "" when a deployment is complete.
func whyIncomplete(ctx context.Context, s store.Session, d protocol.Deployment) (why string, err error) {
	for _, n := range []struct {
		path store.Path
		why  string
	}{
		{d.Root(), "the deployment %s is not applied yet"},
		{d.Ready(), "the deployment %s is being applied"},
	} {
		_, exists, err := s.Stat(ctx, n.path)
		if err != nil {
			return "", fmt.Errorf("wait for the deployment %s: %w", d, err)
		}
		if !exists {
			return fmt.Sprintf(n.why, d), nil
		}
	}
	return "", nil
}

func (m *Member) lookReady(ctx context.Context) (string, error) {
	if why, err := whyIncomplete(ctx, m.store, m.deployment); why != "" || err != nil {
		return why, err
	}
	if err := m.identify(ctx); err != nil {
		return "", err
	}
	var used *protocol.TokenUsedError
	switch err := m.enter(ctx); {
	case errors.As(err, &used):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("join the deployment %s: %w", m.deployment, err)
	}
	_, err := m.store.Read(ctx, m.deployment.ServerPlan(m.server))
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrRefused) {
		m.member.Store(nil) // the deployment may have been applied again since
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", fmt.Errorf("server %s of deployment %s: %w", m.server, m.deployment, ErrNotInPlan)
	case errors.Is(err, store.ErrRefused):
		return "", fmt.Errorf("the token of server %s is not valid for deployment %s: %w", m.server, m.deployment, err)
	case err != nil:
		return "", fmt.Errorf("wait for the deployment %s: %w", m.deployment, err)
	}
	return "", nil
}

// Plan reads the server's part of the plan, and gives the session the identities of the server's
// reader sets.
func (m *Member) Plan(ctx context.Context) (*contract.Server, error) {
	s, version, err := m.readPlan(ctx)
	// The deployment may have been lost and restored since the machine was admitted: then its password
	// is refused, once. It may have been destroyed, and applied again.
	again := errors.Is(err, store.ErrRefused) && m.member.Swap(nil) != nil
	for again || errors.Is(err, ErrDestroyed) && !errors.As(err, new(*RemovedError)) {
		again = false
		if err = m.AwaitDeployment(ctx, nil); err == nil {
			s, version, err = m.readPlan(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plans.read = version
	return s, nil
}

// readPlan reads the plan, and learns its cells and keys.
func (m *Member) readPlan(ctx context.Context) (*contract.Server, store.Version, error) {
	if ctx.Value(rejoining{}) == nil { // otherwise a reader of the plan may wait for this
		select {
		case m.planning <- struct{}{}:
			defer func() { <-m.planning }()
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
	if err := m.meet(ctx); err != nil {
		return nil, 0, err
	}
	text, version, err := protocol.ReadParts(ctx, m.store, m.deployment.ServerPlan(m.server))
	if err != nil {
		return nil, 0, fmt.Errorf("read the plan of server %s: %w", m.server, err)
	}
	text, counter, err := m.open(protocol.KindPlan, "", "the plan of server "+string(m.server), text)
	if err != nil {
		return nil, 0, m.explainForged(ctx, err)
	}
	s := contract.Server{Change: counter}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, 0, fmt.Errorf("read the plan of server %s: %w", m.server, err)
	}
	if err := m.deriveKey(&s); err != nil {
		return nil, 0, err
	}
	if err := m.notOlder(ctx, protocol.KindPlan, counter); err != nil {
		return nil, 0, fmt.Errorf("the plan of server %s: %w", m.server, err)
	}
	if err := m.joinSets(ctx); err != nil {
		return nil, 0, m.explainForged(ctx, err)
	}
	return &s, version, m.take(&s, version)
}

// CheckPlan returns ErrPlanChanged if the plan is not the one that was last read.
func (m *Member) CheckPlan(ctx context.Context) error {
	version, exists, err := m.store.Stat(ctx, m.deployment.ServerPlan(m.server))
	switch {
	case err == nil && !exists:
		err = cmp.Or(m.stands(ctx), error(store.ErrNotFound))
	case err == nil && version != m.knownPlans().read:
		err = ErrPlanChanged
	}
	if err != nil {
		return fmt.Errorf("check the plan of server %s: %w", m.server, err)
	}
	return nil
}

func (m *Member) joinSets(ctx context.Context) error {
	path := m.deployment.Keys(m.server)
	text, _, err := protocol.ReadParts(ctx, m.store, path)
	if err != nil {
		return fmt.Errorf("read the keys of server %s: %w", m.server, err)
	}
	if len(text) > 0 && string(text) != "{}" {
		what, counter := "the keys of server "+string(m.server), int64(0)
		if text, counter, err = m.open(protocol.KindKeys, "", what, text); err != nil {
			return err
		}
		if err := m.notOlder(ctx, protocol.KindKeys, counter); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	keys, err := protocol.Decode[protocol.KeysRecord](path, text)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(keys.Sets)) {
		if err := m.store.Authenticate(ctx, protocol.ReaderCredential(id, keys.Sets[id])); err != nil {
			return fmt.Errorf("use the keys of server %s: %w", m.server, err)
		}
	}
	return nil
}

// File reads a file of the server's roles and checks its digest.
func (m *Member) File(ctx context.Context, digest string) ([]byte, error) {
	content, _, err := protocol.ReadParts(ctx, m.store, m.deployment.File(digest))
	if err != nil {
		return nil, fmt.Errorf("read the file %s: %w", digest, err)
	}
	if !protocol.HasDigest(content, digest) {
		return nil, protocol.Forged("the file "+digest, "the deployment's operator", errors.New("its SHA-256 differs"))
	}
	return content, nil
}

// place is the location of a cell of the plan.
func (m *Member) place(cell contract.CellName) (contract.CellRef, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ref, known := m.places[cell]
	if !known {
		if err := m.leftOf(cell); err != nil {
			return contract.CellRef{}, err
		}
		return contract.CellRef{}, fmt.Errorf("%s: %w", cell, ErrNotInPlan)
	}
	return ref, nil
}

// Cell reads a cell. A sealed one is Empty to this server as long as it cannot open it.
func (m *Member) Cell(ctx context.Context, cell contract.CellName) (protocol.CellRecord, error) {
	ref, err := m.place(cell)
	if err != nil {
		return protocol.CellRecord{}, err
	}
	record, _, err := m.readCell(ctx, ref)
	if err != nil {
		return protocol.CellRecord{}, err
	}
	return m.opened(ctx, ref, record)
}

// readCell also returns the version of a cell that cannot be read.
func (m *Member) readCell(ctx context.Context, ref contract.CellRef) (protocol.CellRecord, store.Version, error) {
	path := m.deployment.Cell(ref)
	var version store.Version
	record, err := lasts(ctx, m, func() (none protocol.CellRecord, err error) {
		node, err := m.store.Read(ctx, path)
		version = node.Version
		if err != nil {
			return none, fmt.Errorf("read %s: %w", ref.Cell, m.missed(ctx, ref.Cell, m.goneOf(ctx, ref.Server, "the cell "+string(ref.Cell), err)))
		}
		record, err := protocol.OpenCell(path, node.Data, m.keyOf(ref.Server), m.deployment.CellPlace(m.known().identity.ID, ref))
		switch {
		case errors.Is(err, protocol.ErrForged):
			return none, m.explainForged(ctx, err)
		case err != nil:
			return none, protocol.NewCellError(ref, err)
		case ref.Server == m.server:
			return record, nil
		}
		fresh, err := m.unseen(ctx, ref, record)
		if !fresh {
			record = protocol.CellRecord{State: protocol.Unknown} // until the newer one is served again
		}
		return record, err
	})
	return record, version, err
}
