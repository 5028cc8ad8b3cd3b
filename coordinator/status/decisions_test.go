package status

import (
	"encoding/json"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Who is missing and who perhaps is, by what the agents that came have told.
func TestWhoIsThere(t *testing.T) {
	type told map[string]json.RawMessage
	withDB := contract.Condition{Decision: "db", Why: "no db"}
	third := contract.Condition{Decision: "n", Least: 3, Why: "fewer than 3"}
	for _, c := range []struct {
		name             string
		told             []told
		of               []contract.Condition
		missing, perhaps string
	}{
		{name: "surely there"},
		{name: "nobody came", of: []contract.Condition{withDB, third}, perhaps: "no db"},
		{name: "the condition holds", told: []told{{"db": json.RawMessage("true")}}, of: []contract.Condition{withDB}},
		{name: "it does not", told: []told{{"db": json.RawMessage("false")}}, of: []contract.Condition{withDB}, missing: "no db"},
		{name: "an update made it true", told: []told{{"db": json.RawMessage("true")}, {"db": json.RawMessage("false")}}, of: []contract.Condition{withDB}},
		{name: "enough members", told: []told{{"n": json.RawMessage("3")}}, of: []contract.Condition{third}},
		{name: "too few", told: []told{{"n": json.RawMessage(`"2"`)}}, of: []contract.Condition{third}, missing: "fewer than 3"},
		{name: "Heat's own number of members", told: []told{{"n": json.RawMessage("null")}}, of: []contract.Condition{third}, missing: "fewer than 3"},
		{name: "scaled by an update", told: []told{{"n": json.RawMessage("2")}, {"n": json.RawMessage("4")}, {}}, of: []contract.Condition{third}},
		{name: "known in part", told: []told{{"db": json.RawMessage("true")}}, of: []contract.Condition{withDB, third}, perhaps: "fewer than 3"},
		{name: "one of two is enough", told: []told{{"n": json.RawMessage("0")}}, of: []contract.Condition{withDB, third}, missing: "fewer than 3"},
	} {
		var servers []deploy.ServerSnapshot
		for _, decided := range c.told {
			servers = append(servers, deploy.ServerSnapshot{State: protocol.ServerState{Decided: decided}})
		}
		missing, perhaps := DecisionsOf(servers, hot.DecidedSize).Whether(contract.Server{If: c.of})
		if missing != c.missing || perhaps != c.perhaps {
			t.Errorf("%s: missing %q, perhaps %q; want %q and %q", c.name, missing, perhaps, c.missing, c.perhaps)
		}
	}
}
