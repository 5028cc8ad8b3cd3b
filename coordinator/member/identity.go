package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/sign"
)

// notOlder remembers a counter, unless a larger one was seen. ErrOlder, ErrForgets.
func (m *Member) notOlder(what string, counter int64) error {
	m.recall()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.remember(what, counter, nil)
}

// identify reads the identity record, and remembers it. ErrForged, ErrOlder,
// *FormatError, ErrNotInPlan, ErrRefused.
func (m *Member) identify(ctx context.Context) error {
	identity, counter, err := m.readIdentity(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	unknown, strange := identity, false
	if m.pinned != nil {
		strange = m.pinned.ID != identity.ID && !identity.Restored
		if m.pinned.ID == identity.ID || strange {
			unknown = nil
		}
	}
	if err := m.remember(coordinator.KindIdentity, counter, unknown); err != nil {
		return fmt.Errorf("the identity of the deployment %s: %w", m.deployment, err)
	}
	if !strange {
		m.pinned = identity
	}
	m.learn(func(k *knowledge) { k.identity, k.strange = identity, strange })
	return nil
}

// knowledge is the identity and the keys that a member knows. It is replaced as a whole.
type knowledge struct {
	identity *coordinator.Identity // as it was read
	strange  bool                  // of a deployment that the machine does not know
	key      sign.Key              // with which the server signs
	publics  map[contract.ServerPath]contract.PublicKey
}

func (m *Member) known() *knowledge {
	if k := m.knows.Load(); k != nil {
		return k
	}
	return &knowledge{}
}

// learn updates what is known.
func (m *Member) learn(what func(k *knowledge)) {
	m.learning.Lock()
	defer m.learning.Unlock()
	k := *m.known()
	what(&k)
	m.knows.Store(&k)
}

// pin remembers the deployment that the machine has joined.
func (m *Member) pin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pinned = m.known().identity
	m.learn(func(k *knowledge) { k.strange = false })
	if err := m.memory.Remember(Remembered{Identity: m.pinned}); err != nil {
		return fmt.Errorf("%w: %w", ErrForgets, err)
	}
	return nil
}

// readIdentity reads the identity record, authenticated by the server's token and, once the machine
// knows it, by the operator's key.
func (m *Member) readIdentity(ctx context.Context) (*coordinator.Identity, int64, error) {
	m.recall()
	node, err := m.store.Read(ctx, m.deployment.Identity(m.server))
	if errors.Is(err, coordinator.ErrNotFound) {
		_, known, statErr := m.store.Stat(ctx, m.deployment.Server(m.server))
		switch {
		case statErr != nil:
			err = statErr
		case known:
			err = fmt.Errorf("the deployment %s: %w", m.deployment, &coordinator.FormatError{})
		default:
			err = ErrNotInPlan
		}
	}
	if errors.Is(err, coordinator.ErrRefused) {
		return nil, 0, fmt.Errorf("the token of server %s is not valid for deployment %s: %w", m.server, m.deployment, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("server %s of deployment %s: %w", m.server, m.deployment, err)
	}
	m.mu.Lock()
	pinned := m.pinned
	m.mu.Unlock()
	identity, counter, err := coordinator.OpenIdentity(m.deployment, m.server, m.token, pinned, node.Data)
	if err != nil {
		return nil, 0, fmt.Errorf("the identity of the deployment %s: %w", m.deployment, err)
	}
	if !identity.Removed.IsZero() {
		return nil, 0, &RemovedError{Server: m.server, Deployment: m.deployment, Since: identity.Removed}
	}
	return identity, counter, nil
}

// deriveKey derives the key with which the server signs. It must be the one in the plan: otherwise
// the password is not from the operator.
func (m *Member) deriveKey(p *contract.Server) error {
	password := ""
	if member := m.member.Load(); member != nil {
		password = member.Password
	}
	key, err := coordinator.ServerKey(m.token, password)
	if err != nil {
		return err
	}
	if sign.Public(p.Keys[m.server]) != key.Public() {
		return coordinator.Forged("the password of server "+string(m.server), "the deployment's operator", errors.New("its plan has a different key"))
	}
	m.learn(func(k *knowledge) { k.key, k.publics = key, p.Keys })
	return nil
}

// open reads a record that the operator has signed for this server, and remembers its counter.
// ErrForged, ErrOlder.
func (m *Member) open(kind, item, what string, data []byte) (text []byte, counter int64, err error) {
	text, counter, err = m.known().identity.Operator.Open(m.deployment.Place(m.known().identity.ID, kind, m.server, item), data)
	if err != nil {
		return nil, 0, coordinator.Forged(what, "the deployment's operator", err)
	}
	if err := m.notOlder(kind, counter); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", what, err)
	}
	return text, counter, nil
}

