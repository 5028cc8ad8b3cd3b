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
