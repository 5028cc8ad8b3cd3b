package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Secrets supplied by an operator are in sealed cells, as roles' secret outputs are, with the
// operator's command as the writer. It has no agent that would seal the boxes' keys again when a
// server joins, so it seals them in advance: for the key of each reader's token, which the
// coordinator never sees (docs/secrets.md).

func secretReaders(p *contract.Plan) []contract.ServerPath {
	all := lists.Flat(p.Secrets, func(s contract.Secret) []contract.ServerPath { return s.Readers })
	slices.Sort(all)
	return slices.Compact(all)
}

// SuppliedLimit bounds the JSON of a secret that Give stores, in bytes.
func SuppliedLimit(s store.Session) int { return store.SealedRoom(store.Room(s)) }

// Give seals a secret of the plan for its readers. It replaces a previous value: roles that run
// from then on read the new one, and those that have run and can be brought up to date run with it.
// The same value keeps its version, and is written only if a reader lacks it. For each reader whose
// public key is unusable there is a *RecordError; the others get the secret. ErrTooLarge.
func Give(ctx context.Context, s store.Session, d protocol.Deployment, secret protocol.Secret, p *contract.Plan, given contract.Secret, value json.RawMessage, now time.Time) error {
	if limit := SuppliedLimit(s); len(value) > limit {
		return fmt.Errorf("store secret %s: it has %d bytes as JSON, the limit of a sealed cell is %d: %w", given.Name, len(value), limit, store.ErrTooLarge)
	}
	for {
		r, err := NewReader(ctx, s, d, secret, p)
		if err == nil {
			err = r.give(ctx, given, value, now)
		}
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, store.ErrVersion): // ErrVersion: a concurrent command, or a lost answer
			return fmt.Errorf("store secret %s: %w", given.Name, operatorError(err))
		}
	}
}

func (r *Reader) give(ctx context.Context, given contract.Secret, value json.RawMessage, now time.Time) error {
	s, keys, d := r.store, r.keys, r.keys.deployment
	path := d.Cell(given.Ref())
	node, err := s.Read(ctx, path)
	if err != nil {
		return err
	}
	before, err := keys.cell(path, node.Data, given.Ref())
	if err != nil { // another user wrote it: readers accept none older than they have seen
		before.Incarnation = int(node.Version)
	}
	record := protocol.CellRecord{State: protocol.Valued, Incarnation: before.Incarnation + 1, Version: 1, Since: now.UTC(), Fingerprint: keys.secret.Fingerprint(d, given.Name, value)}
	if err == nil && before.Fingerprint == record.Fingerprint {
		if lack, err := r.lacking(ctx, given, seal.ID(before.Sealed)); err != nil || len(lack) == 0 {
			return err
		}
		record.Incarnation, record.Since = before.Incarnation, before.Since
	}
	box, content, err := seal.Close(value, d.BoxPlace(given.Cell))
	if err != nil {
		return err
	}
	record.Sealed = box
	data, err := protocol.Signed(keys.signer, d.CellPlace(keys.record.ID, given.Ref()), 0, record)
	if err != nil {
		return err
	}
	sealing := giving{Session: s, keyring: keys, given: given, box: seal.ID(box), content: content}
	sealed := make([][]store.Op, len(given.Readers))
	lacking := make([]error, len(given.Readers))
	err = store.Each(ctx, len(sealed), func(ctx context.Context, i int) (err error) {
		sealed[i], err = sealing.keyFor(ctx, given.Readers[i])
		if _, bad := unreadable(err); bad {
			lacking[i], err = err, nil // the other readers get theirs
		}
		return err
	})
	if err == nil { // the box last: then all readers have its key
		err = inCommits(ctx, s, append(sealed, []store.Op{{Path: path, Version: node.Version, Write: true, Data: data}}))
	}
	return errors.Join(append(lacking, err)...)
}

// inCommits commits writes in as few requests as possible, each group in one.
func inCommits(ctx context.Context, s store.Session, writes [][]store.Op) error {
	for len(writes) > 0 {
		var ops []store.Op
		size := 0
		for len(writes) > 0 {
			for _, op := range writes[0] {
				size += store.OpSize(op)
			}
			if len(ops) > 0 && size > store.Room(s) {
				break
			}
			ops, writes = append(ops, writes[0]...), writes[1:]
		}
		if err := s.Commit(ctx, ops...); err != nil {
			return err
		}
	}
	return nil
}

// giving is one box with what is needed to seal its key for its readers.
type giving struct {
	store.Session
	*keyring
	given   contract.Secret
	box     string
	content seal.Content
}

