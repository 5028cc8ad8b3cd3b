package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Nothing is trusted because it is in the coordinator. Operators sign with a key derived from the
// deployment's secret, servers with one derived from their tokens, and an agent learns the
// operator's key from a record that is authenticated with its token, which is never sent. Who signs
// what, and what that does not protect: docs/security.md.

// RecordFormat is the version of the records in a coordinator.
const RecordFormat = 3

// The kinds of signed records.
const (
	KindDeployment = "deployment"
	KindIdentity   = "identity"
	KindPlan       = "plan"
	KindKeys       = "keys"
	KindRequests   = "requests"
	KindAdmission  = "admission"
	kindCell       = "cell"
	KindPublic     = "public"
	KindState      = "state"
	KindAnswers    = "answers"
	KindKeysOf     = "servers' keys" // for a relay
	KindHeat       = "heat"
	KindMembers    = "members"
	KindHeatValues = "heat values"
	KindHeatNumber = "heat number"
	KindNext       = "next"
)

// ErrForged says that a record was not signed by its author.
var ErrForged = errors.New("the data in the coordinator was tampered with, there or in transit")

// Forged returns an ErrForged that says what is not signed by its author.
func Forged(what, by string, err error) error {
	return fmt.Errorf("%s is not as %s wrote it (%w): %w", what, by, err, ErrForged)
}

// FormatError says that a deployment was applied by a hotc of another format.
type FormatError struct{ Found int }

func (e *FormatError) Error() string {
	if e.Found < RecordFormat {
		return fmt.Sprintf("it was applied by an older hotc (format %d, this one uses format %d): destroy it, and apply it again with this one", max(e.Found, 1), RecordFormat)
	}
	return fmt.Sprintf("it was applied by a newer hotc (format %d, this one uses format %d): use that one", e.Found, RecordFormat)
}

// OperatorKey is the operator's signing key.
func (s Secret) OperatorKey(d Deployment) (sign.Key, error) {
	return sign.DeriveKey(s.hex, "hotc operator signature 1\n"+string(d))
}

// ServerKey is a server's signing key. member is the password of its identity where tokens are
// valid for one enrolment, otherwise "".
func ServerKey(token, member string) (sign.Key, error) {
	return sign.DeriveKey(token+":"+member, "hotc server signature 1")
}

// IdentityKey is the MAC key of a server's identity record.
func IdentityKey(token string) ([]byte, error) { return sign.Derive(token, "hotc identity 1") }

// Signed encodes a record with its signature.
func Signed(key sign.Key, p sign.Place, counter int64, record any) ([]byte, error) {
	text, err := Encode(record)
	if err != nil {
		return nil, err
	}
	return key.Sign(p, counter, text)
}

// The records of an operator and of relays are numbered, by kind and within one deployment (its id):
// agents use none older than they have seen. A number is no time: each follows from what is there.

// NextNumber is that of the record that replaces the one with this number. If an older state of the
// coordinator was restored it also exceeds what servers have seen since, by their states.
func NextNumber(there int64, kind string, states ...ServerState) int64 {
	next := there
	for _, s := range states {
		if seen := s.Newer[kind]; seen-there < mostNewer { // a server may have made it up
			next = max(next, seen)
		}
	}
	return next + 1
}

// mostNewer is more than the records that a restored state can lack; those of hotc before this were
// numbered by milliseconds.
const mostNewer = 1 << 40

// Place is what a signature of a server's record is bound to.
func (d Deployment) Place(id, kind string, s contract.ServerPath, item string) sign.Place {
	return sign.Place{Kind: kind, Stack: string(d), Deployment: id, Server: string(s), Item: item}
}

// CellPlace is what a cell's signature is bound to.
func (d Deployment) CellPlace(id string, c contract.CellRef) sign.Place {
	return d.Place(id, kindCell, c.Server, string(c.Cell))
}

// OpenCell reads a cell. One that was never written is not signed; nor did earlier versions of hotc
// sign empty ones. So an unsigned one is as old as can be.
func OpenCell(path store.Path, data []byte, by sign.Public, at sign.Place) (CellRecord, error) {
	text, _, err := by.Open(at, data)
	if errors.Is(err, sign.ErrNotSigned) {
		if record, bad := Decode[CellRecord](path, data); bad == nil && record.State == Empty {
			return CellRecord{State: Empty}, nil
		}
	}
	if err != nil {
		return CellRecord{}, Forged("the value of "+at.Item, writerOf(at), err)
	}
	return Decode[CellRecord](path, text)
}

func writerOf(at sign.Place) string {
	if at.Kind == KindHeat || at.Kind == KindMembers {
		return "a relay"
	}
	if at.Server == string(contract.Operator) || at.Kind == KindRequests || at.Kind == KindAdmission {
		return "the deployment's operator"
	}
	return "server " + at.Server
}

