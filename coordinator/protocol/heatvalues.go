package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// The values that Heat supplies to roles may change while a deployment is live. A relay writes them
// down, a record for each server, signed by its own key, which is valid for this and nothing else
// (docs/relay.md). Agents treat them as cells that they follow.

// HeatValues are the values that Heat supplies to one server.
type HeatValues struct {
	// Number grows with each change that Heat makes to any server's values: all records get it.
	Number int64 `json:"number"`
	// Instance is Nova's id of the machine they are for: another machine of the server's name was
	// booted with its own values.
	Instance string                     `json:"instance,omitempty"`
	Values   map[string]json.RawMessage `json:"values,omitempty"` // by the key of Server.Deploy
	// From are digests of what each of Heat's waits last said of the server, by their ids: a
	// difference is news.
	From map[string]string `json:"from,omitempty"`
	// Going is the incarnation of the machine that Heat deletes once its roles' delete hooks have
	// run; 0 is none.
	Going int `json:"going,omitempty"`
	// Again names a new update of Heat's, for which the machine's failed roles run again, by one of its
	// waits; "" is none.
	Again string `json:"again,omitempty"`
	// Told are the failures of the machine's roles that Heat knows of.
	Told *ToldFailures `json:"told,omitempty"`
}

// ToldFailures are failures that Heat knows of: the next update tries these roles again.
type ToldFailures struct {
	// Wait is Heat's wait that ended with them, Failures what has failed (ServerState.Failures).
	Wait     string `json:"wait"`
	Failures string `json:"failures"`
}

// Same reports whether both tell a machine the same.
func (v HeatValues) Same(o HeatValues) bool {
	return v.Instance == o.Instance && v.Going == o.Going && v.Again == o.Again && maps.EqualFunc(v.Values, o.Values, func(x, y json.RawMessage) bool { return SameValue(x, y) })
}

// HeatNumber is the number of the last change to any server's values.
type HeatNumber struct {
	Number int64 `json:"number"`
}

// HeatRecordOf is a value of Heat's as a cell that roles follow. Its version is derived from the
// value: the same value has the same version, wherever it comes from.
func HeatRecordOf(value json.RawMessage, number int64) CellRecord {
	return CellRecord{State: Valued, Version: valueVersion(value), Value: value, Stamp: Stamp{contract.HeatSource: Count{0, int(number)}}}
}

// valueVersion is 48 bits of the digest of a value, which every JSON reader represents exactly.
func valueVersion(value json.RawMessage) int {
	text := []byte(value)
	if v, err := decodeExact(value); err == nil {
		if exact, err := json.Marshal(v); err == nil { // keys sorted, one way of escaping
			text = exact
		}
	}
	sum := sha256.Sum256(text)
	return int(binary.BigEndian.Uint64(sum[:8]) >> 16)
}

// HearsOfHeat reports whether a relay may have something to tell a server: that Heat tries its failed
// roles again, values that it carries, or that Heat deletes the machine, so that its roles' delete
// hooks have to run. relayed says that a relay signals Heat for it.
func HearsOfHeat(s *contract.Server, relayed bool) bool {
	if relayed && len(s.Roles) > 0 {
		return true
	}
	for _, v := range s.Deploy {
		if v.Carried {
			return true
		}
	}
	return HasDeleteHook(s)
}

// HasDeleteHook reports whether one of a server's roles has the delete hook.
func HasDeleteHook(s *contract.Server) bool {
	return slices.ContainsFunc(s.Roles, func(r contract.Role) bool { return OwesDelete(&r, RoleDone) })
}

// OwesDelete reports whether a role in this status has a hook delete, which must run before its
// machine is deleted.
func OwesDelete(r *contract.Role, now RoleStatus) bool {
	return now.Ended() && contract.FindTask(r.Hooks, contract.HookDelete) != nil
}