// keyFor returns the write of the box's key for one reader.
func (g giving) keyFor(ctx context.Context, reader contract.ServerPath) ([]store.Op, error) {
	path := g.deployment.SealsFor(contract.Operator, reader)
	node, err := g.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	keys, err := decodeOf[protocol.SealsRecord](reader, "the keys for "+string(reader), path, node.Data)
	if err != nil {
		keys = nil // start over: the reader itself has overwritten them
	}
	if keys == nil {
		keys = protocol.SealsRecord{}
	}
	to, unchanged, err := g.publicKey(ctx, reader)
	if err != nil {
		return nil, err
	}
	wrapped, err := g.content.Wrap(to, g.deployment.KeyPlace(g.given.Cell, reader, g.box))
	if err != nil {
		return nil, &protocol.RecordError{Server: reader, What: "the public key of server " + string(reader), Err: err}
	}
	keys[g.given.Cell] = protocol.SealedKey{Box: g.box, To: seal.ID(to), Key: wrapped}
	data, err := protocol.Encode(keys)
	return append(unchanged, store.Op{Path: path, Version: node.Version, Write: true, Data: data}), err
}

// publicKey is the key with which to seal for a reader: that of its token, or, where tokens are
// valid for one enrolment, that of its machine once one has enrolled.
func (g giving) publicKey(ctx context.Context, reader contract.ServerPath) (key string, unchanged []store.Op, err error) {
	if g.record.Enrol == protocol.EnrolOnce {
		path := g.deployment.Public(reader)
		node, err := g.Read(ctx, path)
		if err != nil {
			return "", nil, err
		}
		public, err := g.publicRecord(node.Data, reader)
		if err != nil {
			return "", nil, err
		}
		unchanged = []store.Op{{Path: path, Version: node.Version}}
		if public.Key != "" {
			return public.Key, unchanged, nil
		}
	}
	token, err := protocol.TokenKey(g.token(reader))
	return token.Public(), unchanged, err
}

// Supplied is the state of a secret of the plan.
type Supplied struct {
	Since time.Time // zero: it was never supplied
	// Lacking are the readers that cannot open it: those rebuilt since, for whose new keys it was
	// not sealed, and all of them if a Give was interrupted.
	Lacking []contract.ServerPath

	incarnation int
	fingerprint string
	bad         error // why its cell cannot be read
}

// Record is its cell, without the value.
func (g *Supplied) Record() protocol.CellRecord {
	if g.Since.IsZero() {
		return protocol.CellRecord{State: protocol.Empty}
	}
	return protocol.CellRecord{State: protocol.Valued, Incarnation: g.incarnation, Version: 1, Since: g.Since, Fingerprint: g.fingerprint}
}

// Becomes reports whether a value differs from the one that was supplied before.
func (g *Supplied) Becomes(secret protocol.Secret, d protocol.Deployment, name string, value json.RawMessage) bool {
	return !g.Since.IsZero() && g.fingerprint != secret.Fingerprint(d, name, value)
}

// Next is the number of the value that replaces this one.
func (g *Supplied) Next() int { return g.incarnation + 1 }

// ReadGiven returns the state of a plan's secrets, in their order.
func ReadGiven(ctx context.Context, s store.Session, d protocol.Deployment, secret protocol.Secret, p *contract.Plan) ([]Supplied, error) {
	if len(p.Secrets) == 0 {
		return nil, nil
	}
	r, err := NewReader(ctx, s, d, secret, p)
	if err != nil {
		return nil, err
	}
	all, err := r.supplied(ctx, p)
	for _, one := range all {
		err = cmp.Or(err, one.bad)
	}
	return all, err
}

func (r *Reader) supplied(ctx context.Context, p *contract.Plan) ([]Supplied, error) {
	all := make([]Supplied, len(p.Secrets))
	err := store.Each(ctx, len(all), func(ctx context.Context, i int) error {
		record, err := r.Cell(ctx, p.Secrets[i].Ref())
		if _, is := unreadable(err); is {
			all[i].bad = err
			return nil
		}
		if errors.Is(err, store.ErrNotFound) { // the live plan has no such secret
			return nil
		}
		if err != nil || record.State != protocol.Valued {
			return err
		}
		all[i].Since, all[i].incarnation, all[i].fingerprint = record.Since, record.Incarnation, record.Fingerprint
		all[i].Lacking, err = r.lacking(ctx, p.Secrets[i], seal.ID(record.Sealed))
		return err
	})
	return all, err
}

// lacking are the readers that cannot open a box: they have the key of a different box, because
// Give was interrupted, or, where tokens are valid for one enrolment, their own key is not the one
// it was sealed for.
func (r *Reader) lacking(ctx context.Context, given contract.Secret, box string) ([]contract.ServerPath, error) {
	s, d := r.store, r.keys.deployment
	return store.Those(ctx, given.Readers, func(ctx context.Context, reader contract.ServerPath) (bool, error) {
		keys, err := readOf[protocol.SealsRecord](ctx, s, reader, "its keys", d.SealsFor(contract.Operator, reader))
		k := keys[given.Cell]
		if _, bad := unreadable(err); bad || errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		if err != nil || k.Box != box || r.keys.record.Enrol != protocol.EnrolOnce {
			return k.Box != box, err
		}
		node, err := s.Read(ctx, d.Public(reader))
		if err != nil {
			return false, err
		}
		public, err := r.keys.publicRecord(node.Data, reader)
		if _, bad := unreadable(err); bad {
			return true, nil
		}
		return public.Key != "" && k.To != seal.ID(public.Key), err // until a machine enrols it is sealed for the token
	})
}
