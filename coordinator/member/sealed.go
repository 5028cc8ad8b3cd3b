package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A sealed cell holds its value in a box (package seal). The key of the box is sealed to each
// reader, and to the writer itself, in a node for each writer and reader: so a reader that joins
// late, or is rebuilt with another key, gets it from the writer's agent, which watches the readers'
// public keys while it runs (KeepSealed). See docs/secrets.md.

// sealing is what a member knows about its sealed cells.
type sealing struct {
	key    seal.Key
	token  func() (seal.Key, error)                    // for which `hotc apply` seals before the server has a key
	reads  bool                                        // the server reads the operator's secrets
	public bool                                        // the server has a public key to publish
	cells  map[contract.CellName][]contract.ServerPath // own ones, with their readers

	// boxing is full from the choice of a content key to the commit of the box.
	boxing chan struct{}
	poke   chan struct{}

	mu     sync.Mutex
	boxes  map[contract.CellName]sealedBox
	writes int                          // of boxes
	dirty  map[contract.ServerPath]bool // readers that may lack a key
}

// sealedBox is the box in one of the server's own cells.
type sealedBox struct {
	id      string
	content seal.Content
}

// newSealing is the sealing of a server whose plan is not known yet.
func newSealing(token func() (seal.Key, error)) sealing {
	return sealing{token: token, boxes: map[contract.CellName]sealedBox{}, dirty: map[contract.ServerPath]bool{},
		poke: make(chan struct{}, 1), boxing: make(chan struct{}, 1)}
}

// needs reports whether, by its plan, a server reads or writes sealed cells.
func (s *sealing) needs(p *contract.Server) bool {
	return len(p.Seals) > 0 || slices.ContainsFunc(p.Reads, func(r contract.CellRef) bool { return r.Sealed })
}

// learn updates it from a server's plan.
func (s *sealing) learn(p *contract.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.public = s.needs(p)
	s.reads = slices.ContainsFunc(p.Reads, func(r contract.CellRef) bool { return r.Server == contract.Operator })
	s.cells = map[contract.CellName][]contract.ServerPath{}
	for _, c := range p.Seals {
		s.cells[c.Cell] = c.Readers
	}
}

func (s *sealing) has(cell contract.CellName) bool {
	_, sealed := s.sealed()[cell]
	return sealed
}

// sealed are the server's own sealed cells, with their readers.
func (s *sealing) sealed() map[contract.CellName][]contract.ServerPath {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cells // replaced as a whole
}

func (s *sealing) ownKey() seal.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

// mark notes that readers may lack a key.
func (s *sealing) mark(readers ...contract.ServerPath) {
	if len(readers) == 0 {
		return
	}
	s.mu.Lock()
	for _, r := range readers {
		s.dirty[r] = true
	}
	s.mu.Unlock()
	store.Wake(s.poke)
}

// take returns the readers that were marked.
func (s *sealing) take() []contract.ServerPath {
	s.mu.Lock()
	defer s.mu.Unlock()
	readers := slices.Sorted(maps.Keys(s.dirty))
	clear(s.dirty)
	return readers
}

func (s *sealing) box(cell contract.CellName) (b sealedBox, known bool, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, known = s.boxes[cell]
	return b, known, s.writes
}

// read notes a box that was read after so many writes.
func (s *sealing) read(cell contract.CellName, b sealedBox, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if writes == s.writes {
		s.boxes[cell] = b
	}
}

// written notes that a box was committed, or perhaps was: the answer may be lost. Its readers lack
// the key.
func (s *sealing) written(cell contract.CellName, b sealedBox, sure bool) {
	s.mu.Lock()
	s.writes++
	if delete(s.boxes, cell); sure {
		s.boxes[cell] = b
	}
	readers := s.cells[cell]
	s.mu.Unlock()
	s.mark(readers...)
}

// NeedsKey reports whether the server reads or writes sealed cells. It is known after Plan.
func (m *Member) NeedsKey() bool {
	m.sealing.mu.Lock()
	defer m.sealing.mu.Unlock()
	return m.sealing.public
}

