package zookeeper

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator"
)

// openACL stands on the root: everyone may read it and create and delete nodes
// below it. (Only empty nodes can be deleted; a deployment's are the operator's.)
var openACL = zk.WorldACL(zk.PermRead | zk.PermCreate | zk.PermDelete)

// acl writes grants as ZooKeeper's access list. All rights include that of
// changing the list. Without grants the node belongs to own, or to everyone.
func acl(grants []coordinator.Grant, own *coordinator.Credential) []zk.ACL {
	if len(grants) == 0 {
		if own == nil {
			return zk.WorldACL(zk.PermAll)
		}
		return []zk.ACL{{Perms: zk.PermAll, Scheme: "digest", ID: digest(*own)}}
	}
	var list []zk.ACL
	for _, g := range grants {
		entry := zk.ACL{Perms: permissions(g.May), Scheme: "digest", ID: digest(g.To)}
		// ZooKeeper refuses an entry without permissions.
		if entry.Perms != 0 && !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}

func permissions(may coordinator.Rights) int32 {
	if may&coordinator.MayAll == coordinator.MayAll {
		return zk.PermAll
	}
	var perms int32
	for _, p := range []struct {
		may  coordinator.Rights
		perm int32
	}{
		{coordinator.MayRead, zk.PermRead},
		{coordinator.MayWrite, zk.PermWrite},
		{coordinator.MayCreateChildren, zk.PermCreate},
		{coordinator.MayDeleteChildren, zk.PermDelete},
	} {
		if may&p.may != 0 {
			perms |= p.perm
		}
	}
	return perms
}

// auth is what a session proves itself with.
func auth(c coordinator.Credential) []byte { return []byte(c.User + ":" + c.Password) }

// digest is the id by which a server knows who sent auth(c): all of it hashed, and
// before that the user, which for ZooKeeper ends at the first colon
// (org.apache.zookeeper.server.auth.DigestAuthenticationProvider). A server's name
// may hold one.
func digest(c coordinator.Credential) string {
	sum := sha1.Sum(auth(c))
	user, _, _ := strings.Cut(c.User, ":")
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}
