package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// In an open ROOT everyone may create nodes, and so take deployments' names. A closed one belongs
// to the holders of its key: 64 hex digits, like a deployment's secret, one for each project. Only
// they create deployments there, and can list and delete all of them; agents do not need the key
// (docs/security.md).

// RootRecord is in a closed ROOT, at ":root". So the ROOT is never empty, and cannot be deleted by
// users who may delete in its parent.
type RootRecord struct {
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
	// Limit bounds each deployment that is created there.
	Limit store.Limit `json:"limit,omitzero"`
}

// DefaultLimit bounds a deployment unless a ROOT says otherwise: twice the files and plans of the
// largest ones, as needed while they are changed.
var DefaultLimit = store.Limit{Nodes: 250_000, Bytes: 128 << 20}

const (
	rootFormat            = 1
	rootRecord store.Path = ":root" // no stack's name
	probe      store.Path = ":probe"
)

// RootState says whose a ROOT is.
type RootState string

// The states of a ROOT.
const (
	RootAbsent RootState = "absent" // it does not exist; apply would create an open one
	RootOpen   RootState = "open"   // users without its key may create or list there
	RootClosed RootState = "closed" // it has another key
	RootOurs   RootState = "ours"   // it belongs to the supplied key alone
)

// Root is the state of a ROOT.
type Root struct {
	State RootState
	// Holders are the grants there, as far as the session may see them.
	Holders []store.Grant
	Record  RootRecord // of one that is ours
}

// LookAtRoot reads whose a store's ROOT is. With a key, the session gets its identity.
func LookAtRoot(ctx context.Context, s store.Session, key *protocol.Secret) (root Root, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read the ROOT: %w", err)
		}
	}()
	if key != nil {
		if err := s.Authenticate(ctx, key.RootCredential()); err != nil {
			return root, err
		}
	}
	root.Holders, err = s.Rights(ctx, "")
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Root{State: RootAbsent}, nil
	case errors.Is(err, store.ErrRefused):
		return Root{State: RootClosed}, nil
	case err != nil:
		return root, err
	case key == nil || !slices.Equal(root.Holders, rootGrants(*key)):
		root.State = RootOpen
		return root, nil
	}
	root.State = RootOurs
	node, err := s.Read(ctx, rootRecord)
	if errors.Is(err, store.ErrNotFound) { // it is being created
		return root, nil
	}
	if err == nil {
		root.Record, err = protocol.Decode[RootRecord](rootRecord, node.Data)
	}
	return root, err
}

func rootGrants(key protocol.Secret) []store.Grant {
	return []store.Grant{{To: key.RootCredential().Principal(), May: store.MayAll}}
}

// MakeRoot creates a ROOT, or changes the limit of future deployments in one that is the key's own.
// Any other existing one is ErrRights.
func MakeRoot(ctx context.Context, s store.Session, key protocol.Secret, limit store.Limit, now time.Time) (Root, error) {
	root, err := LookAtRoot(ctx, s, &key)
	if err != nil {
		return root, err
	}
	if root.State == RootOpen || root.State == RootClosed {
		return root, fmt.Errorf("create the ROOT: %w", store.ErrRights)
	}
	if root.Record.Format == 0 {
		root.Record = RootRecord{Format: rootFormat, Created: now.UTC().Truncate(time.Second), Limit: limit}
	}
	root.Record.Limit = limit
	data, err := protocol.Encode(root.Record)
	if err == nil {
		err = s.Create(ctx, []store.NewNode{{Path: "", Grants: rootGrants(key)}})
	}
	if err == nil {
		err = s.Create(ctx, []store.NewNode{{Path: rootRecord, Data: data, Grants: rootGrants(key)}})
	}
	if errors.Is(err, store.ErrExists) {
		err = s.Commit(ctx, store.Op{Path: rootRecord, Version: store.AnyVersion, Write: true, Data: data})
	}
	if err != nil {
		return root, fmt.Errorf("create the ROOT: %w", err)
	}
	root, err = LookAtRoot(ctx, s, &key)
	if err == nil && root.State != RootOurs { // another user was faster
		err = fmt.Errorf("create the ROOT: %w", store.ErrRights)
	}
	return root, err
}

// Enforces tests, in a ROOT that is the key's own, whether the coordinator enforces limits.
func Enforces(ctx context.Context, s store.Session, key protocol.Secret) (bool, error) {
	err := s.DeleteTree(ctx, probe)
	if err == nil {
		err = s.SetLimit(ctx, probe, store.Limit{Bytes: 1}, key.RootCredential().Principal())
	}
	if err != nil {
		return false, err
	}
	err = s.Create(ctx, []store.NewNode{{Path: probe, Data: []byte("more than that"), Grants: rootGrants(key)}})
	full := errors.Is(err, store.ErrFull)
	if full {
		err = nil
	}
	return full, errors.Join(err, s.DeleteTree(ctx, probe), s.SetLimit(ctx, probe, store.Limit{}, key.RootCredential().Principal()))
}

// InRoot publishes a deployment in a closed ROOT: holders of its key may list and delete the
// deployment, and a new one gets the ROOT's limit.
type InRoot struct {
	Key  protocol.Secret
	Root Root
}

// limit bounds a deployment that is about to be created in a closed ROOT.
func (w *Publication) limit(ctx context.Context, s store.Session, result Published) error {
	if w.Root == nil {
		return nil
	}
	l := w.Root.Root.Record.Limit
	if l.Exceeded(int64(result.Nodes), int64(result.Bytes)) {
		return fmt.Errorf("it has %d nodes of %d bytes in total, the ROOT limits a deployment to %d nodes of %d bytes: %w", result.Nodes, result.Bytes, l.Nodes, l.Bytes, store.ErrTooLarge)
	}
	return s.SetLimit(ctx, w.Deployment.Root(), l, w.Root.Key.RootCredential().Principal())
}
