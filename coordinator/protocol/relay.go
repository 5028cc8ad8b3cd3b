package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A relay connects Heat and a deployment (docs/relay.md). It has a key that is valid only for what
// Heat says: with that alone one can neither run anything on a server nor read a secret.

// RelayKey are a relay's credentials for a deployment. It never prints itself.
type RelayKey struct {
	Deployment Deployment
	password   string
	seed       []byte
	// Operator is the key with which the deployment's operator signs.
	Operator sign.Public
}

// Relay derives the key of a deployment's relays.
func (s Secret) Relay(d Deployment) (RelayKey, error) {
	seed, errSeed := sign.Derive(s.hex, "hotc relay signature 1\n"+string(d))
	operator, errOperator := s.OperatorKey(d)
	return RelayKey{d, s.digest(string(d) + ":/relay"), seed, operator.Public()}, errors.Join(errSeed, errOperator)
}

// Credential is the relay's identity.
func (k RelayKey) Credential() store.Credential {
	return store.Credential{User: "relay", Password: k.password}
}

// Signer is the key with which the relay signs.
func (k RelayKey) Signer() (sign.Key, error) { return sign.FromSeed(k.seed) }

// String and GoString keep the key out of messages.
func (k RelayKey) String() string   { return "(relay key of " + string(k.Deployment) + ")" }
func (k RelayKey) GoString() string { return k.String() }

// relayKeyFormat is the version of a relay's key as a file.
const relayKeyFormat = 1

type relayKeyFile struct {
	Format     int         `json:"format"`
	Deployment Deployment  `json:"deployment"`
	Password   string      `json:"password"`
	Key        []byte      `json:"key"`
	Operator   sign.Public `json:"operator"`
}

// File is the content of the key's file.
func (k RelayKey) File() []byte {
	text, _ := json.MarshalIndent(relayKeyFile{relayKeyFormat, k.Deployment, k.password, k.seed, k.Operator}, "", "  ") // of texts and bytes
	return append(text, '\n')
}

// ParseRelayKey reads a key's file. Errors quote nothing of it.
func ParseRelayKey(text []byte) (RelayKey, error) {
	var f relayKeyFile
	if json.Unmarshal(text, &f) != nil {
		return RelayKey{}, errors.New("it is not a relay key")
	}
	if f.Format != relayKeyFormat {
		return RelayKey{}, fmt.Errorf("it has format %d, this hotc reads format %d", f.Format, relayKeyFormat)
	}
	d, err := ParseDeployment(string(f.Deployment))
	if err == nil {
		_, err = sign.FromSeed(f.Key)
	}
	if err == nil && (f.Password == "" || f.Operator == "") {
		err = errors.New("its password or its operator's key is missing")
	}
	return RelayKey{d, f.Password, f.Key, f.Operator}, err
}

// ServersKeys are the keys with which a deployment's servers sign, for relays.
type ServersKeys struct {
	Keys map[contract.ServerPath]sign.Public `json:"keys"`
}

// RelayPresence exists while a relay has a session.
type RelayPresence struct {
	Host    string    `json:"host,omitempty"`
	Version string    `json:"version,omitempty"`
	Since   time.Time `json:"since"`
}

// HeatRecord is what a relay last learnt from Heat.
type HeatRecord struct {
	Stack string    `json:"stack,omitempty"` // its id
	Since time.Time `json:"since"`           // when this began
	// Trouble is why Heat cannot be queried or signalled.
	Trouble string     `json:"trouble,omitempty"`
	Waits   []HeatWait `json:"waits,omitempty"`
}

// HeatWait is one of the waits of a stack, with its status.
type HeatWait struct {
	Stack  string        `json:"stack,omitempty"` // the path of its stack
	Wait   string        `json:"wait"`
	Status HeatWaitState `json:"status"`
	// Reason is what it waits for, or why it failed.
	Reason string `json:"reason,omitempty"`
	// Hook is Heat's hook at which the resource Wait pauses before its deletion; "" if Heat waits
	// for roles.
	Hook string `json:"hook,omitempty"`
}

// HeatWaitState is the status of a wait, in Heat's terms.
type HeatWaitState string

// The states of a wait.
const (
	HeatWaits  HeatWaitState = "IN_PROGRESS"
	HeatDone   HeatWaitState = "COMPLETE"
	HeatFailed HeatWaitState = "FAILED"
)
