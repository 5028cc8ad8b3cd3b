package zookeeper

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// openACL is the root's: everyone may read it and create and delete nodes below it. (Only empty
// nodes can be deleted; a deployment's are the operator's.)
var openACL = zk.WorldACL(zk.PermRead | zk.PermCreate | zk.PermDelete)

// acl translates the rights on a new node to ZooKeeper's access list.
func (s *client) acl(grants []store.Grant) []zk.ACL {
	return aclOf(store.NewAccess(s.principals(), grants))
}

// aclOf is a list without entries without permissions, which ZooKeeper refuses.
func aclOf(a store.Access) []zk.ACL {
	var list []zk.ACL
	for _, g := range grantsOf(a.May) {
		list = append(list, entryOf(g.To, g.May))
	}
	return list
}

func grantsOf(all map[store.Principal]store.Rights) (grants []store.Grant) {
	for to, may := range all {
		grants = append(grants, store.Grant{To: to, May: may})
	}
	return store.SortGrants(grants)
}

// digest is the scheme of entries for users with a password.
const digest = "digest"

// everyone is the entry for all sessions, without permissions.
var everyone = zk.WorldACL(0)[0]

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

// rightsOf are those of permissions.
func rightsOf(perms int32) (may store.Rights) {
	for _, p := range permissionOf {
		if perms&p.perm != 0 {
			may |= p.may
		}
	}
	return may
}

func (s *client) Rights(ctx context.Context, path store.Path) ([]store.Grant, error) {
	_, list, err := s.accessList(ctx, s.at(path))
	if err != nil {
		return nil, fail("ask for the rights of", path, err)
	}
	return grantsOf(holders(list)), nil
}

// hidden is what ZooKeeper shows in place of a digest to sessions that may not change a list.
const hidden = "x"

// holders are the principals in a list, each with the rights of all of its entries.
func holders(list []zk.ACL) map[store.Principal]store.Rights {
	all := map[store.Principal]store.Rights{}
	for _, entry := range list {
		to := store.Everyone
		if entry.Scheme == digest {
			if to.Name, to.ID, _ = strings.Cut(entry.ID, ":"); to.ID == hidden {
				to.ID = ""
			}
		} else if entry.Scheme != everyone.Scheme || entry.ID != everyone.ID { // an administrator's
			to = store.Principal{Name: entry.Scheme + " " + entry.ID, ID: entry.Scheme}
		}
		all[to] |= rightsOf(entry.Perms)
	}
	return all
}

// sameRights compares the list of a node with the required one.
func (s *client) sameRights(there, wanted []zk.ACL) bool {
	return store.Access{May: holders(wanted)}.Same(s.principals(), store.Access{May: holders(there)})
}

// entryOf is a principal's in a list.
func entryOf(of store.Principal, may store.Rights) zk.ACL {
	e := zk.ACL{Scheme: digest, ID: of.Name + ":" + of.ID}
	if of == store.Everyone {
		e = everyone
	} else if id, other := strings.CutPrefix(of.Name, of.ID+" "); other && of.ID != "" {
		e = zk.ACL{Scheme: of.ID, ID: id}
	}
	for _, p := range permissionOf {
		if may&p.may != 0 {
			e.Perms |= p.perm
		}
	}
	return e
}

// ChangeRights implements store.Session. ZooKeeper counts how often an access list was changed,
// and changes it only if the count is still the given one: so the first change is made once. It
// cannot change a list together with other nodes: between the check of a guard and the change only
// the list itself is protected.
func (s *client) ChangeRights(ctx context.Context, path store.Path, c store.RightsChange) error {
	at := s.at(path)
	for {
		version, list, err := s.accessList(ctx, at)
		if err != nil {
			return fail("change the rights of", path, err)
		}
		before := store.Access{May: holders(list), Changes: int(version)}
		after, err := before.Change(s.principals(), c)
		if err == nil && after.Changes == before.Changes {
			return nil
		}
		if err == nil && c.Guard != nil {
			is, stands, statErr := s.Stat(ctx, c.Guard.Path)
			if err = statErr; err == nil && (!stands || is != c.Guard.Version) {
				err = store.ErrVersion
			}
		}
		if err == nil {
			_, err = ask(ctx, s, write, func(conn *zk.Conn) (*zk.Stat, error) { return conn.SetACL(at, aclOf(after), version) })
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, zk.ErrBadVersion) {
			return fail("change the rights of", path, err)
		}
	}
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
