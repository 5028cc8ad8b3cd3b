package relay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Software deployments that another user of the project has made beside the stack's own: with
// values that no relay carries, of another deployment, or nonsense. They change nothing of what roles
// get, and Heat goes on with the stack's own when its roles are done.
func TestForgedDeployments(t *testing.T) {
	w := given(t)
	m := w.machine("id-1")
	for name, value := range map[contract.CellName]string{"db.mysql:endpoint": `"http://db"`, "db.mysql:own": `1`} {
		if err := m.Put(t.Context(), name, json.RawMessage(value), noon); err != nil {
			t.Fatal(err)
		}
	}
	w.wait("w1", "c1", leveled("id-1", `"low"`))
	hidden := leveled("id-1", `"low"`)
	hidden.Values["hidden"] = json.RawMessage(`"evil"`)
	w.wait("a hidden value", "c3", hidden)
	for id, about := range map[string]string{"another deployment": `{"format":1,"deployment":"other"}`, "nonsense": `[[[`} {
		w.wait(id, "c4", leveled("id-1", `"evil"`))
		w.waits[id].Inputs["hotc"] = json.RawMessage(about)
	}
	w.relay(t.Context(), "relay", nil)
	w.until("the value is there", func() bool { return w.told(m) == `id-1 "low"` })
	looks := w.looked()
	w.until("the relay has looked again", func() bool { return w.looked() > looks+2 })
	if now, err := m.Heat(t.Context()); err != nil || len(now.Values) != 1 || w.told(m) != `id-1 "low"` || now.Again != "" || now.Going != 0 {
		t.Errorf("the machine is told %+v, %v", now, err)
	}
	w.ran(m, `"low"`)
	w.until("Heat was told of its own wait", func() bool {
		return strings.Contains(strings.Join(w.said(), "\n"), "w1 COMPLETE all roles are done")
	})
	for _, said := range w.said() {
		if strings.HasPrefix(said, "another deployment") || strings.HasPrefix(said, "nonsense") {
			t.Errorf("the relay has ended %q, which is not its own", said)
		}
	}
}
