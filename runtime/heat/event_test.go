package heat_test

import (
	"testing"

	"github.com/hotc-dev/hotc/runtime/heat"
)

func TestEventPath(t *testing.T) {
	for _, c := range []struct{ stack, resource, want string }{
		{"site", "db", "db"},
		{"site-web-kigpdwjkhvf5", "0", "web/0"},
		{"site-web-kigpdwjkhvf5-0-wcady3uym7zf", "server", "web/0/server"},
		{"site-web-tier-kigpdwjkhvf5-one-0-wcady3uym7zf", "server", "web-tier/one-0/server"},
		{"site-cut", "server", "server"},
		{"other", "x", "x"},
	} {
		if got := (heat.Event{Name: c.resource, StackName: c.stack}).Path("site"); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.resource, c.stack, got, c.want)
		}
	}
}

// A reason is shown of what has failed, and of the end of a stack's action; a signal is not shown.
func TestEventText(t *testing.T) {
	for _, c := range []struct {
		state  heat.State
		stack  bool
		reason string
		want   string
	}{
		{"CREATE_IN_PROGRESS", false, "state changed", "CREATE_IN_PROGRESS"},
		{"CREATE_FAILED", false, "Conflict: no host\nmore", "CREATE_FAILED: Conflict: no host"},
		{"UPDATE_COMPLETE", true, "Stack UPDATE completed", "UPDATE_COMPLETE: Stack UPDATE completed"},
		{"DELETE_IN_PROGRESS", false, "DELETE paused until Hook pre-delete is cleared", "DELETE_IN_PROGRESS: waits for the delete hooks"},
		{"SIGNAL_COMPLETE", false, "Signal: status:SUCCESS", ""},
	} {
		e := heat.Event{State: c.state, Reason: c.reason, Physical: "r", StackID: "s"}
		if c.stack {
			e.Physical = "s"
		}
		if got := e.Text(); got != c.want {
			t.Errorf("%s: %q, want %q", c.state, got, c.want)
		}
	}
}
