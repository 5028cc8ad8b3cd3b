package deploy_test

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A place that Heat may fill counts while an agent is there: nobody is missing where no member was
// made. A server that Heat makes in any case counts from the start.
func TestListCountsServersThatAre(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.ThreeTier()
		p.Servers[1].If = []contract.Condition{{Decision: "size", Least: 2, Why: "the group has fewer members"}}
		root := b.MakeRoot(t, rootKey, store.Limit{})
		if _, err := b.In(t, root, p); err != nil {
			t.Fatal(err)
		}
		expect := func(servers, alive int) {
			t.Helper()
			all, err := deploy.List(t.Context(), b.Open(t, rootKey.RootCredential()))
			if err != nil || len(all) != 1 || all[0].Servers != servers || all[0].Alive != alive {
				t.Errorf("%+v, %v; want %d of %d", all, err, alive, servers)
			}
		}
		expect(2, 0)
		present := func(server contract.ServerPath) {
			if err := b.Agent(t, server).Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1, Since: deploytest.Noon}); err != nil {
				t.Fatal(err)
			}
		}
		present("db")
		expect(2, 1)
		present("app")
		expect(3, 2)
	})
}
