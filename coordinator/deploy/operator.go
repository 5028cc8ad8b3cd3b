// Package deploy is the operator's side of a deployment in a coordinator: it publishes and changes
// plans, supplies secrets, admits machines, sends requests to agents, reads state, and destroys.
//
// The session has authenticated itself as Secret.Operator.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// ErrNotOurs says that a deployment cannot be deleted completely: a holder of a server's token can
// create nodes below that server's own that only this user can delete.
var ErrNotOurs = errors.New("a holder of a server's token has created nodes that only this user can delete")

// ReadPlan reads the whole plan of a deployment. ErrNotApplied, ErrWrongSecret.
func ReadPlan(ctx context.Context, s store.Session, d protocol.Deployment, secret protocol.Secret) (*contract.Plan, error) {
	p, _, err := protocol.ReadPlan(ctx, s, d, operatorError, func(ctx context.Context) (protocol.DeploymentRecord, error) {
		return readRecord(ctx, s, d, secret)
	})
	if err != nil {
		return nil, fmt.Errorf("read the plan of %s: %w", d, err)
	}
	return p, nil
}

// Reader reads what servers have written in a deployment: what they have not signed is ErrForged.
type Reader struct {
	store store.Session
	keys  *keyring
}

// NewReader opens the deployment's record. ErrNotApplied, ErrWrongSecret, ErrForged.
func NewReader(ctx context.Context, s store.Session, d protocol.Deployment, secret protocol.Secret, p *contract.Plan) (*Reader, error) {
	live, err := readRecord(ctx, s, d, secret)
	if err != nil {
		return nil, fmt.Errorf("read deployment %s: %w", d, err)
	}
	keys, err := newKeyring(newTokens(secret, d, p), live, nil)
	return &Reader{s, keys}, err
}

// Cell reads a cell. *RecordError.
func (r *Reader) Cell(ctx context.Context, c contract.CellRef) (protocol.CellRecord, error) {
	path := r.keys.deployment.Cell(c)
	node, err := r.store.Read(ctx, path)
	if err != nil {
		return protocol.CellRecord{}, fmt.Errorf("read the cell %s: %w", c.Cell, operatorError(err))
	}
	record, err := r.keys.cell(path, node.Data, c)
	if err != nil {
		return protocol.CellRecord{State: protocol.Empty}, protocol.NewCellError(c, err)
	}
	c.Type = r.keys.types[c.Cell]
	return protocol.CheckCell(c, record)
}

// state reads what a server's agent has reported.
func (r *Reader) state(ctx context.Context, s contract.ServerPath) (protocol.ServerState, error) {
	node, err := r.store.Read(ctx, r.keys.deployment.State(s))
	if err != nil {
		return protocol.ServerState{}, err
	}
	return r.keys.state(node.Data, s)
}

// Break fails empty cells, all of them or none, in the name of the servers that write them: this
// ends a deadlock of their readers. ErrVersion: one of them is not empty any more.
func (r *Reader) Break(ctx context.Context, cells []contract.CellRef, causes []*protocol.Cause, now time.Time) error {
	ops := make([]store.Op, len(cells))
	for i, c := range cells {
		var err error
		if ops[i], err = r.breakCell(ctx, c, causes[i], now); err != nil {
			return fmt.Errorf("fail the cell %s: %w", c.Cell, operatorError(err))
		}
	}
	if err := r.store.Commit(ctx, ops...); err != nil {
		return fmt.Errorf("break the dependency cycle: %w", operatorError(err))
	}
	return nil
}

// breakCell returns the write that fails an empty cell.
func (r *Reader) breakCell(ctx context.Context, c contract.CellRef, cause *protocol.Cause, now time.Time) (store.Op, error) {
	path, d := r.keys.deployment.Cell(c), r.keys.deployment
	node, err := r.store.Read(ctx, path)
	if err != nil {
		return store.Op{}, err
	}
	there, err := r.keys.cell(path, node.Data, c)
	if err == nil && there.State != protocol.Empty {
		err = store.ErrVersion
	}
	if err != nil {
		return store.Op{}, err
	}
	server, err := r.store.Read(ctx, d.Server(c.Server))
	if err != nil {
		return store.Op{}, err
	}
	is := protocol.ParseIncarnation(server)
	key, err := r.keys.serverKey(c.Server)
	if err != nil {
		return store.Op{}, err
	}
	data, err := protocol.Signed(key, d.CellPlace(r.keys.record.ID, c), 0, protocol.CellRecord{State: protocol.Failed, Incarnation: is.Number, Version: there.Next(is.Number), Cause: protocol.Shorten(cause), Since: now.UTC()})
	return store.Op{Path: path, Version: node.Version, Write: true, Data: data}, err
}

// ReadLog reads the end of a role's output.
func ReadLog(ctx context.Context, s store.Session, d protocol.Deployment, server contract.ServerPath, role string) ([]byte, error) {
	node, err := s.Read(ctx, d.Log(server, role))
	if err != nil {
		return nil, fmt.Errorf("read the log of %s.%s: %w", server, role, operatorError(err))
	}
	return node.Data[max(0, len(node.Data)-protocol.LogSize):], nil
}

// Destroy deletes a deployment: first the node that agents look for, then the rest. It can be
// called again after it was interrupted. ErrNotApplied, ErrWrongSecret, ErrNotOurs.
func Destroy(ctx context.Context, s store.Session, d protocol.Deployment) error {
	if _, err := readRoot(ctx, s, d); err != nil {
		return fmt.Errorf("destroy %s: %w", d, err)
	}
	for _, path := range []store.Path{d.Ready(), d.Root()} {
		err := s.DeleteTree(ctx, path)
		if errors.Is(err, store.ErrRefused) { // not due to the secret: it opened the record
			return fmt.Errorf("destroy %s: %w: %w", d, ErrNotOurs, err)
		}
		if err != nil {
			return fmt.Errorf("destroy %s: %w", d, operatorError(err))
		}
	}
	// A limit that this session may not remove also bounds the next deployment of the name.
	_ = s.SetLimit(ctx, d.Root(), store.Limit{}, store.Everyone)
	return nil
}

// readRecord distinguishes a missing deployment from one with another secret.
func readRecord(ctx context.Context, s store.Session, d protocol.Deployment, secret protocol.Secret) (protocol.DeploymentRecord, error) {
	data, err := readRoot(ctx, s, d)
	if err != nil {
		return protocol.DeploymentRecord{}, err
	}
	return openRecord(d, secret, data)
}

// readRoot reads the record without authenticating it.
func readRoot(ctx context.Context, s store.Session, d protocol.Deployment) ([]byte, error) {
	node, err := s.Read(ctx, d.Root())
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNotApplied
	}
	if err != nil {
		return nil, operatorError(err)
	}
	return node.Data, nil
}

func openRecord(d protocol.Deployment, secret protocol.Secret, data []byte) (protocol.DeploymentRecord, error) {
	key, err := secret.OperatorKey(d)
	if err != nil {
		return protocol.DeploymentRecord{}, err
	}
	return protocol.OpenDeployment(d, key.Public(), data)
}

// operatorError translates store errors for operators: the secret grants access to everything in a
// deployment, and every node of its plan exists.
func operatorError(err error) error {
	switch {
	case errors.Is(err, store.ErrRefused):
		return fmt.Errorf("%w: %w", ErrWrongSecret, err)
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrUnfinished, err)
	default:
		return err
	}
}
