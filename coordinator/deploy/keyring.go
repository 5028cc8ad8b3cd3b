package deploy

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// namedReaders is how many readers an access list names individually. A list of 1,000 costs
// ZooKeeper 30 ms and fills its requests: above this number the readers share an identity.
const namedReaders = 8

// keyring holds the identities of a deployment, each computed once, and which servers are in which
// reader set.
type keyring struct {
	tokens
	record   protocol.DeploymentRecord
	operator store.Grant
	root     *store.Principal // of the ROOT's operators, where it is closed
	signer   sign.Key         // the operator's
	relay    protocol.RelayKey
	publics  sync.Map // of sign.Public, by contract.ServerPath
	servers  map[contract.ServerPath]store.Principal
	sets     map[string]store.Principal
	members  map[contract.ServerPath]map[string]string // passwords by set
}

func newKeyring(t tokens, record protocol.DeploymentRecord, root *store.Principal) (*keyring, error) {
	signer, err := t.secret.OperatorKey(t.deployment)
	if err != nil {
		return nil, err
	}
	relay, err := t.secret.Relay(t.deployment)
	if err != nil {
		return nil, err
	}
	return &keyring{
		tokens:   t,
		signer:   signer,
		relay:    relay,
		record:   record,
		operator: store.Grant{To: t.secret.Operator(t.deployment).Principal(), May: store.MayAll},
		root:     root,
		servers:  map[contract.ServerPath]store.Principal{},
		sets:     map[string]store.Principal{},
		members:  map[contract.ServerPath]map[string]string{},
	}, nil
}

// sign signs an operator's record for a server.
func (k *keyring) sign(kind string, s contract.ServerPath, record any) ([]byte, error) {
	return protocol.Signed(k.signer, k.deployment.Place(k.record.ID, kind, s, ""), k.record.Counter, record)
}

// public is the key with which a server signs.
func (k *keyring) public(s contract.ServerPath) (sign.Public, error) {
	if s == contract.Operator {
		return k.signer.Public(), nil
	}
	if known, is := k.publics.Load(s); is {
		return known.(sign.Public), nil
	}
	key, err := k.serverKey(s)
	if err != nil {
		return "", err
	}
	k.publics.Store(s, key.Public())
	return key.Public(), nil
}

// serverKey is the private half.
func (k *keyring) serverKey(s contract.ServerPath) (sign.Key, error) {
	member := ""
	if k.record.Enrol == protocol.EnrolOnce {
		member = k.secret.MemberCredential(k.deployment, k.record, s).Password
	}
	return protocol.ServerKey(k.token(s), member)
}

// part is a server's part of the plan, with the keys that the server has to know, and whether a
// relay signals Heat.
func (k *keyring) part(s *contract.Server) (*contract.Server, error) {
	part := *s
	part.Relayed = k.relayed
	part.Keys = map[contract.ServerPath]contract.PublicKey{}
	add := func(of contract.ServerPath) error {
		if of == contract.Operator || part.Keys[of] != "" {
			return nil
		}
		key, err := k.public(of)
		part.Keys[of] = contract.PublicKey(key)
		return err
	}
	err := add(s.Path)
	for _, r := range s.Reads {
		err = errors.Join(err, add(r.Server))
	}
	for _, c := range s.Seals {
		for _, r := range c.Readers {
			err = errors.Join(err, add(r))
		}
	}
	return &part, err
}

func (k *keyring) signedPart(s *contract.Server) ([]byte, error) {
	part, err := k.part(s)
	if err != nil {
		return nil, err
	}
	return k.sign(protocol.KindPlan, s.Path, part)
}

// keys encodes a server's passwords of reader sets.
func (k *keyring) keys(s contract.ServerPath, sets map[string]string) ([]byte, error) {
	if len(sets) == 0 {
		return []byte("{}"), nil
	}
	return k.sign(protocol.KindKeys, s, protocol.KeysRecord{Sets: sets})
}

func (k *keyring) deploymentRecord(r protocol.DeploymentRecord) ([]byte, error) {
	return protocol.Signed(k.signer, k.deployment.Place("", protocol.KindDeployment, "", ""), r.Counter, r)
}

// identity is a server's identity record; a time says that it was removed from the deployment.
func (k *keyring) identity(s contract.ServerPath, removed time.Time) ([]byte, error) {
	relay, err := k.relay.Signer()
	if err != nil {
		return nil, err
	}
	text, err := k.sign(protocol.KindIdentity, s, protocol.Identity{Format: protocol.RecordFormat, Deployment: k.deployment, ID: k.record.ID, Server: s,
		Enrol: k.record.Enrol, Restored: k.record.Restored, Removed: removed, Operator: k.signer.Public(), Relay: &protocol.Relay{Key: relay.Public(), May: []string{protocol.RelayHeat}}})
	if err != nil {
		return nil, err
	}
	key, err := protocol.IdentityKey(k.token(s))
	if err != nil {
		return nil, err
	}
	return protocol.Encode(protocol.IdentityRecord{Identity: text, MAC: sign.MAC(key, text)})
}

