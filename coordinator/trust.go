package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/coordinator/sign"
)

// Nothing is trusted for standing in the coordinator. What an operator says is signed
// with a key of the deployment's secret, what a server says with one of its token, and
// an agent learns the operator's key from a record that is authenticated under its
// token, which never travels. Who signs what, and what that does not protect:
// docs/security.md.

// RecordFormat is the version of what stands in a coordinator.
const RecordFormat = 2

// The kinds of signed records.
const (
	kindDeployment = "deployment"
	kindIdentity   = "identity"
	kindPlan       = "plan"
	kindKeys       = "keys"
	kindRequests   = "requests"
	kindAdmission  = "admission"
	kindCell       = "cell"
	kindPublic     = "public"
	kindState      = "state"
	kindAnswers    = "answers"
)

// ErrForged says that a record is not by whom it must be.
var ErrForged = errors.New("somebody has changed what stands in the coordinator, or what comes from there on its way")

// forged says what is not signed by whom it must be.
func forged(what, by string, err error) error {
	return fmt.Errorf("%s is not as %s wrote it (%w): %w", what, by, err, ErrForged)
}

// ErrOlder says that a record was replaced before, as this machine knows: a follower
// that lags behind shows it, or somebody who keeps what was there.
var ErrOlder = errors.New("it is older than what this machine has seen before")

// ErrForgets says that the machine's disk does not take what the machine has to remember.
var ErrForgets = errors.New("what was seen cannot be noted")

// FormatError says that a deployment was applied by a hotc of another format.
type FormatError struct{ Found int }

func (e *FormatError) Error() string {
	if e.Found < RecordFormat {
		return fmt.Sprintf("it was applied by an older hotc (format %d, this one has format %d): destroy it, and apply it again with this one", max(e.Found, 1), RecordFormat)
	}
	return fmt.Sprintf("it was applied by a newer hotc (format %d, this one has format %d): use that one", e.Found, RecordFormat)
}

// operatorKey signs what an operator says.
func (s Secret) operatorKey(d Deployment) (sign.Key, error) {
	return sign.DeriveKey(s.hex, "hotc operator signature 1\n"+string(d))
}

// relayKey signs what a relay says of Heat; who has it cannot say more.
func (s Secret) relayKey(d Deployment) (sign.Key, error) {
	return sign.DeriveKey(s.hex, "hotc relay signature 1\n"+string(d))
}

// serverKey signs what a server says. member is the password of its identity where
// tokens are good for one enrolment, and else "".
func serverKey(token, member string) (sign.Key, error) {
	return sign.DeriveKey(token+":"+member, "hotc server signature 1")
}

// identityKey authenticates an identity.
func identityKey(token string) ([]byte, error) { return sign.Derive(token, "hotc identity 1") }

// signed writes a record with its signature.
func signed(key sign.Key, p sign.Place, counter int64, record any) ([]byte, error) {
	text, err := encode(record)
	if err != nil {
		return nil, err
	}
	return key.Sign(p, counter, text)
}

// place is what records of one server belong to.
func (d Deployment) place(id, kind string, s plan.ServerPath, item string) sign.Place {
	return sign.Place{Kind: kind, Stack: string(d), Deployment: id, Server: string(s), Item: item}
}

func (d Deployment) cellPlace(id string, c plan.CellRef) sign.Place {
	return d.place(id, kindCell, c.Server, string(c.Cell))
}

// openCell reads a cell. That one is empty nobody needs to say.
func openCell(path Path, data []byte, by sign.Public, at sign.Place) (CellRecord, error) {
	record, err := decode[CellRecord](path, sign.Bare(data))
	if err != nil || record.State != Valued && record.State != Failed {
		return CellRecord{State: record.State, Incarnation: record.Incarnation, Version: record.Version}, err
	}
	text, _, err := by.Open(at, data)
	if err != nil {
		return CellRecord{}, forged("the value of "+at.Item, writerOf(at), err)
	}
	return decode[CellRecord](path, text)
}

