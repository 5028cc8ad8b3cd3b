package status

import (
	"encoding/json"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

// Decisions are what Heat decided of the stack's topology, as the agents know it from their
// user-data, by the keys of the plan. Where they differ the stack was updated, and an
// older server has not been told: the one that says that more is there is the younger.
type Decisions struct {
	Values map[string]json.RawMessage
	size   Size
}

// Size is a decision as a number: true is 1, false and what cannot be read are 0. What a
// number of members is, Heat says, and so whoever asks.
type Size func(json.RawMessage) int

// DecisionsOf collects what the agents have told.
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

// Whether says if Heat made a server: why it did not, and why it perhaps did not where
// nobody has told yet; both empty if it did, or has to.
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
