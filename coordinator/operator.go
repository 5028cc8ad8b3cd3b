package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/coordinator/sign"
)

// The functions of this file are the operator's: the session has authenticated
// itself as Secret.Operator.

// ErrNotOurs says that a deployment cannot be deleted whole: who has a server's token can
// make nodes below that server's own which only he can delete.
var ErrNotOurs = errors.New("somebody with a server's token has put there what only he can delete")

// ReadPlan reads the whole plan of a deployment. ErrNotApplied, ErrWrongSecret.
func ReadPlan(ctx context.Context, s Store, d Deployment, secret Secret) (*plan.Plan, error) {
	before := ""
	for {
		record, err := readRecord(ctx, s, d, secret)
		if err != nil {
			return nil, fmt.Errorf("read the plan of %s: %w", d, err)
		}
		text, _, err := readParts(ctx, s, d.Plan())
		if err != nil {
			return nil, fmt.Errorf("read the plan of %s: %w", d, operatorError(err))
		}
		if !hasDigest(text, record.Plan) {
			if record.Plan != before { // it was changed between the two, perhaps
				before = record.Plan
				continue
			}
			return nil, forged("the plan of "+string(d), "its operator", errors.New("its sha256 differs"))
		}
		p, err := parsePlan(text)
		if err != nil {
			return nil, fmt.Errorf("read the plan of %s: %w", d, err)
		}
		return p, nil
	}
}

func parsePlan(text []byte) (*plan.Plan, error) {
	var p plan.Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	if p.Format != plan.Format {
		return nil, fmt.Errorf("it has format %d, this hotc reads format %d", p.Format, plan.Format)
	}
	return &p, nil
}

// Reader reads what servers have written in a deployment: what they have not signed is
// ErrForged.
type Reader struct {
	store Store
	keys  *keyring
}

// NewReader looks whose deployment it is. ErrNotApplied, ErrWrongSecret, ErrForged.
func NewReader(ctx context.Context, s Store, d Deployment, secret Secret, p *plan.Plan) (*Reader, error) {
	live, err := readRecord(ctx, s, d, secret)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", d, err)
	}
	keys, err := newKeyring(newTokens(secret, d, p), live, nil)
	return &Reader{s, keys}, err
}

// Cell reads a cell. *RecordError.
func (r *Reader) Cell(ctx context.Context, c plan.CellRef) (CellRecord, error) {
	path := r.keys.deployment.Cell(c)
	node, err := r.store.Read(ctx, path)
	if err != nil {
		return CellRecord{}, fmt.Errorf("read the cell %s: %w", c.Cell, operatorError(err))
	}
	record, err := r.keys.cell(path, node.Data, c)
	if err != nil {
		return CellRecord{State: Empty}, cellError(c, err)
	}
	return checkCell(c, record)
}

// state reads what a server's agent has reported.
func (r *Reader) state(ctx context.Context, s plan.ServerPath) (ServerState, error) {
	node, err := r.store.Read(ctx, r.keys.deployment.State(s))
	if err != nil {
		return ServerState{}, err
	}
	return r.keys.state(node.Data, s)
}

// Break fails cells that are empty, all of them or none, each for the cause of its role's
// incarnation, in the name of the servers that write them: readers that wait for each other
// end. ErrVersion says that one of them is not empty any more.
func (r *Reader) Break(ctx context.Context, cells []plan.CellRef, causes []*Cause, now time.Time) error {
	ops := make([]Op, len(cells))
	for i, c := range cells {
		var err error
		if ops[i], err = r.breakCell(ctx, c, causes[i], now); err != nil {
			return fmt.Errorf("fail the cell %s: %w", c.Cell, operatorError(err))
		}
	}
	if err := r.store.Commit(ctx, ops...); err != nil {
		return fmt.Errorf("fail cells that wait for each other: %w", operatorError(err))
	}
	return nil
}