func writerOf(at sign.Place) string {
	if at.Server == string(plan.Operator) {
		return "the deployment's operator"
	}
	return "server " + at.Server
}

// openIfAny reads a record that is signed, unless nothing was ever written.
func openIfAny[T any](path Path, data []byte, by sign.Public, at sign.Place) (record T, counter int64, err error) {
	if len(data) == 0 || string(data) == "{}" {
		return record, 0, nil
	}
	text, counter, err := by.Open(at, data)
	if err != nil {
		return record, 0, forged("the record "+string(path), writerOf(at), err)
	}
	record, err = decode[T](path, text)
	return record, counter, err
}

// Identity is what an operator tells a server of its deployment.
type Identity struct {
	Format     int             `json:"format"`
	Deployment Deployment      `json:"deployment"`
	ID         string          `json:"id"` // of this very deployment, random
	Server     plan.ServerPath `json:"server"`
	Enrol      Enrolment       `json:"enrol,omitempty"`
	// Restored says that it is put in the place of one that the coordinator has lost.
	Restored bool `json:"restored,omitempty"`
	// Operator is the key by which the operator signs, Relay what a relay may say and
	// by which key.
	Operator sign.Public `json:"operator"`
	Relay    *Relay      `json:"relay,omitempty"`
}

// Relay is a key that may say less than the operator's.
type Relay struct {
	Key sign.Public `json:"key"`
	May []string    `json:"may"`
}

// RelayHeat allows to say what Heat knows.
const RelayHeat = "heat"

// IdentityRecord is an Identity, signed by the operator, with a MAC by the server's
// token.
type IdentityRecord struct {
	Identity json.RawMessage `json:"identity"`
	MAC      string          `json:"mac"`
}

// Remembered is what a machine keeps of what it was shown.
type Remembered struct {
	Identity *Identity `json:"identity,omitempty"`
	// Counters are the last ones, by what they count.
	Counters map[string]int64 `json:"counters,omitempty"`
}

// With is what is remembered when more is.
func (r Remembered) With(more Remembered) Remembered {
	if more.Identity != nil {
		r.Identity = more.Identity
	}
	counters := maps.Clone(r.Counters)
	if counters == nil {
		counters = map[string]int64{}
	}
	maps.Copy(counters, more.Counters)
	r.Counters = counters
	return r
}

// Memory is where a machine remembers, on its disk; it is used by several goroutines.
type Memory interface {
	Remembered() Remembered
	// Remember adds to it, and has it on the disk when it returns.
	Remember(Remembered) error
	// Keep keeps a cell's contents, in the place of those before; Kept are those of all.
	// They may be secret.
	Keep(plan.CellName, CellRecord) error
	Kept() (Kept, error)
}

// UseMemory gives the member what the machine remembers. Without it the member
// remembers as long as it lives.
func (m *Member) UseMemory(memory Memory) { m.memory = memory }

// newMemory is a memory that is on no disk.
type newMemory struct{}

func (newMemory) Remembered() Remembered    { return Remembered{} }
func (newMemory) Remember(Remembered) error { return nil }

func (newMemory) Keep(plan.CellName, CellRecord) error { return nil }
func (newMemory) Kept() (Kept, error)                  { return nil, nil }

// recall takes over what the machine remembers, once.
func (m *Member) recall() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counters != nil {
		return
	}
	r := m.memory.Remembered()
	m.counters, m.pinned = map[string]int64{}, r.Identity
	for what, counter := range r.Counters {
		m.counters[what] = counter
	}
}

// notOlder remembers a counter, or says that a larger one was seen. ErrOlder, ErrForgets.
func (m *Member) notOlder(what string, counter int64) error {
	m.recall()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.remember(what, counter, nil)
}

// remember is notOlder, with the identity that bears the counter. The mutex is held.
func (m *Member) remember(what string, counter int64, identity *Identity) error {
	switch last := m.counters[what]; {
	case counter < last:
		return ErrOlder
	case counter == last && identity == nil:
		return nil
	}
	m.counters[what] = counter
	if counter == 1 {
		return nil // nothing is older
	}
	if err := m.memory.Remember(Remembered{Identity: identity, Counters: map[string]int64{what: counter}}); err != nil {
		return fmt.Errorf("%w: %w", ErrForgets, err)
	}
	return nil
}

