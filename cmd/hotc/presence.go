package main

import (
	"encoding/json"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

// decisions are what Heat decided of the stack's shape, as the agents know it from their
// user-data, by the keys of the plan. Where they differ the stack was updated, and an
// older server has not been told: the one that says that more is there is the younger.
type decisions map[string]json.RawMessage

// decisionsOf collects what the agents have told.
func decisionsOf(servers []coordinator.ServerSnapshot) decisions {
	d := decisions{}
	for _, s := range servers {
		for key, value := range s.State.Decided {
			if old, known := d[key]; !known || sizeOf(value) > sizeOf(old) {
				d[key] = value
			}
		}
	}
	return d
}

// sizeOf is a decision as a number: true is 1, false and what cannot be read are 0.
func sizeOf(value json.RawMessage) int {
	v, err := hot.DecodeJSON(value)
	if err != nil {
		return 0
	}
	size, _ := hot.GroupSize(v, hot.CountDefault)
	return size
}

// whether says if Heat made a server: why it did not, and why it perhaps did not where
// nobody has told yet; both empty if it did, or has to.
func (d decisions) whether(server plan.Server) (missing, perhaps string) {
	for _, p := range server.If {
		value, known := d[p.Decision]
		switch {
		case !known && perhaps == "":
			perhaps = p.Why
		case known && sizeOf(value) < max(p.Least, 1):
			return p.Why, ""
		}
	}
	return "", perhaps
}

// undecided is how many servers of a plan Heat may make or not.
func undecided(p *plan.Plan) int {
	n := 0
	for _, s := range p.Servers {
		if len(s.If) > 0 {
			n++
		}
	}
	return n
}
