package coordinator

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// What Heat gives to roles may change while a deployment lives. A relay writes it down, a
// record for each server, signed by its own key, which may say this and nothing else
// (docs/relay.md). Agents take it for cells that they follow.

// HeatValues is what Heat gives one server.
type HeatValues struct {
	// Number grows with each change that Heat makes, to whatever server's: all records get it.
	Number int64 `json:"number"`
	// Instance is Nova's id of the machine that it is for: another one of the server's name
	// was booted with values of its own.
	Instance string                     `json:"instance,omitempty"`
	Values   map[string]json.RawMessage `json:"values,omitempty"` // by the key of Server.Deploy
	// From are digests of what each of Heat's waits said of the server last, by their ids: what
	// one says otherwise is news.
	From map[string]string `json:"from,omitempty"`
	// Going is the incarnation of the machine that Heat takes away, and waits with until its
	// roles' delete hooks have run; 0 is none.
	Going int `json:"going,omitempty"`
}

// Same says that a machine is told the same.
func (v HeatValues) Same(o HeatValues) bool {
	return v.Instance == o.Instance && v.Going == o.Going && maps.EqualFunc(v.Values, o.Values, func(x, y json.RawMessage) bool { return SameValue(x, y) })
}

// HeatNumber is the number of the last change, of whatever server's.
type HeatNumber struct {
	Number int64 `json:"number"`
}

// HeatRecordOf is a value of Heat's as a cell that roles follow. Its version follows from the
// value: the same value again is the same version, whoever says it.
func HeatRecordOf(value json.RawMessage, number int64) CellRecord {
	return CellRecord{State: Valued, Version: valueVersion(value), Value: value, Stamp: Stamp{contract.HeatSource: Count{0, int(number)}}}
}

// valueVersion are 48 bits of the digest of a value, which every reader of JSON keeps.
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

// HearsOfHeat says that a relay may have something to tell a server: values that it carries, or
// that Heat takes the machine away, so that its roles' delete hooks are to run.
func HearsOfHeat(s *contract.Server) bool {
	for _, v := range s.Deploy {
		if v.Carried {
			return true
		}
	}
	return HasDeleteHook(s)
}

// HasDeleteHook says that one of a server's roles has the hook delete.
func HasDeleteHook(s *contract.Server) bool {
	return slices.ContainsFunc(s.Roles, func(r contract.Role) bool { return OwesDelete(&r, RoleDone) })
}

// OwesDelete says that the hook delete of a role which stands so is to run before its machine goes.
func OwesDelete(r *contract.Role, now RoleStatus) bool {
	return now.Ended() && contract.FindTask(r.Hooks, contract.HookDelete) != nil
}