// identify reads who the deployment is, and remembers it. ErrForged, ErrOlder,
// *FormatError, ErrNotInPlan, ErrRefused.
func (m *Member) identify(ctx context.Context) error {
	identity, counter, err := m.readIdentity(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	unknown, strange := identity, false
	if m.pinned != nil {
		strange = m.pinned.ID != identity.ID && !identity.Restored
		if m.pinned.ID == identity.ID || strange {
			unknown = nil
		}
	}
	if err := m.remember(kindIdentity, counter, unknown); err != nil {
		return fmt.Errorf("the identity of the deployment %s: %w", m.deployment, err)
	}
	if !strange {
		m.pinned = identity
	}
	m.learn(func(k *knowledge) { k.identity, k.strange = identity, strange })
	return nil
}

// knowledge is what a member knows of who may say what. It changes as a whole.
type knowledge struct {
	identity *Identity // as it was read
	strange  bool      // of another deployment than the machine knows
	key      sign.Key  // by which the server signs
	publics  map[plan.ServerPath]sign.Public
}

func (m *Member) known() *knowledge {
	if k := m.knows.Load(); k != nil {
		return k
	}
	return &knowledge{}
}

// learn changes what is known. Only one goroutine joins at a time.
func (m *Member) learn(what func(k *knowledge)) {
	k := *m.known()
	what(&k)
	m.knows.Store(&k)
}

// pin remembers the deployment that the machine has become a server of.
func (m *Member) pin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pinned = m.known().identity
	m.learn(func(k *knowledge) { k.strange = false })
	if err := m.memory.Remember(Remembered{Identity: m.pinned}); err != nil {
		return fmt.Errorf("%w: %w", ErrForgets, err)
	}
	return nil
}

