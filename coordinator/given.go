package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// Secrets that an operator gives lie in sealed cells, as roles' secret outputs do,
// with the operator's command as the writer. It has no agent that would seal the
// boxes' keys again when a server comes, and so seals them before: for the key of
// each reader's token, which the coordinator never sees (docs/secrets.md).

// layGiven makes the nodes of what the operator gives: as those of a server that
// writes sealed cells.
func layGiven(d Deployment, k *keyring, p *plan.Plan) ([]NewNode, error) {
	if len(p.Secrets) == 0 {
		return nil, nil
	}
	empty, err := encode(CellRecord{State: Empty})
	if err != nil {
		return nil, err
	}
	operator := []Grant{k.operator}
	nodes := []NewNode{{Path: d.Server(plan.Operator), Grants: operator}, {Path: d.Cells(plan.Operator), Grants: operator}}
	for _, s := range p.Secrets {
		nodes = append(nodes, NewNode{Path: d.Cell(s.Ref()), Data: empty, Grants: append([]Grant{k.operator}, k.readers(s.Readers)...)})
	}
	nodes = append(nodes, NewNode{Path: d.Seals(plan.Operator), Grants: operator})
	for _, r := range secretReaders(p) {
		nodes = append(nodes, NewNode{Path: d.SealsFor(plan.Operator, r), Data: []byte("{}"), Grants: k.own(r, MayRead)})
	}
	return nodes, nil
}

func secretReaders(p *plan.Plan) []plan.ServerPath {
	var all []plan.ServerPath
	for _, s := range p.Secrets {
		all = append(all, s.Readers...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// GivenLimit is how many bytes, as JSON, a secret may have that Give puts into a
// store.
func GivenLimit(s Store) int { return sealedLimit(s.MaxValue() - 16<<10) }

// Give seals a secret of the plan for its readers. One that was given before is
// replaced: roles that read it from then on get the new one. ErrTooLarge.
func Give(ctx context.Context, s Store, d Deployment, secret Secret, given plan.Secret, value json.RawMessage, now time.Time) error {
	if limit := GivenLimit(s); len(value) > limit {
		return fmt.Errorf("give %s: it has %d bytes as JSON, a sealed cell takes %d: %w", given.Name, len(value), limit, ErrTooLarge)
	}
	for {
		err := give(ctx, s, d, secret, given, value, now)
		if errors.Is(err, ErrVersion) { // another operator's command, or a lost answer
			continue
		}
		if err != nil {
			return fmt.Errorf("give %s: %w", given.Name, operatorError(err))
		}
		return nil
	}
}

func give(ctx context.Context, s Store, d Deployment, secret Secret, given plan.Secret, value json.RawMessage, now time.Time) error {
	path := d.Cell(given.Ref())
	node, err := s.Read(ctx, path)
	if err != nil {
		return err
	}
	before, err := decode[CellRecord](path, node.Data)
	if err != nil {
		return err
	}
	box, content, err := seal.Close(value, d.boxPlace(given.Cell))
	if err != nil {
		return err
	}
	data, err := encode(CellRecord{State: Valued, Incarnation: before.Incarnation + 1, Sealed: box, Since: now.UTC()})
	if err != nil {
		return err
	}
	keys := make([]Op, len(given.Readers))
	err = each(ctx, len(keys), func(ctx context.Context, i int) error {
		keys[i], err = giveKey(ctx, s, d, secret, given, given.Readers[i], seal.ID(box), content)
		return err
	})
	if err != nil {
		return err
	}
	// The box comes last: it is given when all have its key.
	ops := append(keys, Op{Path: path, Version: node.Version, Write: true, Data: data})
	for len(ops) > 0 {
		n, size := 0, 0
		for n < len(ops) && (n == 0 || size+opSize(ops[n]) <= s.MaxValue()-16<<10) {
			size += opSize(ops[n])
			n++
		}
		if err := s.Commit(ctx, ops[:n]...); err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

// giveKey is the write of a box's key for one reader.
func giveKey(ctx context.Context, s Store, d Deployment, secret Secret, given plan.Secret, reader plan.ServerPath, box string, content seal.Content) (Op, error) {
	path := d.SealsFor(plan.Operator, reader)
	node, err := s.Read(ctx, path)
	if err != nil {
		return Op{}, err
	}
	keys, err := decode[SealsRecord](path, node.Data)
	if err != nil {
		return Op{}, err
	}
	if keys == nil {
		keys = SealsRecord{}
	}
	to, err := tokenKey(secret.ServerToken(d, reader))
	if err != nil {
		return Op{}, err
	}
	wrapped, err := content.Wrap(to.Public(), d.keyPlace(given.Cell, reader, box))
	if err != nil {
		return Op{}, err
	}
	keys[given.Cell] = SealedKey{Box: box, To: seal.ID(to.Public()), Key: wrapped}
	data, err := encode(keys)
	return Op{Path: path, Version: node.Version, Write: true, Data: data}, err
}

// ReadGiven says of a plan's secrets, in their order, since when each is given; the
// zero time is never.
func ReadGiven(ctx context.Context, s Store, d Deployment, p *plan.Plan) ([]time.Time, error) {
	since := make([]time.Time, len(p.Secrets))
	err := each(ctx, len(since), func(ctx context.Context, i int) error {
		record, err := ReadCell(ctx, s, d, p.Secrets[i].Ref())
		if record.State == Valued {
			since[i] = record.Since
		}
		return err
	})
	return since, err
}
