package deploy_test

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
)

// From agents to a relay and back: Heat has other handles then, and machines of before have no
// credentials for them.
func TestMachinesOfBeforeHaveNoHandle(t *testing.T) {
	b := deploytest.InZooKeeper(t)
	p := deploytest.ThreeTier()
	signal := func(s contract.Signalling) {
		p.Signal = s
		b.Publish(t, p)
	}
	without := func() (all []contract.ServerPath) {
		snapshot, err := deploy.TakeSnapshot(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range snapshot.Servers {
			if s.State.NoHandle {
				all = append(all, s.Path)
			}
		}
		return all
	}
	signal(contract.AgentsSignal)
	b.Agent(t, "db")
	if got := without(); len(got) > 0 {
		t.Errorf("made while agents tell Heat: %v", got)
	}
	signal(contract.RelaySignals)
	signal(contract.AgentsSignal)
	b.Agent(t, "app")
	p.Template = "other.yaml" // another change is no other handle
	b.Publish(t, p)
	if got := without(); len(got) != 1 || got[0] != "db" {
		t.Errorf("after a relay: %v", got)
	}
}