// readIdentity reads who the deployment is, as the server's token vouches for it and,
// once the machine knows the operator, the operator.
func (m *Member) readIdentity(ctx context.Context) (*Identity, int64, error) {
	m.recall()
	node, err := m.store.Read(ctx, m.deployment.Identity(m.server))
	if errors.Is(err, ErrNotFound) {
		_, known, statErr := m.store.Stat(ctx, m.deployment.Server(m.server))
		switch {
		case statErr != nil:
			err = statErr
		case known:
			err = fmt.Errorf("the deployment %s: %w", m.deployment, &FormatError{})
		default:
			err = ErrNotInPlan
		}
	}
	if errors.Is(err, ErrRefused) {
		return nil, 0, fmt.Errorf("the token of server %s is not one of deployment %s: %w", m.server, m.deployment, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("server %s of deployment %s: %w", m.server, m.deployment, err)
	}
	m.mu.Lock()
	pinned := m.pinned
	m.mu.Unlock()
	identity, counter, err := openIdentity(m.deployment, m.server, m.token, pinned, node.Data)
	if err != nil {
		return nil, 0, fmt.Errorf("the identity of the deployment %s: %w", m.deployment, err)
	}
	return identity, counter, nil
}

func openIdentity(d Deployment, server plan.ServerPath, token string, pinned *Identity, data []byte) (*Identity, int64, error) {
	const what = "what says whose deployment it is"
	var record IdentityRecord
	var identity Identity
	if json.Unmarshal(data, &record) != nil || json.Unmarshal(sign.Bare(record.Identity), &identity) != nil {
		return nil, 0, forged(what, "the operator", sign.ErrNotSigned)
	}
	if identity.Format != RecordFormat {
		return nil, 0, &FormatError{identity.Format}
	}
	key, err := identityKey(token)
	if err != nil {
		return nil, 0, err
	}
	if !sign.CheckMAC(key, record.Identity, record.MAC) {
		return nil, 0, forged(what, "somebody who has the deployment's secret", sign.ErrForged)
	}
	operator := identity.Operator
	if pinned != nil {
		operator = pinned.Operator
	}
	_, counter, err := operator.Open(d.place(identity.ID, kindIdentity, server, ""), record.Identity)
	switch {
	case err != nil:
		return nil, 0, forged(what, "the operator whom this machine has known since it came first", err)
	case pinned != nil && (pinned.ID == identity.ID || identity.Restored) && pinned.Enrol != identity.Enrol:
		return nil, 0, forged(what, "the operator", errors.New("tokens are good for more, or less, than when this machine came first"))
	}
	return &identity, counter, nil
}

// deriveKey makes the key by which the server signs. What the plan says of it must be
// so: else the password is not the operator's.
func (m *Member) deriveKey(p *plan.Server) error {
	password := ""
	if m.member != nil {
		password = m.member.Password
	}
	key, err := serverKey(m.token, password)
	if err != nil {
		return err
	}
	if p.Keys[m.server] != key.Public() {
		return forged("the password of server "+string(m.server), "the deployment's operator", errors.New("its plan has another key"))
	}
	m.learn(func(k *knowledge) { k.key, k.publics = key, p.Keys })
	return nil
}

// open takes out a record that the operator has signed for this server, and
// remembers that it has seen it. ErrForged, ErrOlder.
func (m *Member) open(kind, item, what string, data []byte) ([]byte, error) {
	text, counter, err := m.known().identity.Operator.Open(m.deployment.place(m.known().identity.ID, kind, m.server, item), data)
	if err != nil {
		return nil, forged(what, "the deployment's operator", err)
	}
	if err := m.notOlder(kind, counter); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return text, nil
}

// meet makes sure that the member knows who the deployment is.
func (m *Member) meet(ctx context.Context) error {
	if m.known().identity != nil {
		return nil
	}
	return m.identify(ctx)
}

// judge says what it means that a record is not signed as it must be: the deployment
// may have been made anew since this machine joined it.
func (m *Member) judge(ctx context.Context, err error) error {
	if !errors.Is(err, ErrForged) {
		return err
	}
	now, _, look := m.readIdentity(ctx)
	if look == nil && now.ID != m.known().identity.ID || errors.Is(look, ErrNotInPlan) {
		return fmt.Errorf("%w: %w", ErrDestroyed, err)
	}
	return err
}

// signOwn writes a record of the server's own.
func (m *Member) signOwn(kind string, record any) ([]byte, error) {
	return signed(m.known().key, m.deployment.place(m.known().identity.ID, kind, m.server, ""), 0, record)
}

func (m *Member) signCell(c plan.CellRef, record CellRecord) ([]byte, error) {
	return signed(m.known().key, m.deployment.cellPlace(m.known().identity.ID, c), 0, record)
}

// keyOf is the key by which a cell's writer signs.
func (m *Member) keyOf(writer plan.ServerPath) sign.Public {
	switch writer {
	case m.server:
		return m.known().key.Public()
	case plan.Operator:
		return m.known().identity.Operator
	}
	return m.known().publics[writer]
}

// newIncarnation is notOlder for the incarnation of a server, or of what an operator gives:
// in a deployment that was put back they may begin anew.
func (m *Member) newIncarnation(of string, number int) error {
	return m.notOlder("incarnation of "+of+" in "+m.known().identity.ID, int64(number))
}

// unseen says that a record of another writer is not of an incarnation or version
// before one that was seen.
func (m *Member) unseen(ref plan.CellRef, record CellRecord) (bool, error) {
	of := string(ref.Server)
	if ref.Server == plan.Operator {
		of = string(ref.Cell)
	}
	err := m.newIncarnation(of, record.Incarnation)
	if errors.Is(err, ErrOlder) {
		return false, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.versions[ref.Cell]
	if last.Incarnation == record.Incarnation && last.Version > record.Version {
		return false, nil
	}
	m.versions[ref.Cell] = cellVersion{record.Incarnation, record.Version}
	return err == nil, err
}

// cellVersion is one of a cell's contents.
type cellVersion struct{ Incarnation, Version int }
