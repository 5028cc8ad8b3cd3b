package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Two nodes of a server that was removed from a deployment stay: its incarnation, which no machine
// has any more, so that every write of its agent is refused; and its identity record, which says
// that it was removed. Its token can read these two, and nothing else. A server that gets the same
// name later continues the incarnation's number: readers of the old one accept nothing older.

// isServer reports whether a path is that of a server, and which one.
func (u *update) isServer(path store.Path) (contract.ServerPath, bool) {
	if path.Parent() != u.d.Servers() {
		return "", false
	}
	name, err := url.PathUnescape(string(path)[len(u.d.Servers())+1:])
	return contract.ServerPath(name), err == nil
}

// removed is when a server was removed, by its identity record; zero if it was not.
func (k *keyring) removed(s contract.ServerPath, data []byte) time.Time {
	var record protocol.IdentityRecord
	var identity protocol.Identity
	if json.Unmarshal(data, &record) != nil {
		return time.Time{}
	}
	text, _, err := k.signer.Public().Open(k.deployment.Place(k.record.ID, protocol.KindIdentity, s, ""), record.Identity)
	if err != nil || json.Unmarshal(text, &identity) != nil {
		return time.Time{}
	}
	return identity.Removed
}

// Removed is a server that was removed from a deployment.
type Removed struct {
	Path  contract.ServerPath `json:"path"`
	Since time.Time           `json:"since"`
}

// Removed finds the servers that are not in the plan, and were removed, by name.
func (r *Reader) Removed(ctx context.Context, p *contract.Plan) ([]Removed, error) {
	d := r.keys.deployment
	names, err := r.store.Children(ctx, d.Servers())
	if err != nil {
		return nil, err
	}
	in := map[store.Path]bool{}
	for _, s := range p.Servers {
		in[d.Server(s.Path)] = true
	}
	slices.Sort(names)
	var all []Removed
	for _, name := range names {
		path, err := url.PathUnescape(name)
		s := contract.ServerPath(path)
		if err != nil || s == contract.Operator || in[d.Server(s)] {
			continue
		}
		node, err := r.store.Read(ctx, d.Identity(s))
		if errors.Is(err, store.ErrNotFound) {
			continue // a change has only begun to create it
		}
		if err != nil {
			return nil, err
		}
		if since := r.keys.removed(s, node.Data); !since.IsZero() {
			all = append(all, Removed{s, since})
		}
	}
	return all, nil
}

// bury removes a server.
func (u *update) bury(ctx context.Context, s contract.ServerPath) error {
	path := u.d.Server(s)
	if err := u.unseat(ctx, s); err != nil {
		return fmt.Errorf("remove the server %s: %w", s, err)
	}
	err := store.SetRights(ctx, u.store, path, u.guard(), u.keys.grants(ofRemoved, s)...)
	if err != nil {
		return err
	}
	names, err := u.store.Children(ctx, path)
	if err != nil {
		return err
	}
	for _, name := range names {
		at := path.Join(name)
		if at == u.d.Identity(s) {
			continue
		}
		if err := u.check(ctx); err != nil {
			return err
		}
		own := at == u.d.Agent(s)
		if own { // where its agent can create nodes
			if err := store.SetRights(ctx, u.store, at, u.guard(), u.keys.grants(ofFolder, "")...); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		err := u.store.DeleteTree(ctx, at)
		if own && errors.Is(err, store.ErrRefused) {
			continue // it holds nodes that only the server can delete: see ErrNotOurs
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unseat ends the incarnation of the server's machine and marks the server as removed, in one commit.
func (u *update) unseat(ctx context.Context, s contract.ServerPath) error {
	grants := u.keys.grants(ofIdentity, s)
	text, err := u.keys.identity(s, u.now.UTC().Truncate(time.Second))
	if err != nil {
		return err
	}
	for {
		node, err := u.store.Read(ctx, u.d.Server(s))
		if err != nil {
			return err
		}
		identity, err := u.store.Read(ctx, u.d.Identity(s))
		if errors.Is(err, store.ErrNotFound) { // another change has only begun to create it
			if err := u.store.Create(ctx, []store.NewNode{{Path: u.d.Identity(s), Data: text, Grants: grants}}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		there := protocol.ParseIncarnation(node)
		if there.ID == "" && !u.keys.removed(s, identity.Data).IsZero() {
			return nil
		}
		data, err := protocol.Encode(protocol.IncarnationRecord{Number: there.Number})
		if err != nil {
			return err
		}
		err = u.store.Commit(ctx, u.guard(),
			store.Op{Path: u.d.Server(s), Version: node.Version, Write: true, Data: data},
			store.Op{Path: u.d.Identity(s), Version: identity.Version, Write: true, Data: text})
		if err == nil || !errors.Is(err, store.ErrVersion) {
			return err
		}
		if err := u.check(ctx); err != nil { // otherwise a machine has enrolled meanwhile
			return err
		}
	}
}
