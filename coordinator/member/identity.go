package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// identify reads the identity record, and remembers it. ErrForged, ErrOlder,
// *FormatError, ErrNotInPlan, ErrRefused.
func (m *Member) identify(ctx context.Context) error {
	identity, counter, err := m.readIdentity(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	before := m.pinned
	strange := before != nil && before.ID != identity.ID && !identity.Restored
	if !strange && (before == nil || before.ID != identity.ID) {
		err = m.adopt(identity)
	}
	m.within(identity.ID)
	m.mu.Unlock()
	if err == nil {
		err = m.notOlder(ctx, protocol.KindIdentity, counter)
	}
	if err != nil {
		return fmt.Errorf("the identity of the deployment %s: %w", m.deployment, err)
	}
	m.learn(func(k *knowledge) { k.identity, k.strange = identity, strange })
	return nil
}

// knowledge is the identity and the keys that a member knows. It is replaced as a whole.
type knowledge struct {
	identity *protocol.Identity // as it was read
	strange  bool               // of a deployment that the machine does not know
	key      sign.Key           // with which the server signs
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
	m.learn(func(k *knowledge) { k.strange = false })
	return m.adopt(m.known().identity)
}

// readIdentity reads the identity record, authenticated by the server's token and, once the machine
// knows it, by the operator's key.
func (m *Member) readIdentity(ctx context.Context) (*protocol.Identity, int64, error) {
	node, err := m.store.Read(ctx, m.deployment.Identity(m.server))
	if errors.Is(err, store.ErrNotFound) {
		_, known, statErr := m.store.Stat(ctx, m.deployment.Server(m.server))
		switch {
		case statErr != nil:
			err = statErr
		case known:
			err = fmt.Errorf("the deployment %s: %w", m.deployment, &protocol.FormatError{})
		default:
			err = ErrNotInPlan
		}
	}
	if errors.Is(err, store.ErrRefused) {
		return nil, 0, fmt.Errorf("the token of server %s is not valid for deployment %s: %w", m.server, m.deployment, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("server %s of deployment %s: %w", m.server, m.deployment, err)
	}
	m.mu.Lock()
	remembered := m.memory.Remembered()
	m.pinned = cmp.Or(m.pinned, remembered.Identity)
	pinned := m.pinned
	m.mu.Unlock()
	identity, counter, err := protocol.OpenIdentity(m.deployment, m.server, m.token, pinned, node.Data)
	if err != nil {
		return nil, 0, fmt.Errorf("the identity of the deployment %s: %w", m.deployment, err)
	}
	if slices.Contains(remembered.Left, identity.ID) {
		return nil, 0, fmt.Errorf("the identity of the deployment %s is of one that this machine has left: %w", m.deployment, ErrOlder)
	}
	if !identity.Removed.IsZero() {
		if counter < m.lastIdentity(identity.ID) { // it was added again since
			return nil, 0, fmt.Errorf("the removal of server %s from the deployment %s: %w", m.server, m.deployment, ErrOlder)
		}
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
	key, err := protocol.ServerKey(m.token, password)
	if err != nil {
		return err
	}
	if sign.Public(p.Keys[m.server]) != key.Public() {
		return protocol.Forged("the password of server "+string(m.server), "the deployment's operator", errors.New("its plan has a different key"))
	}
	m.learn(func(k *knowledge) { k.key, k.publics = key, p.Keys })
	return nil
}

// open reads a record that the operator has signed for this server. ErrForged.
func (m *Member) open(kind, item, what string, data []byte) (text []byte, counter int64, err error) {
	text, counter, err = m.known().identity.Operator.Open(m.deployment.Place(m.known().identity.ID, kind, m.server, item), data)
	if err != nil {
		return nil, 0, protocol.Forged(what, "the deployment's operator", err)
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
func (m *Member) newestIdentity(ctx context.Context) (*protocol.Identity, error) {
	now, counter, err := m.readIdentity(ctx)
	if err == nil && counter < m.lastIdentity(now.ID) {
		return nil, ErrOlder
	}
	return now, err
}

// lastIdentity is the largest number that was seen on an identity record of a deployment.
func (m *Member) lastIdentity(id string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.scope == id {
		return m.counters[protocol.KindIdentity]
	}
	if r := m.memory.Remembered(); r.Identity != nil && r.Identity.ID == id {
		return r.Counters[protocol.KindIdentity]
	}
	return 0
}

// explainForged explains a forged record: the deployment may have been destroyed and applied again since
// this machine joined it.
func (m *Member) explainForged(ctx context.Context, err error) error {
	if !errors.Is(err, protocol.ErrForged) {
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
	return protocol.Signed(m.known().key, m.ownPlace(kind), 0, record)
}

// readOwn reads such a record.
func readOwn[T any](ctx context.Context, m *Member, kind, what string, path store.Path) (T, error) {
	return lasts(ctx, m, func() (record T, err error) {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			return record, fmt.Errorf("read the %s of server %s: %w", what, m.server, m.gone(ctx, err))
		}
		record, _, err = protocol.OpenIfAny[T](path, node.Data, m.known().key.Public(), m.ownPlace(kind))
		return record, m.explainForged(ctx, err)
	})
}

// ownPlace is the place of a record of the server's own.
func (m *Member) ownPlace(kind string) sign.Place {
	return m.deployment.Place(m.known().identity.ID, kind, m.server, "")
}

// signCell encodes and signs a cell's record.
func (m *Member) signCell(c contract.CellRef, record protocol.CellRecord) ([]byte, error) {
	return protocol.Signed(m.known().key, m.deployment.CellPlace(m.known().identity.ID, c), 0, record)
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

// unseen reports whether a record of another writer is not older than one that was seen.
func (m *Member) unseen(ctx context.Context, ref contract.CellRef, record protocol.CellRecord) (bool, error) {
	if ref.Server == contract.Operator || record.Incarnation == 0 { // whose values are numbered as incarnations; or it was never written
		return m.notSeenLater(ref.Cell, protocol.Count{record.Incarnation, 0})
	}
	if err := m.hasCome(ctx, ref, record.Incarnation); err != nil {
		return false, err
	}
	newest, err := m.notSeenLater(contract.CellName(ref.Server), protocol.Count{record.Incarnation, 0})
	if newest && err == nil {
		newest, err = m.notSeenLater(ref.Cell, protocol.Count{record.Incarnation, record.Version})
	}
	return newest, err
}

// hasCome checks that an incarnation of a server exists before it is remembered: one far ahead
// would keep out what all later machines of the name write. *protocol.RecordError.
func (m *Member) hasCome(ctx context.Context, ref contract.CellRef, number int) error {
	if number <= 1 || ref.Server == contract.Operator {
		return nil
	}
	m.mu.Lock()
	seen := m.seen[contract.CellName(ref.Server)][0]
	m.mu.Unlock()
	if number <= seen {
		return nil
	}
	version, _, err := m.store.Stat(ctx, m.deployment.Server(ref.Server))
	if err == nil && number > int(version) {
		err = protocol.NewCellError(ref, fmt.Errorf("its incarnation %d never existed", number))
	}
	return err
}
