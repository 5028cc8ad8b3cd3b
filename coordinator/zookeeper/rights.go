package zookeeper

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// openACL is the root's: everyone may read it and create and delete nodes below it. (Only empty
// nodes can be deleted; a deployment's are the operator's.)
var openACL = zk.WorldACL(zk.PermRead | zk.PermCreate | zk.PermDelete)

// identities caches digests of credentials: the same few have rights on thousands of nodes.
type identities map[store.Credential]string

func (ids identities) of(c store.Credential) string {
	id, known := ids[c]
	if !known {
		id = digest(c)
		ids[c] = id
	}
	return id
}

// acl is the list of one node.
func acl(grants []store.Grant, own *store.Credential) []zk.ACL {
	return identities{}.acl(grants, own)
}

// acl translates grants to ZooKeeper's access list. All rights include that of changing the list.
// Without grants the node belongs to own, or to everyone.
func (ids identities) acl(grants []store.Grant, own *store.Credential) []zk.ACL {
	if len(grants) == 0 {
		if own == nil {
			return zk.WorldACL(zk.PermAll)
		}
		return []zk.ACL{{Perms: zk.PermAll, Scheme: "digest", ID: ids.of(*own)}}
	}
	list := make([]zk.ACL, 0, len(grants))
	for _, g := range grants {
		entry := zk.ACL{Perms: permissions(g.May), Scheme: "digest", ID: ids.of(g.To)}
		if g.To.User == "" {
			entry.Scheme, entry.ID = "world", "anyone"
		}
		// ZooKeeper refuses an entry without permissions.
		if entry.Perms != 0 && !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}

// permissionOf are ZooKeeper's permissions for the rights.
var permissionOf = []struct {
	may  store.Rights
	perm int32
}{
	{store.MayRead, zk.PermRead},
	{store.MayWrite, zk.PermWrite},
	{store.MayCreateChildren, zk.PermCreate},
	{store.MayDeleteChildren, zk.PermDelete},
	{store.MayHandOver, zk.PermAdmin},
}

func permissions(may store.Rights) (perms int32) {
	for _, p := range permissionOf {
		if may&p.may != 0 {
			perms |= p.perm
		}
	}
	return perms
}

// rightsOf is the inverse of permissions.
func rightsOf(perms int32) (may store.Rights) {
	for _, p := range permissionOf {
		if perms&p.perm != 0 {
			may |= p.may
		}
	}
	return may
}

func (s *client) Rights(ctx context.Context, path store.Path, known ...store.Credential) ([]store.Grant, error) {
	_, list, err := s.accessList(ctx, s.at(path))
	if err != nil {
		return nil, fail("ask for the rights of", path, err)
	}
	ids := map[holder]store.Credential{{"world", "anyone"}: {}}
	for _, c := range known {
		ids[holder{"digest", digest(c)}] = c
	}
	var grants []store.Grant
	for h, perms := range holders(list) {
		to, is := ids[h]
		switch {
		case !is && h.scheme == "digest":
			to = store.Credential{User: user(h.id)}
		case !is:
			to = store.Credential{User: h.scheme + " " + h.id}
		}
		grants = append(grants, store.Grant{To: to, May: rightsOf(perms)})
	}
	return store.SortGrants(grants), nil
}

// holder is the user of an entry in an access list.
type holder struct{ scheme, id string }

// holders are the users in a list, each with the permissions of all of its entries.
func holders(list []zk.ACL) map[holder]int32 {
	all := map[holder]int32{}
	for _, entry := range list {
		all[holder{entry.Scheme, entry.ID}] |= entry.Perms
	}
	return all
}

// sameRights compares the list of a node with the required one. ZooKeeper shows sessions that may
// not change a list "x" in place of digests: then users are compared. No digest can be x, and a
// session that may see the list has rights by it.
func sameRights(there, wanted []zk.ACL) bool {
	has := holders(there)
	want := holders(wanted)
	if maps.Equal(has, want) {
		return true
	}
	shown := map[holder]int32{}
	for h, perms := range want {
		if h.scheme == "digest" {
			h.id = user(h.id) + ":x"
		}
		shown[h] |= perms
	}
	return maps.Equal(has, shown)
}

// ChangeRights implements store.Session. ZooKeeper counts how often an access list was changed,
// and changes it only if the count is still the given one: so the first change is made once. It
// cannot change a list together with other nodes: between the check of a guard and the change only
// the list itself is protected.
func (s *client) ChangeRights(ctx context.Context, path store.Path, c store.RightsChange) error {
	at := s.at(path)
	for {
		version, there, err := s.accessList(ctx, at)
		var list []zk.ACL
		if err == nil {
			list, err = s.changed(ctx, version, there, c)
		}
		if err == nil && list != nil {
			_, err = ask(ctx, s, write, func(conn *zk.Conn) (*zk.Stat, error) { return conn.SetACL(at, list, version) })
		}
		switch {
		case errors.Is(err, zk.ErrBadVersion):
		case err != nil:
			return fail("change the rights of", path, err)
		default:
			return nil
		}
	}
}

// changed is an access list after a change; nil if nothing changes.
func (s *client) changed(ctx context.Context, version int32, there []zk.ACL, c store.RightsChange) ([]zk.ACL, error) {
	switch {
	case c.From != nil:
		mine := digest(*c.From)
		if version == 1 && handedOver(there, *c.From, c.Grants[0]) {
			return nil, nil
		}
		has := slices.ContainsFunc(there, func(e zk.ACL) bool { return e.ID == mine && e.Perms&zk.PermAdmin != 0 })
		if !has || version != 0 {
			return nil, store.ErrRefused
		}
		there = slices.DeleteFunc(there, func(e zk.ACL) bool { return e.ID == mine })
		return append(there, acl(c.Grants, nil)...), nil
	case c.Guard != nil:
		list := acl(c.Grants, s.owner())
		if maps.Equal(holders(there), holders(list)) {
			return nil, nil
		}
		is, stands, err := s.Stat(ctx, c.Guard.Path)
		if err == nil && (!stands || is != c.Guard.Version) {
			err = store.ErrVersion
		}
		return list, err
	}
	more := slices.DeleteFunc(acl(c.Grants, nil), func(e zk.ACL) bool { return len(c.Grants) == 0 || slices.Contains(there, e) })
	if len(more) == 0 {
		return nil, nil
	}
	return append(there, more...), nil
}

// handedOver reports whether a list that was changed once is the result of HandOver. ZooKeeper
// hides the digests from sessions that may not change the list, so users are compared. It cannot be
// another user with to's name: the session would not see the list, unless it may read the node with
// another identity.
func handedOver(list []zk.ACL, from store.Credential, to store.Grant) bool {
	giver, taker, given := user(digest(from)), user(digest(to.To)), 0
	for _, entry := range list {
		switch {
		case entry.Scheme != "digest", user(entry.ID) == giver:
			return false
		case user(entry.ID) == taker:
			if entry.Perms != permissions(to.May) || given > 0 {
				return false
			}
			given++
		}
	}
	return given == 1
}

// user is the user of a digest id: for ZooKeeper it ends at the first colon.
func user(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return name
}

// accessList reads a node's list, with its version. Digests are hidden from sessions that may not
// change it.
func (s *client) accessList(ctx context.Context, at string) (int32, []zk.ACL, error) {
	type found struct {
		list []zk.ACL
		stat *zk.Stat
	}
	f, err := ask(ctx, s, read, func(c *zk.Conn) (f found, err error) {
		f.list, f.stat, err = c.GetACL(at)
		return f, err
	})
	if err != nil {
		return 0, nil, err
	}
	return f.stat.Aversion, f.list, nil
}

// auth is what a session authenticates with.
func auth(c store.Credential) []byte { return []byte(c.User + ":" + c.Password) }

// digest is a server's id for a session that sent auth(c): the user, which for ZooKeeper ends at
// the first colon, and a hash of all of it
// (org.apache.zookeeper.server.auth.DigestAuthenticationProvider). A server's name may contain a
// colon.
func digest(c store.Credential) string {
	sum := sha1.Sum(auth(c))
	return user(c.User) + ":" + base64.StdEncoding.EncodeToString(sum[:])
}