// breakCell is the write that fails an empty cell.
func (r *Reader) breakCell(ctx context.Context, c plan.CellRef, cause *Cause, now time.Time) (Op, error) {
	path, d := r.keys.deployment.Cell(c), r.keys.deployment
	node, err := r.store.Read(ctx, path)
	if err != nil {
		return Op{}, err
	}
	there, err := r.keys.cell(path, node.Data, c)
	if err == nil && there.State != Empty {
		err = ErrVersion
	}
	if err != nil {
		return Op{}, err
	}
	server, err := r.store.Read(ctx, d.Server(c.Server))
	if err != nil {
		return Op{}, err
	}
	is, err := decode[IncarnationRecord](d.Server(c.Server), server.Data)
	if err != nil {
		return Op{}, err
	}
	key, err := r.keys.serverKey(c.Server)
	if err != nil {
		return Op{}, err
	}
	data, err := signed(key, d.cellPlace(r.keys.record.ID, c), 0, CellRecord{State: Failed, Incarnation: is.Number, Version: there.next(is.Number), Cause: shorten(cause), Since: now.UTC()})
	return Op{Path: path, Version: node.Version, Write: true, Data: data}, err
}

// ReadLog reads the end of what a role printed.
func ReadLog(ctx context.Context, s Store, d Deployment, server plan.ServerPath, role string) ([]byte, error) {
	node, err := s.Read(ctx, d.Log(server, role))
	if err != nil {
		return nil, fmt.Errorf("read the log of %s.%s: %w", server, role, operatorError(err))
	}
	return node.Data[max(0, len(node.Data)-LogSize):], nil
}

// Destroy takes a deployment away: first the node that agents look for, then all
// of it. It can be called again after it was interrupted. ErrNotApplied, ErrWrongSecret,
// ErrNotOurs.
func Destroy(ctx context.Context, s Store, d Deployment) error {
	if _, err := readRoot(ctx, s, d); err != nil {
		return fmt.Errorf("destroy %s: %w", d, err)
	}
	for _, path := range []Path{d.Ready(), d.Root()} {
		err := s.DeleteTree(ctx, path)
		if errors.Is(err, ErrRefused) { // and not for the secret: it opened the record
			return fmt.Errorf("destroy %s: %w: %w", d, ErrNotOurs, err)
		}
		if err != nil {
			return fmt.Errorf("destroy %s: %w", d, operatorError(err))
		}
	}
	if limiter, can := s.(Limiter); can {
		// One that is not this session's to take away bounds the next of the name.
		_ = limiter.SetLimit(ctx, d.Root(), Limit{})
	}
	return nil
}

// readRecord tells a deployment that is not there from one of another secret.
func readRecord(ctx context.Context, s Store, d Deployment, secret Secret) (DeploymentRecord, error) {
	data, err := readRoot(ctx, s, d)
	if err != nil {
		return DeploymentRecord{}, err
	}
	return openRecord(d, secret, data)
}

// readRoot reads the record as it stands; a stranger's may be none.
func readRoot(ctx context.Context, s Store, d Deployment) ([]byte, error) {
	node, err := s.Read(ctx, d.Root())
	if errors.Is(err, ErrNotFound) {
		return nil, ErrNotApplied
	}
	if err != nil {
		return nil, operatorError(err)
	}
	return node.Data, nil
}

func openRecord(d Deployment, secret Secret, data []byte) (DeploymentRecord, error) {
	what := "the record of the deployment " + string(d)
	var there DeploymentRecord
	if err := json.Unmarshal(sign.Bare(data), &there); err == nil && there.Format != RecordFormat {
		return there, fmt.Errorf("%s: %w", what, &FormatError{there.Format})
	}
	key, err := secret.operatorKey(d)
	if err != nil {
		return there, err
	}
	text, counter, err := key.Public().Open(d.place("", kindDeployment, "", ""), data)
	if err != nil {
		return there, forged(what, "its operator", err)
	}
	record, err := decode[DeploymentRecord](d.Root(), text)
	record.Counter = counter
	return record, err
}

// operatorError says what a refusal means to an operator: everything in a
// deployment is open to those who have its secret, and everything in its plan is
// there.
func operatorError(err error) error {
	switch {
	case errors.Is(err, ErrRefused):
		return fmt.Errorf("%w: %w", ErrWrongSecret, err)
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("%w: %w", ErrUnfinished, err)
	default:
		return err
	}
}
