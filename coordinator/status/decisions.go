package status

import (
	"encoding/json"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

// Decisions are what Heat decided about the stack's topology, as the agents know it from their
// user-data, by the keys of the plan. Where they differ the stack was updated, and an older server
// was not told: the agent that reports more is the newer one.
type Decisions struct {
	Values map[string]json.RawMessage
	size   Size
}

// Size is a decision as a number: true is 1, false and unreadable values are 0. The caller knows
// what Heat accepts as a number of members.
type Size func(json.RawMessage) int

// DecisionsOf collects what the agents have reported.
func DecisionsOf(servers []deploy.ServerSnapshot, size Size) Decisions {
	d := Decisions{map[string]json.RawMessage{}, size}
	for _, s := range servers {
		for key, value := range s.State.Decided {
			if old, known := d.Values[key]; !known || size(value) > size(old) {
				d.Values[key] = value
			}
		}
	}
	return d
}

// Whether says if Heat created a server: missing is why not, perhaps is why it may not have, where
// no agent has reported yet; both are empty if it did, or has to.
func (d Decisions) Whether(server contract.Server) (missing, perhaps string) {
	for _, p := range server.If {
		value, known := d.Values[p.Decision]
		switch {
		case !known && perhaps == "":
			perhaps = p.Why
		case known && d.size(value) < max(p.Least, 1):
			return p.Why, ""
		}
	}
	return "", perhaps
}
