package relay

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// A server that claims another one's machine is not asked in its place.
func TestAMachineIsTheServerAtItsPlace(t *testing.T) {
	p := &contract.Plan{Servers: []contract.Server{{Path: "a/evil"}, {Path: "web/1"}, {Path: "web/10"}, {Path: "tier/db"},
		{Path: "app/0", Slot: &contract.Slot{Shared: "app/*"}}, {Path: "z"}}}
	servers := map[contract.ServerPath]relay.Server{}
	for _, x := range p.Servers {
		servers[x.Path] = relay.Server{Instance: "id", Incarnation: 1}
	}
	for at, want := range map[string]contract.ServerPath{"web/1/server": "web/1", "web/10/server": "web/10", "tier/db": "tier/db", "app/x7/server": "app/0"} {
		if got := serverOf("id", at, p, servers); got == nil || got.Path != want {
			t.Errorf("%s: %+v", at, got)
		}
	}
	servers["web/1"] = relay.Server{Instance: "another", Incarnation: 1}
	if got := serverOf("another", "cut", p, servers); got == nil || got.Path != "web/1" {
		t.Errorf("where the place is not known: %+v", got)
	}
	if got := serverOf("nobody", "web/1/server", p, servers); got != nil {
		t.Errorf("nobody's machine: %+v", got)
	}
}
