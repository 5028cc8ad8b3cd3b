package deploy

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Adding or removing servers, roles, outputs and edges adds or removes nodes and rights. A
// coordinator cannot change rights in one commit with other nodes. So all that the new plan needs
// is created, and granted, before any server is told of it (grow), and what only the old plan
// needed is removed when all have been told (shrink). In between both apply, and a resumed change
// finds out from the nodes what is left to do.

// nodesOf are the nodes that a change of the plan creates, and whose rights it changes, by path:
// not the record, the plan, the files, the identities, nor parts.
func nodesOf(nodes []node) map[store.Path]node {
	all := map[store.Path]node{}
	for _, n := range nodes {
		switch n.class {
		case ofRecord, ofPlan, ofFile, ofIdentity:
			continue
		case ofServerPlan, ofKeys, ofServersKeys:
			n.Data = nil // a separate commit writes it
		}
		if !n.part {
			all[n.Path] = n
		}
	}
	return all
}

// changeNodes computes the nodes of the live plan and of the new one.
func (u *update) changeNodes() error {
	nodes, err := layout(u.keys, u.to, nil, nil)
	if err != nil {
		return err
	}
	u.nodes = nodesOf(nodes)
	if u.liveKeys, err = newKeyring(u.tokens, u.record, u.root); err != nil {
		return err
	}
	if nodes, err = layout(u.liveKeys, u.live, nil, nil); err != nil {
		return err
	}
	u.liveNodes = nodesOf(nodes)
	return nil
}

// stands reports whether a node is known to exist with the rights that it needs.
func (u *update) stands(path store.Path) bool {
	was, is := u.liveNodes[path]
	return is && !u.resumed && !u.missing[path] && slices.Equal(was.Grants, u.nodes[path].Grants)
}

// grow creates the nodes that the plan adds, and grants servers their rights.
func (u *update) grow(ctx context.Context) error {
	paths := slices.Sorted(maps.Keys(u.nodes))
	absent, err := store.Those(ctx, paths, func(ctx context.Context, path store.Path) (bool, error) {
		n := u.nodes[path]
		if u.stands(path) {
			return false, nil
		}
		_, exists, err := u.store.Stat(ctx, path)
		if err != nil || !exists || rules[n.class].later == anythingLater {
			return !exists, err
		}
		return false, store.Allow(ctx, u.store, path, n.Grants...)
	})
	if err != nil {
		return err
	}
	nodes := make([]node, len(absent))
	for i, path := range absent {
		nodes[i] = u.nodes[path]
	}
	return u.overtaken(ctx, u.store.Create(ctx, bare(nodes)))
}

// overtaken adds ErrOvertaken to a conflicting write's error if another apply has begun.
func (u *update) overtaken(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrRights) || errors.Is(err, store.ErrVersion) || errors.Is(err, store.ErrNotFound) {
		return errors.Join(u.check(ctx), err)
	}
	return err
}

// guard checks that the record is still the one that this change has written.
func (u *update) guard() store.Op { return store.Op{Path: u.d.Root(), Version: u.version} }

// tellRelays gives relays the keys of the plan's servers.
func (u *update) tellRelays(ctx context.Context) error {
	keys, err := serversKeys(u.keys, u.to)
	if err != nil {
		return err
	}
	path := u.d.ServersKeys()
	var version store.Version
	there, _, err := u.told(ctx, protocol.KindKeysOf, "", path, &version)
	if err != nil {
		return err
	}
	if bare, err := protocol.Encode(keys); err != nil || string(there) == string(bare) {
		return err
	}
	text, err := u.keys.sign(protocol.KindKeysOf, "", keys)
	if err != nil {
		return err
	}
	write, clean, err := u.replace(ctx, path, version, text, ofServersKeys, "")
	if err == nil {
		err = u.overtaken(ctx, u.store.Commit(ctx, u.guard(), write))
	}
	if err != nil {
		return err
	}
	return clean(ctx)
}

// welcome writes the identities of added servers, with which their agents join.
func (u *update) welcome(ctx context.Context) error {
	before := map[contract.ServerPath]bool{}
	for _, s := range u.live.Servers {
		before[s.Path] = !u.missing[u.d.Identity(s.Path)]
	}
	return store.Each(ctx, len(u.to.Servers), func(ctx context.Context, i int) error {
		s := u.to.Servers[i].Path
		if before[s] && !u.resumed {
			return nil
		}
		text, err := u.keys.identity(s, time.Time{})
		if err != nil {
			return err
		}
		path := u.d.Identity(s)
		node, err := u.store.Read(ctx, path)
		if errors.Is(err, store.ErrNotFound) {
			return u.overtaken(ctx, u.store.Create(ctx, []store.NewNode{{Path: path, Data: text, Grants: u.keys.grants(ofIdentity, s)}}))
		}
		if err != nil || u.keys.removed(s, node.Data).IsZero() {
			return err
		}
		return u.overtaken(ctx, u.store.Commit(ctx, u.guard(), store.Op{Path: path, Version: node.Version, Write: true, Data: text}))
	})
}