// cell reads a cell of any writer.
func (k *keyring) cell(path store.Path, data []byte, ref contract.CellRef) (protocol.CellRecord, error) {
	by, err := k.public(ref.Server)
	if err != nil {
		return protocol.CellRecord{}, err
	}
	return protocol.OpenCell(path, data, by, k.deployment.CellPlace(k.record.ID, ref))
}

// state reads what a server's agent has reported.
func (k *keyring) state(data []byte, s contract.ServerPath) (protocol.ServerState, error) {
	return recordOf[protocol.ServerState](k, protocol.KindState, s, s, "the state of server "+string(s), k.deployment.State(s), data)
}

// publicRecord reads the key that a server publishes for others to seal with.
func (k *keyring) publicRecord(data []byte, s contract.ServerPath) (protocol.PublicRecord, error) {
	return recordOf[protocol.PublicRecord](k, protocol.KindPublic, s, s, "the public key of server "+string(s), k.deployment.Public(s), data)
}

// recordOf reads a record about a server, signed by that server or the operator. *RecordError.
func recordOf[T any](k *keyring, kind string, of, by contract.ServerPath, what string, path store.Path, data []byte) (T, error) {
	var record T
	key, err := k.public(by)
	if err != nil {
		return record, err
	}
	if record, _, err = protocol.OpenForeign[T](path, data, key, k.deployment.Place(k.record.ID, kind, of, "")); err != nil {
		var none T
		return none, &protocol.RecordError{Server: by, What: what, Err: err}
	}
	return record, nil
}

func (k *keyring) server(s contract.ServerPath, may store.Rights) store.Grant {
	p, known := k.servers[s]
	if !known {
		p = k.agent(s)
		k.servers[s] = p
	}
	return store.Grant{To: p, May: may}
}

// agent is who a server's agent is: where tokens are valid for one enrolment, not who has its token.
func (k *keyring) agent(s contract.ServerPath) store.Principal {
	if k.record.Enrol == protocol.EnrolOnce {
		return k.secret.MemberCredential(k.deployment, k.record, s).Principal()
	}
	return protocol.ServerCredential(s, k.token(s)).Principal()
}

// reads reports whether someone is a server of the deployment's, perhaps of another plan, or a set of
// them.
func (k *keyring) reads(p store.Principal) bool {
	kind, name, _ := strings.Cut(p.Name, "-")
	server, err := url.PathUnescape(name)
	return kind == "readers" && p == k.secret.ReaderSet(k.deployment, name).Principal() ||
		slices.Contains(slices.Collect(maps.Values(k.servers)), p) ||
		err == nil && p == k.agent(contract.ServerPath(server))
}

// readers grants servers the right to read, individually or as a set.
func (k *keyring) readers(servers []contract.ServerPath) []store.Grant {
	servers = slices.Compact(slices.Sorted(slices.Values(servers)))
	if len(servers) <= namedReaders {
		return lists.Map(servers, func(s contract.ServerPath) store.Grant { return k.server(s, store.MayRead) })
	}
	id := readerSetID(servers)
	set, known := k.sets[id]
	if !known {
		credential := k.secret.ReaderSet(k.deployment, id)
		set = credential.Principal()
		k.sets[id] = set
		for _, s := range servers {
			if k.members[s] == nil {
				k.members[s] = map[string]string{}
			}
			k.members[s][id] = credential.Password
		}
	}
	return []store.Grant{{To: set, May: store.MayRead}}
}

// readerSetID names a set of servers, which are sorted (docs/coordination.md, "Tokens").
func readerSetID(sorted []contract.ServerPath) string {
	names := lists.Map(sorted, func(s contract.ServerPath) string { return string(s) })
	return protocol.Digest([]byte(strings.Join(names, "\n")))[:32]
}

// tokens computes the tokens of a deployment's servers.
type tokens struct {
	secret     protocol.Secret
	deployment protocol.Deployment
	slots      map[contract.ServerPath]*contract.Slot // of the servers that have one
	relayed    bool                                   // the agents do not signal Heat
	types      map[contract.CellName]contract.Type
}

func newTokens(secret protocol.Secret, d protocol.Deployment, p *contract.Plan) tokens {
	t := tokens{secret, d, map[contract.ServerPath]*contract.Slot{}, p.Signal != contract.AgentsSignal, p.Types()}
	for i := range p.Servers {
		if s := &p.Servers[i]; s.Slot != nil {
			t.slots[s.Path] = s.Slot
		}
	}
	return t
}

// token is a server's token: for one in a slot, the one that its agent derives from the token that
// all members of the group share.
func (t tokens) token(server contract.ServerPath) string {
	if slot := t.slots[server]; slot != nil {
		return protocol.SlotToken(t.secret.ServerToken(t.deployment, slot.Shared), slot.Number)
	}
	return t.secret.ServerToken(t.deployment, server)
}