// meet makes sure that the member knows the deployment's identity.
func (m *Member) meet(ctx context.Context) error {
	if m.known().identity != nil {
		return nil
	}
	return m.identify(ctx)
}

// newestIdentity is readIdentity, but not of a record older than this machine has seen. ErrOlder.
func (m *Member) newestIdentity(ctx context.Context) (*coordinator.Identity, error) {
	now, counter, err := m.readIdentity(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && counter < m.counters[coordinator.KindIdentity] {
		return nil, ErrOlder
	}
	return now, err
}

// explainForged explains a forged record: the deployment may have been destroyed and applied again since
// this machine joined it.
func (m *Member) explainForged(ctx context.Context, err error) error {
	if !errors.Is(err, coordinator.ErrForged) {
		return err
	}
	now, look := m.newestIdentity(ctx)
	if removed, is := errors.AsType[*RemovedError](look); is {
		return removed
	}
	if look == nil && now.ID != m.known().identity.ID || errors.Is(look, ErrNotInPlan) {
		return fmt.Errorf("%w: %w", ErrDestroyed, err)
	}
	return err
}

// signOwn encodes and signs a record of the server's own.
func (m *Member) signOwn(kind string, record any) ([]byte, error) {
	return coordinator.Signed(m.known().key, m.ownPlace(kind), 0, record)
}

// readOwn reads such a record.
func readOwn[T any](ctx context.Context, m *Member, kind, what string, path coordinator.Path) (T, error) {
	return lasts(ctx, m, func() (record T, err error) {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			return record, fmt.Errorf("read the %s of server %s: %w", what, m.server, m.gone(ctx, err))
		}
		record, _, err = coordinator.OpenIfAny[T](path, node.Data, m.known().key.Public(), m.ownPlace(kind))
		return record, m.explainForged(ctx, err)
	})
}

// ownPlace is the place of a record of the server's own.
func (m *Member) ownPlace(kind string) sign.Place {
	return m.deployment.Place(m.known().identity.ID, kind, m.server, "")
}

// signCell encodes a cell's record. An empty one is not signed.
func (m *Member) signCell(c contract.CellRef, record coordinator.CellRecord) ([]byte, error) {
	if record.State == coordinator.Empty {
		return coordinator.Encode(record)
	}
	return coordinator.Signed(m.known().key, m.deployment.CellPlace(m.known().identity.ID, c), 0, record)
}

// keyOf is the key with which a cell's writer signs.
func (m *Member) keyOf(writer contract.ServerPath) sign.Public {
	switch writer {
	case m.server:
		return m.known().key.Public()
	case contract.Operator:
		return m.known().identity.Operator
	}
	return sign.Public(m.known().publics[writer])
}

// newIncarnation is notOlder for the incarnation of a server, or of an operator's secret: in a
// restored deployment they may start over.
func (m *Member) newIncarnation(of string, number int) error {
	return m.notOlder(m.incarnationOf(of), int64(number))
}

// incarnationOf is the counter's name.
func (m *Member) incarnationOf(of string) string {
	return "incarnation of " + of + " in " + m.known().identity.ID
}

// unseen reports whether a record of another writer is not older than one that was seen.
func (m *Member) unseen(ctx context.Context, ref contract.CellRef, record coordinator.CellRecord) (bool, error) {
	of := string(ref.Server)
	if ref.Server == contract.Operator {
		of = string(ref.Cell)
	}
	if err := m.hasCome(ctx, ref, record.Incarnation); err != nil {
		return false, err
	}
	err := m.newIncarnation(of, record.Incarnation)
	if errors.Is(err, ErrOlder) {
		return false, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.versions[ref.Cell]
	if last.Incarnation == record.Incarnation && last.Version > record.Version {
		return false, nil
	}
	m.versions[ref.Cell] = cellVersion{record.Incarnation, record.Version}
	return err == nil, err
}

// hasCome checks that an incarnation of a server exists before it is remembered: one far ahead
// would keep out what all later machines of the name write. *coordinator.RecordError.
func (m *Member) hasCome(ctx context.Context, ref contract.CellRef, number int) error {
	if number <= 1 || ref.Server == contract.Operator {
		return nil
	}
	m.recall()
	m.mu.Lock()
	seen := m.counters[m.incarnationOf(string(ref.Server))]
	m.mu.Unlock()
	if int64(number) <= seen {
		return nil
	}
	version, _, err := m.store.Stat(ctx, m.deployment.Server(ref.Server))
	if err == nil && number > int(version) {
		err = coordinator.NewCellError(ref, fmt.Errorf("its incarnation %d never existed", number))
	}
	return err
}

// cellVersion identifies a version of a cell.
type cellVersion struct{ Incarnation, Version int }
