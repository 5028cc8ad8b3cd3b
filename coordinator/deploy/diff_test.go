package deploy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// two is a server that reads another one's output.
func two() *contract.Plan {
	role := func(name string) contract.Role {
		return contract.Role{Name: name, Driver: "script", Source: json.RawMessage(`{"text":"true"}`)}
	}
	p := &contract.Plan{Format: contract.Format, Signal: contract.NobodySignals, Servers: []contract.Server{
		{Path: "a", Roles: []contract.Role{role("r"), role("s")}},
		{Path: "b", Roles: []contract.Role{role("t")}},
	}, Cells: []contract.Cell{{Name: "a.r:x", Server: "a", Role: "r", Readers: []contract.ServerPath{"b"}}, {Name: "a.r", Server: "a", Role: "r"},
		{Name: "a.s", Server: "a", Role: "s"}, {Name: "b.t", Server: "b", Role: "t"}}}
	p.Servers[0].Roles[0].Outputs = []contract.Output{{Name: "x", Cell: "a.r:x"}}
	return p
}

// What another plan changes, and what of it a live deployment does not take, follows from the two
// plans alone.
func TestDifferences(t *testing.T) {
	server := func(path contract.ServerPath) contract.Server {
		return contract.Server{Path: path, Roles: []contract.Role{{Name: "n", Driver: "script"}}}
	}
	for name, c := range map[string]struct {
		from, to func(*contract.Plan)
		want     string // "!" before what is refused
	}{
		"the same":      {nil, nil, ""},
		"a server more": {nil, func(p *contract.Plan) { p.Servers = append(p.Servers, server("c")) }, "server c: added"},
		"a server less": {func(p *contract.Plan) { p.Servers = append(p.Servers, server("c")) }, nil, "server c: removed"},
		"a role more":   {nil, func(p *contract.Plan) { p.Servers[1].Roles = append(p.Servers[1].Roles, contract.Role{Name: "u"}) }, "role b.u: added"},
		"a role less":   {nil, func(p *contract.Plan) { p.Servers[0].Roles = p.Servers[0].Roles[:1] }, "role a.s: removed"},
		"another order": {nil, func(p *contract.Plan) { slices.Reverse(p.Servers[0].Roles) }, "server a: order of roles changed"},
		"a role between": {nil, func(p *contract.Plan) {
			p.Servers[0].Roles = slices.Insert(p.Servers[0].Roles, 1, contract.Role{Name: "u"})
		}, "role a.u: added"},
		"an output more": {nil, func(p *contract.Plan) {
			r := &p.Servers[0].Roles[0]
			r.Outputs = append(r.Outputs, contract.Output{Name: "y"})
		}, "role a.r: output y changed"},
		"another driver":  {nil, func(p *contract.Plan) { p.Servers[0].Roles[0].Driver = "chef" }, "role a.r: driver changed"},
		"a wait":          {nil, func(p *contract.Plan) { p.Servers[1].Roles[0].DependsOn = []contract.Dependency{{Cell: "a.r"}} }, "role b.t: depends_on changed"},
		"a position":      {nil, func(p *contract.Plan) { p.Servers[0].Roles[0].At = "x.yaml:1:1" }, ""},
		"facts":           {nil, func(p *contract.Plan) { p.Servers[0].Facts = []contract.Fact{"name"} }, "server a: facts changed"},
		"Heat's decision": {nil, func(p *contract.Plan) { p.Servers[0].If = []contract.Condition{{Decision: "big"}} }, "server a: what Heat decides changed"},
		"a reader more":   {nil, func(p *contract.Plan) { p.Cells[1].Readers = []contract.ServerPath{"b"} }, "cell a.r: also read by b"},
		"a reader less":   {nil, func(p *contract.Plan) { p.Cells[0].Readers = nil }, "cell a.r:x: no longer read by b"},
		"a cell more":     {nil, func(p *contract.Plan) { p.Cells = append(p.Cells, contract.Cell{Name: "a:name", Server: "a"}) }, "cell a:name: added"},
		"a secret cell":   {nil, func(p *contract.Plan) { p.Cells[0].Sealed = true }, "!cell a.r:x: became secret, or is no longer"},
		"another writer":  {nil, func(p *contract.Plan) { p.Cells[0].Role = "s" }, "!cell a.r:x: different writer"},
		"a value of Heat's": {nil, func(p *contract.Plan) { p.Servers[0].Deploy = map[string]contract.DeployValue{"k": {}} },
			"!server a: values from Heat added"},
		"a value of Heat's less": {func(p *contract.Plan) { p.Servers[0].Deploy = map[string]contract.DeployValue{"k": {}} }, nil, ""},
		"a place":                {nil, func(p *contract.Plan) { p.Servers[0].Slot = &contract.Slot{Group: "g"} }, "!server a: slot in a scaling group changed"},
		"a place more": {func(p *contract.Plan) { p.Servers[0].Slot = &contract.Slot{Group: "g"} }, func(p *contract.Plan) {
			p.Servers[0].Slot = &contract.Slot{Group: "g"}
			c := server("c")
			c.Slot = &contract.Slot{Group: "g", Number: 1}
			p.Servers = append(p.Servers, c)
		}, "server c: added; !group g: slots of its members changed"},
		"signals": {nil, func(p *contract.Plan) { p.Signal = contract.AgentsSignal }, "signal: none becomes heat"},
		"a relay to agents": {func(p *contract.Plan) { p.Signal = contract.RelaySignals }, func(p *contract.Plan) { p.Signal = contract.AgentsSignal },
			"signal: relay becomes heat"},
		"a relay to agents, with a secret that Heat reads": {func(p *contract.Plan) {
			p.Signal, p.Cells[0].Sealed = contract.RelaySignals, true
		}, func(p *contract.Plan) {
			p.Signal, p.Cells[0].Sealed, p.Servers[0].Roles[0].Outputs[0].Heat = contract.AgentsSignal, true, true
		}, "signal: relay becomes heat; role a.r: output x changed; !role a.r: Heat reads its secret x, which its server has no credentials to send to Heat, and a relay cannot open"},
		"a relay to nobody": {func(p *contract.Plan) { p.Signal = contract.RelaySignals }, nil, "signal: relay becomes none"},
		"a wait of Heat's": {func(p *contract.Plan) { p.Signal = contract.AgentsSignal }, func(p *contract.Plan) {
			p.Signal = contract.AgentsSignal
			p.Servers[0].Roles[0].Signals = []contract.Signal{{Handle: "h"}}
			p.Servers[1].Roles = append(p.Servers[1].Roles, contract.Role{Name: "u", Signals: []contract.Signal{{Handle: "h"}}})
		}, "role a.r: what Heat waits for changed; role b.u: added"},
		"a wait of Heat's, by the relay": {func(p *contract.Plan) { p.Signal = contract.RelaySignals }, func(p *contract.Plan) {
			p.Signal = contract.RelaySignals
			p.Servers[0].Roles[0].Signals = []contract.Signal{{Handle: "h"}}
		}, ""},
		"a secret parameter": {nil, func(p *contract.Plan) { p.Secrets = []contract.Secret{{Name: "pw"}} }, "secret parameter pw: added"},
		"its readers": {func(p *contract.Plan) {
			p.Secrets = []contract.Secret{{Name: "pw", Readers: []contract.ServerPath{"a"}}}
		},
			func(p *contract.Plan) {
				p.Secrets = []contract.Secret{{Name: "pw", Readers: []contract.ServerPath{"b"}}}
			},
			"secret parameter pw: no longer read by a; secret parameter pw: also read by b"},
		"agents to nobody": {func(p *contract.Plan) { p.Signal = contract.AgentsSignal }, nil, "!signal: heat becomes none, which needs --signal=relay in between"},
	} {
		from, to := two(), two()
		if c.from != nil {
			c.from(from)
		}
		if c.to != nil {
			c.to(to)
		}
		var got []string
		for _, d := range differences(from, to) {
			line := d.what + ": " + d.how
			if !d.inPlace {
				line = "!" + line
			}
			got = append(got, line)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}