// shrink removes what the plan does not have: rights, nodes, servers.
func (u *update) shrink(ctx context.Context) error {
	paths := slices.Sorted(maps.Keys(u.nodes))
	err := store.Each(ctx, len(paths), func(ctx context.Context, i int) error {
		n := u.nodes[paths[i]]
		if u.stands(n.Path) || rules[n.class].later == anythingLater {
			return nil
		}
		return store.SetRights(ctx, u.store, n.Path, u.guard(), n.Grants...)
	})
	if err == nil {
		err = u.closeFiles(ctx)
	}
	if err != nil {
		return u.overtaken(ctx, err)
	}
	gone, err := u.gone(ctx)
	if err != nil {
		return err
	}
	for _, path := range gone {
		if err := u.check(ctx); err != nil {
			return err
		}
		if s, is := u.isServer(path); is && s != contract.Operator {
			err = u.bury(ctx, s)
		} else {
			err = u.store.DeleteTree(ctx, path)
		}
		if err != nil {
			return u.overtaken(ctx, err)
		}
	}
	return nil
}

// closeFiles revokes removed servers' access to files. Remaining servers may be about to read what
// they used until now.
func (u *update) closeFiles(ctx context.Context) error {
	goes := map[contract.ServerPath]bool{}
	for _, s := range u.live.Servers {
		goes[s.Path] = true
	}
	for _, s := range u.to.Servers {
		delete(goes, s.Path)
	}
	if !u.resumed && len(goes) == 0 {
		return nil
	}
	before, now := usersOf(u.live), usersOf(u.to)
	may := map[store.Path][]store.Grant{}
	for _, f := range slices.Concat(u.live.Files, u.to.Files) {
		users, grants := before[f.Digest], u.keys.grants(ofFile, "", now[f.Digest]...)
		staying := slices.DeleteFunc(slices.Clone(users), func(s contract.ServerPath) bool { return goes[s] })
		if len(staying) == len(users) || len(users) <= namedReaders { // otherwise they are a set that includes a removed one
			for _, g := range u.liveKeys.grants(ofFile, "", staying...) {
				if !slices.Contains(grants, g) {
					grants = append(grants, g)
				}
			}
		}
		may[u.d.File(f.Digest)] = grants
	}
	paths := slices.Sorted(maps.Keys(may))
	return store.Each(ctx, len(paths), func(ctx context.Context, i int) error {
		path := paths[i]
		parts, err := u.store.Children(ctx, path)
		if err == nil {
			err = store.SetRights(ctx, u.store, path, u.guard(), may[path]...)
		}
		for _, part := range parts {
			if err == nil {
				err = store.SetRights(ctx, u.store, path.Join(part), u.guard(), may[path]...)
			}
		}
		if errors.Is(err, store.ErrNotFound) {
			return nil // the previous change is deleting it: see layAgain
		}
		return err
	})
}

// gone are the nodes that the plan does not have, without those below others.
func (u *update) gone(ctx context.Context) ([]store.Path, error) {
	there := maps.Clone(u.liveNodes)
	if u.resumed { // the interrupted change's plan is unknown
		if err := u.explore(ctx, there); err != nil {
			return nil, err
		}
	}
	var all []store.Path
	for _, path := range slices.Sorted(maps.Keys(there)) {
		if _, stays := u.nodes[path]; stays {
			continue
		}
		if len(all) == 0 || !strings.HasPrefix(string(path), string(all[len(all)-1])+"/") {
			all = append(all, path)
		}
	}
	return all, nil
}

// explore adds the nodes that exist below the groups and the servers.
func (u *update) explore(ctx context.Context, found map[store.Path]node) error {
	list := func(path store.Path) (paths []store.Path, err error) {
		names, err := u.store.Children(ctx, path)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		for _, name := range names {
			at := path.Join(name)
			paths = append(paths, at)
			if path.Parent() != u.d.Servers() || name != "identity" { // which stays
				found[at] = node{}
			}
		}
		return paths, err
	}
	if _, exists, err := u.store.Stat(ctx, u.d.Groups()); err != nil {
		return err
	} else if exists {
		found[u.d.Groups()] = node{}
	}
	_, errGroups := list(u.d.Groups())
	servers, err := list(u.d.Servers())
	if err = errors.Join(errGroups, err); err != nil {
		return err
	}
	for _, server := range servers {
		if s, _ := u.isServer(server); s != contract.Operator && u.nodes[server].Path == "" {
			continue // all of it is removed
		}
		for _, folder := range []store.Path{server, server.Join("cells"), server.Join("seals")} {
			if _, err := list(folder); err != nil {
				return err
			}
		}
	}
	return nil
}
