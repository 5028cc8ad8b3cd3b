package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
)

// A ROOT in which everybody may create lets everybody take names of deployments. A closed
// one belongs to who has its key: 64 hex digits, as a deployment's secret, one for each
// project. Only its operators create deployments there, and can list and delete all of
// them; agents need nothing of it (docs/security.md).

// RootRecord stands in a closed ROOT, at ":root". So the ROOT is never empty, and nobody
// who may delete in the node above can take it away.
type RootRecord struct {
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
	// Limit bounds each deployment that is made there, where the coordinator can.
	Limit coordinator.Limit `json:"limit,omitzero"`
}

// DefaultLimit is what a deployment may be, unless a ROOT says otherwise: files and plans of
// the largest ones twice over, as while they are changed.
var DefaultLimit = coordinator.Limit{Nodes: 250_000, Bytes: 128 << 20}

const (
	rootFormat                  = 1
	rootRecord coordinator.Path = ":root" // no stack's name
	probe      coordinator.Path = ":probe"
)

// RootState is whose a ROOT is.
type RootState string

// The states of a ROOT.
const (
	RootAbsent RootState = "absent" // nobody has made it; apply would make an open one
	RootOpen   RootState = "open"   // others than who has its key may create or list there
	RootClosed RootState = "closed" // somebody's, who has another key
	RootOurs   RootState = "ours"   // nobody's but who has the key that was given
)

// Root is a ROOT as it stands.
type Root struct {
	State RootState
	// Holders are who may do what there, as far as the session is told.
	Holders []coordinator.Grant
	Record  RootRecord // of one that is ours
}

// LookAtRoot says whose a store's ROOT is. The session gets the identity of the key's
// owner, if there is one.
func LookAtRoot(ctx context.Context, s coordinator.Store, key *coordinator.Secret) (root Root, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("look at the ROOT: %w", err)
		}
	}()
	var known []coordinator.Credential
	if key != nil {
		known = []coordinator.Credential{key.RootCredential()}
		if err := s.Authenticate(ctx, known[0]); err != nil {
			return root, err
		}
	}
	root.Holders, err = s.Rights(ctx, "", known...)
	switch {
	case errors.Is(err, coordinator.ErrNotFound):
		return Root{State: RootAbsent}, nil
	case errors.Is(err, coordinator.ErrRefused):
		return Root{State: RootClosed}, nil
	case err != nil:
		return root, err
	case key == nil || !slices.Equal(root.Holders, rootGrants(*key)):
		root.State = RootOpen
		return root, nil
	}
	root.State = RootOurs
	node, err := s.Read(ctx, rootRecord)
	if errors.Is(err, coordinator.ErrNotFound) { // it is about to be made
		return root, nil
	}
	if err == nil {
		root.Record, err = coordinator.Decode[RootRecord](rootRecord, node.Data)
	}
	return root, err
}

func rootGrants(key coordinator.Secret) []coordinator.Grant {
	return []coordinator.Grant{{To: key.RootCredential(), May: coordinator.MayAll}}
}

// MakeRoot makes a ROOT, or changes the limit of the deployments that will be made in one
// that is the key's own. One that stands and is not is ErrRights.
func MakeRoot(ctx context.Context, s coordinator.Store, key coordinator.Secret, limit coordinator.Limit, now time.Time) (Root, error) {
	root, err := LookAtRoot(ctx, s, &key)
	if err != nil {
		return root, err
	}
	if root.State == RootOpen || root.State == RootClosed {
		return root, fmt.Errorf("make the ROOT: %w", coordinator.ErrRights)
	}
	if root.Record.Format == 0 {
		root.Record = RootRecord{Format: rootFormat, Created: now.UTC().Truncate(time.Second), Limit: limit}
	}
	root.Record.Limit = limit
	data, err := coordinator.Encode(root.Record)
	if err == nil {
		err = s.Create(ctx, []coordinator.NewNode{{Path: "", Grants: rootGrants(key)}})
	}
	if err == nil {
		err = s.Create(ctx, []coordinator.NewNode{{Path: rootRecord, Data: data, Grants: rootGrants(key)}})
	}
	if errors.Is(err, coordinator.ErrExists) {
		err = s.Commit(ctx, coordinator.Op{Path: rootRecord, Version: coordinator.AnyVersion, Write: true, Data: data})
	}
	if err != nil {
		return root, fmt.Errorf("make the ROOT: %w", err)
	}
	root, err = LookAtRoot(ctx, s, &key)
	if err == nil && root.State != RootOurs { // somebody was quicker
		err = fmt.Errorf("make the ROOT: %w", coordinator.ErrRights)
	}
	return root, err
}

// Enforces says whether the coordinator refuses what is over a limit: it tries, in a ROOT
// that is the key's own.
func Enforces(ctx context.Context, s coordinator.Store, key coordinator.Secret) (bool, error) {
	l, is := s.(coordinator.Limiter)
	if !is {
		return false, nil
	}
	err := s.DeleteTree(ctx, probe)
	if err == nil {
		err = l.SetLimit(ctx, probe, coordinator.Limit{Bytes: 1}, rootGrants(key)...)
	}
	if err != nil {
		return false, err
	}
	err = s.Create(ctx, []coordinator.NewNode{{Path: probe, Data: []byte("more than that"), Grants: rootGrants(key)}})
	full := errors.Is(err, coordinator.ErrFull)
	if full {
		err = nil
	}
	return full, errors.Join(err, s.DeleteTree(ctx, probe), l.SetLimit(ctx, probe, coordinator.Limit{}))
}

// InRoot publishes a deployment in a closed ROOT: who has its key may list and delete it,
// too, and a new one gets its limit.
type InRoot struct {
	Key  coordinator.Secret
	Root Root
}

// limit bounds a deployment that is about to be made in a closed ROOT, where the coordinator can.
func (w *Publication) limit(ctx context.Context, s coordinator.Store, result Published) error {
	if w.Root == nil {
		return nil
	}
	l := w.Root.Root.Record.Limit
	switch {
	case l.Nodes != 0 && int64(result.Nodes) > l.Nodes, l.Bytes != 0 && int64(result.Bytes) > l.Bytes:
		return fmt.Errorf("it has %d nodes of %d bytes, the ROOT lets a deployment have %d of %d: %w", result.Nodes, result.Bytes, l.Nodes, l.Bytes, coordinator.ErrTooLarge)
	}
	limiter, can := s.(coordinator.Limiter)
	if !can {
		return nil
	}
	return limiter.SetLimit(ctx, w.Deployment.Root(), l, coordinator.Grant{To: w.Root.Key.RootCredential(), May: coordinator.MayAll})
}