// OpenIfAny reads a signed record; one that was never written is empty.
func OpenIfAny[T any](path store.Path, data []byte, by sign.Public, at sign.Place) (record T, counter int64, err error) {
	if len(data) == 0 || string(data) == "{}" {
		return record, 0, nil
	}
	text, counter, err := by.Open(at, data)
	if err != nil {
		return record, 0, Forged("the record "+string(path), writerOf(at), err)
	}
	record, err = Decode[T](path, text)
	return record, counter, err
}

// OpenForeign is OpenIfAny for a record of another server, which is untrusted. ErrTooMany.
func OpenForeign[T any](path store.Path, data []byte, by sign.Public, at sign.Place) (record T, counter int64, err error) {
	if CountItems(data) > MostItems {
		return record, 0, ErrTooMany
	}
	return OpenIfAny[T](path, data, by, at)
}

// ReadSigned is OpenIfAny of a node, with its version. A signed record of the wrong kind is
// ErrForged, too.
func ReadSigned[T any](ctx context.Context, s store.Session, path store.Path, by sign.Public, at sign.Place) (record T, version store.Version, counter int64, err error) {
	node, err := s.Read(ctx, path)
	if err != nil {
		return record, 0, 0, err
	}
	record, counter, err = OpenIfAny[T](path, node.Data, by, at)
	if err != nil && !errors.Is(err, ErrForged) {
		err = Forged("the record "+string(path), writerOf(at), err)
	}
	return record, node.Version, counter, err
}

// Identity is what an operator tells a server about its deployment.
type Identity struct {
	Format     int                 `json:"format"`
	Deployment Deployment          `json:"deployment"`
	ID         string              `json:"id"` // random; applied again, a deployment has another
	Server     contract.ServerPath `json:"server"`
	Enrol      Enrolment           `json:"enrol,omitempty"`
	// Restored says that it replaces one that the coordinator has lost.
	Restored bool `json:"restored,omitempty"`
	// Removed is when the server was removed from the deployment; zero if it was not.
	Removed time.Time `json:"removed,omitzero"`
	// Operator is the key with which the operator signs, Relay that of the relays, and what they
	// may sign.
	Operator sign.Public `json:"operator"`
	Relay    *Relay      `json:"relay,omitempty"`
}

// Relay is a key with fewer rights than the operator's.
type Relay struct {
	Key sign.Public `json:"key"`
	May []string    `json:"may"`
}

// RelayHeat allows signing what Heat says.
const RelayHeat = "heat"

// IdentityRecord is an Identity, signed by the operator, with a MAC by the server's
// token.
type IdentityRecord struct {
	Identity json.RawMessage `json:"identity"`
	MAC      string          `json:"mac"`
}

// OpenIdentity reads the identity record, for a server with its token; pinned is what the machine
// read first. ErrForged, *FormatError.
func OpenIdentity(d Deployment, server contract.ServerPath, token string, pinned *Identity, data []byte) (*Identity, int64, error) {
	const what = "the deployment's identity record"
	var record IdentityRecord
	var identity Identity
	if json.Unmarshal(data, &record) != nil || json.Unmarshal(sign.Bare(record.Identity), &identity) != nil {
		return nil, 0, Forged(what, "the operator", sign.ErrNotSigned)
	}
	if identity.Format != RecordFormat {
		return nil, 0, &FormatError{identity.Format}
	}
	key, err := IdentityKey(token)
	if err != nil {
		return nil, 0, err
	}
	if !sign.CheckMAC(key, record.Identity, record.MAC) {
		return nil, 0, Forged(what, "a holder of the deployment's secret", sign.ErrForged)
	}
	operator := identity.Operator
	if pinned != nil {
		operator = pinned.Operator
	}
	_, counter, err := operator.Open(d.Place(identity.ID, KindIdentity, server, ""), record.Identity)
	switch {
	case err != nil:
		return nil, 0, Forged(what, "the operator that this machine enrolled with", err)
	case pinned != nil && (pinned.ID == identity.ID || identity.Restored) && pinned.Enrol != identity.Enrol:
		return nil, 0, Forged(what, "the operator", errors.New("the enrolment of tokens is not what it was when this machine enrolled"))
	}
	return &identity, counter, nil
}

// BoxPlace is what the box of a sealed value is bound to.
func (d Deployment) BoxPlace(cell contract.CellName) string {
	return fmt.Sprintf("hotc box 1\n%s\n%s", d, cell)
}

// KeyPlace is what the key of a box, sealed to a reader, is bound to.
func (d Deployment) KeyPlace(cell contract.CellName, reader contract.ServerPath, box string) string {
	return fmt.Sprintf("hotc key 1\n%s\n%s\n%s\n%s", d, cell, reader, box)
}
