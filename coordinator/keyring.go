package coordinator

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/coordinator/plan"
)

// namedReaders is how many readers an access list names one by one. A list of
// 1,000 costs ZooKeeper 30 ms and fills its requests: above this number the
// readers get an identity together.
const namedReaders = 8

// keyring knows the identities of a deployment, each computed once, and which
// servers are in which readers' set.
type keyring struct {
	tokens
	record   DeploymentRecord
	operator Grant
	root     *Credential // of the ROOT's operators, where it is closed
	servers  map[plan.ServerPath]Credential
	sets     map[string]Credential
	members  map[plan.ServerPath]map[string]string // passwords by set
}

func newKeyring(t tokens, record DeploymentRecord, root *Credential) *keyring {
	return &keyring{
		tokens:   t,
		record:   record,
		operator: Grant{To: t.secret.Operator(t.deployment), May: MayAll},
		root:     root,
		servers:  map[plan.ServerPath]Credential{},
		sets:     map[string]Credential{},
		members:  map[plan.ServerPath]map[string]string{},
	}
}

func (k *keyring) server(s plan.ServerPath, may Rights) Grant {
	c, known := k.servers[s]
	if !known {
		c = ServerCredential(s, k.token(s))
		if k.record.Enrol == EnrolOnce {
			c = k.secret.memberCredential(k.deployment, k.record, s)
		}
		k.servers[s] = c
	}
	return Grant{To: c, May: may}
}

// named is the identity of a server of the plan by its user; none is the zero value.
func (k *keyring) named(user string) Credential {
	for _, c := range k.servers {
		if c.User == user {
			return c
		}
	}
	return Credential{}
}

// readers gives servers the right to read, one by one or as a set.
func (k *keyring) readers(servers []plan.ServerPath) []Grant {
	servers = slices.Compact(slices.Sorted(slices.Values(servers)))
	if len(servers) <= namedReaders {
		grants := make([]Grant, 0, len(servers))
		for _, s := range servers {
			grants = append(grants, k.server(s, MayRead))
		}
		return grants
	}
	id := readerSetID(servers)
	set, known := k.sets[id]
	if !known {
		set = k.secret.ReaderSet(k.deployment, id)
		k.sets[id] = set
		for _, s := range servers {
			if k.members[s] == nil {
				k.members[s] = map[string]string{}
			}
			k.members[s][id] = set.Password
		}
	}
	return []Grant{{To: set, May: MayRead}}
}

// readerSetID names a set of servers, which are sorted (docs/coordination.md, "Tokens").
func readerSetID(sorted []plan.ServerPath) string {
	var text strings.Builder
	for i, s := range sorted {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(string(s))
	}
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:16])
}

// readerSet is the identity of a readers' set as its members have it.
func readerSet(id, password string) Credential {
	return Credential{User: "readers-" + id, Password: password}
}