// UseKey gives the member the server's private key. Call it before Enrol, which publishes the
// public half for those who seal values for the server.
func (m *Member) UseKey(key seal.Key) {
	m.sealing.mu.Lock()
	defer m.sealing.mu.Unlock()
	m.sealing.key = key
}

var errNoKey = errors.New("the server has sealed cells, and this agent has no key")

// publicOp is the write that publishes the server's public key; nil if it is not needed.
func (m *Member) publicOp(incarnation int) (*store.Op, error) {
	if !m.NeedsKey() {
		return nil, nil
	}
	key := m.sealing.ownKey().Public()
	if key == "" {
		return nil, errNoKey
	}
	data, err := m.signOwn(protocol.KindPublic, protocol.PublicRecord{Incarnation: incarnation, Key: key})
	return &store.Op{Path: m.deployment.Public(m.server), Version: store.AnyVersion, Write: true, Data: data}, err
}

// showKey publishes the server's public key if another one is there.
func (m *Member) showKey(ctx context.Context) error {
	for {
		f, err := m.enrolled()
		if err != nil {
			return err
		}
		op, err := m.publicOp(f.record.Number)
		if op == nil || err != nil {
			return err
		}
		node, err := m.store.Read(ctx, op.Path)
		if err == nil && string(node.Data) != string(op.Data) {
			err = m.store.Commit(ctx, m.checks(f, *op)...)
		}
		if errors.Is(err, store.ErrVersion) { // the deployment may have been restored meanwhile
			if err = m.checkFence(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("publish the public key of server %s: %w", m.server, m.gone(ctx, err))
		}
		return nil
	}
}

// valueLimit bounds a cell's value, in bytes.
func (m *Member) valueLimit(cell contract.CellName) int {
	if m.sealing.has(cell) {
		return store.SealedRoom(m.limit())
	}
	return m.limit()
}

// fillRecord seals the value of a record if the cell is sealed: the write of the key for the writer
// itself belongs in the same commit. The caller has filled sealing.boxing.
func (m *Member) fillRecord(ctx context.Context, ref contract.CellRef, record protocol.CellRecord) (filled protocol.CellRecord, key []store.Op, own sealedBox, err error) {
	if !m.sealing.has(ref.Cell) {
		return record, nil, own, nil
	}
	box, content, err := seal.Close(record.Value, m.deployment.BoxPlace(ref.Cell))
	if err != nil {
		return record, nil, own, err
	}
	record.Value, record.Sealed = nil, box
	own = sealedBox{seal.ID(box), content}
	keys, err := m.readSeals(ctx, m.server, m.server)
	if err != nil {
		return record, nil, own, err
	}
	wrapped, err := content.Wrap(m.sealing.ownKey().Public(), m.deployment.KeyPlace(ref.Cell, m.server, own.id))
	if err != nil {
		return record, nil, own, err
	}
	keys[ref.Cell] = protocol.SealedKey{Box: own.id, To: seal.ID(m.sealing.ownKey().Public()), Key: wrapped}
	data, err := protocol.Encode(keys)
	op := store.Op{Path: m.deployment.SealsFor(m.server, m.server), Version: store.AnyVersion, Write: true, Data: data}
	return record, []store.Op{op}, own, err
}

func (m *Member) readSeals(ctx context.Context, writer, reader contract.ServerPath) (protocol.SealsRecord, error) {
	path := m.deployment.SealsFor(writer, reader)
	node, err := lasts(ctx, m, func() (store.Node, error) {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			err = m.goneOf(ctx, writer, "the keys for "+string(reader), err)
		}
		return node, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the keys that %s has sealed for %s: %w", writer, reader, err)
	}
	keys, err := protocol.Decode[protocol.SealsRecord](path, node.Data)
	if keys == nil {
		keys = protocol.SealsRecord{}
	}
	if err != nil {
		err = &protocol.RecordError{Server: writer, What: "the keys for " + string(reader), Err: err}
	}
	return keys, err
}

// openRecord opens a sealed cell. One whose key is not there yet is empty to this
// server.
func (m *Member) openRecord(ctx context.Context, ref contract.CellRef, record protocol.CellRecord) (protocol.CellRecord, error) {
	content, ok, err := m.contentOf(ctx, ref, record)
	if err != nil || !ok {
		return protocol.CellRecord{State: protocol.Empty, Incarnation: record.Incarnation}, err
	}
	value, err := content.Open(record.Sealed, m.deployment.BoxPlace(ref.Cell))
	if err != nil {
		return protocol.CellRecord{}, protocol.NewCellError(ref, err)
	}
	record.Value, record.Sealed = value, ""
	return record, nil
}

// contentOf is the content key of a box, if it was sealed for this server's key.
func (m *Member) contentOf(ctx context.Context, ref contract.CellRef, record protocol.CellRecord) (seal.Content, bool, error) {
	keys, err := m.readSeals(ctx, ref.Server, m.server)
	if err != nil {
		return seal.Content{}, false, err
	}
	box := seal.ID(record.Sealed)
	k, there := keys[ref.Cell]
	if !there || k.Box != box {
		return seal.Content{}, false, nil
	}
	key, ok, err := m.keyFor(ref, k)
	if err != nil || !ok {
		return seal.Content{}, false, err
	}
	content, err := key.Unwrap(k.Key, m.deployment.KeyPlace(ref.Cell, m.server, box))
	if err != nil {
		return seal.Content{}, false, protocol.NewCellError(ref, err)
	}
	return content, true, nil
}

// keyFor is this server's key with which k can be opened.
func (m *Member) keyFor(ref contract.CellRef, k protocol.SealedKey) (key seal.Key, ok bool, err error) {
	if k.To == seal.ID(m.sealing.ownKey().Public()) {
		return m.sealing.ownKey(), true, nil
	}
	if ref.Server != contract.Operator {
		return seal.Key{}, false, nil
	}
	key, err = m.sealing.token()
	return key, err == nil && k.To == seal.ID(key.Public()), err
}

// KeepSealed seals the keys of this server's boxes to their readers, whenever one joins or is
// rebuilt, until ctx ends. Call it after Enrol, also if the plan has no sealed cells yet. say is
// called for a reader for which nothing could be sealed; it is tried again. ErrFenced, ErrDestroyed.
func (m *Session) KeepSealed(ctx context.Context, say func(error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	watched, failed := map[contract.ServerPath]bool{}, map[contract.ServerPath]bool{}
	var again <-chan time.Time
	for {
		news := m.knownPlans().news
		for _, reader := range m.sealedReaders() {
			if watched[reader] {
				continue
			}
			watched[reader] = true
			err := store.OnChange(ctx, m.store, m.deployment.Public(reader), func() { m.sealing.mark(reader) })
			if err != nil {
				return fmt.Errorf("watch the public key of server %s: %w", reader, err)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-news:
			m.sealing.mark(m.sealedReaders()...) // perhaps of other cells
			continue
		case <-again:
			again = nil
			m.sealing.mark(slices.Collect(maps.Keys(failed))...)
			continue
		case <-m.sealing.poke:
		}
		readers := m.sealing.take()
		errs := make([]error, len(readers))
		err := store.Each(ctx, len(readers), func(ctx context.Context, i int) error {
			errs[i] = m.sealFor(ctx, readers[i], say)
			if ends := errors.Is(errs[i], ErrFenced) || errors.Is(errs[i], ErrDestroyed); ends || ctx.Err() != nil {
				return errs[i]
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, err := range errs {
			delete(failed, readers[i])
			if err != nil && !errors.Is(err, errMissing) { // otherwise it was removed from the plan
				say(fmt.Errorf("nothing is sealed for server %s, next attempt in %v: %w", readers[i], lookAgain, err))
				failed[readers[i]] = true
			}
		}
		if again == nil && len(failed) > 0 {
			again = time.After(lookAgain)
		}
	}
}

// sealedReaders are the servers that read sealed cells of this one.
func (m *Member) sealedReaders() []contract.ServerPath {
	var all []contract.ServerPath
	for _, readers := range m.sealing.sealed() {
		all = append(all, readers...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s contract.ServerPath) bool { return s == m.server })
}

// readPublic reads the key with which to seal for a server. *RecordError.
func (m *Member) readPublic(ctx context.Context, of contract.ServerPath) (protocol.PublicRecord, error) {
	path := m.deployment.Public(of)
	node, err := m.store.Read(ctx, path)
	if err != nil {
		return protocol.PublicRecord{}, fmt.Errorf("read the public key of server %s: %w", of, m.goneOf(ctx, of, "the public key of server "+string(of), err))
	}
	public, _, err := protocol.OpenIfAny[protocol.PublicRecord](path, node.Data, m.keyOf(of), m.deployment.Place(m.known().identity.ID, protocol.KindPublic, of, ""))
	if err = m.explainForged(ctx, err); err != nil && !errors.Is(err, ErrDestroyed) {
		err = &protocol.RecordError{Server: of, What: "the public key of server " + string(of), Err: err}
	}
	return public, err
}

// sealFor seals for one reader the keys that it lacks.
func (m *Member) sealFor(ctx context.Context, reader contract.ServerPath, say func(error)) error {
	if reader == m.server || !slices.Contains(m.sealedReaders(), reader) {
		return nil
	}
	public, err := lasts(ctx, m, func() (protocol.PublicRecord, error) { return m.readPublic(ctx, reader) })
	if _, is := errors.AsType[*protocol.RecordError](err); is {
		say(fmt.Errorf("nothing is sealed for server %s: %w", reader, err))
		return nil
	}
	if err != nil {
		return err
	}
	if public.Key == "" {
		return nil
	}
	if newest, err := m.notSeenLater(contract.CellName(reader), protocol.Count{public.Incarnation, 0}); !newest { // the newer one will follow
		return err
	}
	keys, err := m.readSeals(ctx, m.server, reader)
	if err != nil {
		return err
	}
	changed := false
	for cell, readers := range m.sealing.sealed() {
		if !slices.Contains(readers, reader) {
			continue
		}
		box, ok, err := m.boxOf(ctx, contract.CellRef{Cell: cell, Server: m.server, Sealed: true})
		if err != nil {
			return err
		}
		to := seal.ID(public.Key)
		if have := keys[cell]; !ok || have.Box == box.id && have.To == to {
			continue
		}
		wrapped, err := box.content.Wrap(public.Key, m.deployment.KeyPlace(cell, reader, box.id))
		if err != nil {
			say(fmt.Errorf("the public key of server %s: %w", reader, err))
			return nil
		}
		keys[cell], changed = protocol.SealedKey{Box: box.id, To: to, Key: wrapped}, true
	}
	if !changed {
		return nil
	}
	if err := m.overwrite(ctx, m.deployment.SealsFor(m.server, reader), func() ([]byte, error) { return protocol.Encode(keys) }); err != nil {
		return fmt.Errorf("seal for server %s: %w", reader, err)
	}
	return nil
}

// boxOf is the box in one of the server's own cells; ok is false while there is none.
func (m *Member) boxOf(ctx context.Context, ref contract.CellRef) (box sealedBox, ok bool, err error) {
	box, known, writes := m.sealing.box(ref.Cell)
	if known {
		return box, true, nil
	}
	f, err := m.enrolled()
	if err != nil {
		return sealedBox{}, false, err
	}
	record, _, err := m.readCell(ctx, ref)
	if err != nil || record.Sealed == "" || record.Incarnation != f.record.Number {
		return sealedBox{}, false, err
	}
	content, ok, err := m.contentOf(ctx, ref, record)
	if ok {
		box = sealedBox{seal.ID(record.Sealed), content}
		m.sealing.read(ref.Cell, box, writes)
	}
	return box, ok, err
}
