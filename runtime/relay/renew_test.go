package relay

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// What the stack's outputs read changes after Heat's wait has ended: the relay gives Heat the newest
// values, once for each change, and leaves the wait's status alone.
func TestOutputsAreRenewed(t *testing.T) {
	w := newWorld(t)
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	m := w.machine("id-1")
	w.relay(t.Context(), "relay", nil)
	put := func(value string, version int) {
		t.Helper()
		if err := m.Renew(t.Context(), "db.mysql:endpoint", json.RawMessage(value), nil, nil, noon); err != nil {
			t.Fatal(err)
		}
		state := ran(w.plan, "db", "", "mysql=done backup=done").State
		state.Wrote = map[contract.CellName]protocol.Count{"db.mysql:endpoint": {m.Incarnation.Number, version}}
		if err := m.Report(t.Context(), state, nil); err != nil {
			t.Fatal(err)
		}
	}
	put(`"http://db"`, 1)
	w.until("Heat's wait to end", func() bool { return len(w.said()) == 1 })
	put(`"http://new"`, 2)
	w.until("Heat to have the newest value", func() bool { return len(w.said()) > 1 })
	looked := w.looked()
	w.until("two more rounds", func() bool { return w.looked() > looked+2 })
	if got := w.said(); len(got) != 2 || got[1] != `w1   {"show":{"db":{"url":"http://new"}}}` {
		t.Errorf("Heat was told %q", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if status := w.waits["w1"].Status; status != "COMPLETE" {
		t.Errorf("the wait is %s", status)
	}
}

// The stack's wait names the members that a group had at the last update; the members' own waits
// say who is there now.
func TestMachinesOfAGroupThatScales(t *testing.T) {
	named := func(stack string, servers ...contract.HeatServer) wait {
		w := wait{Deployment: heat.Deployment{Status: "COMPLETE"}}
		w.About.Stack, w.Servers = stack, servers
		return w
	}
	root := named("", contract.HeatServer{Server: "web/*", ID: "old"}, contract.HeatServer{Server: "web/*", ID: "stays"}, contract.HeatServer{Server: "db", ID: "db"})
	all := []wait{root, named("web/*", contract.HeatServer{Server: "web/*", ID: "stays"}), named("web/*", contract.HeatServer{Server: "web/*", ID: "new"})}
	var ids []string
	for _, m := range machines(root, all) {
		ids = append(ids, m.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{"db", "new", "stays"}) {
		t.Errorf("%q", ids)
	}
}
