package agent_test

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

func atEnd(r *contract.Role) { r.Outputs[len(r.Outputs)-1].Publish = contract.AtEnd }

// An output that grows is published once, when its role has ended well: whatever writes it.
func TestOutputsThatArePublishedAtTheEnd(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", `printf '["a"]' | hotc-agent put list; printf '["a","b"]' | hotc-agent put list
printf one >$heat_outputs_path.file; sleep 0.1; printf two >$heat_outputs_path.file
hotc-agent get go`), input("go", "web.app:go"), output("list", contract.List), atEnd, output("file", contract.String), atEnd))
	b.server("web", with(b.sh("app", "hotc-agent get wait >/dev/null; printf 1 | hotc-agent put go"), input("wait", "other.r:now"), output("go", contract.String)))
	b.server("other", with(b.sh("r", "printf 1 | hotc-agent put now"), output("now", contract.String)))
	b.apply()
	db := b.start("db")
	b.awaitState("db", blockedOn("web.app:go"))
	for _, name := range []string{"list", "file"} {
		if got := b.cell(contract.CellName("db.mysql:" + name)); got != "empty" {
			t.Errorf("%s was published before the end: %s", name, got)
		}
	}
	b.start("web")
	b.start("other")
	db.mustBeDone()
	b.want("db.mysql:list", `["a","b"]`)
	b.want("db.mysql:file", `"two"`)
}

// A role that fails publishes none of them.
func TestAFailedRolePublishesNothingAtItsEnd(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "printf 1 | hotc-agent put a; exit 3"), output("a", contract.String), atEnd))
	b.apply()
	b.start("db").mustFail()
	b.want("db.mysql:a", "failed: db.mysql: exit status 3 (site.yaml:2:2)")

	b = newBed(t)
	b.server("db", with(b.sh("mysql", "printf 1 | hotc-agent put a"), output("a", contract.String), atEnd, output("b", contract.String), atEnd))
	b.apply()
	b.start("db").mustFail()
	b.want("db.mysql:a", "failed: db.mysql: finished without writing b (site.yaml:3:3)")
}
