package agent_test

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A relay says that Heat updates the stack after a failure: the failed role of this machine runs
// again, once for each update, also over the agent's restart, and is reported when its marks are gone.
func TestFailedRolesRunAgainForHeat(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", failsOnce), output("endpoint", contract.String)), b.sh("backup", "echo backup >>../count"))
	b.plan.Signal = contract.RelaySignals
	b.apply()
	db := b.start("db", stays)
	failed := func(attempt int) {
		t.Helper()
		b.awaitState("db", func(s protocol.ServerState) bool {
			return s.Phase == protocol.PhaseFailed && s.Roles[0].Attempt == attempt
		})
	}
	says := func(instance, update string) {
		b.gives(map[contract.ServerPath]protocol.HeatValues{"db": {Instance: instance, Again: update}})
	}
	failed(0)
	says("i-db", "first")
	failed(1)
	b.awaitState("db", func(s protocol.ServerState) bool { return s.Again == "first" })
	says("another", "not for this machine")
	db.cancel()
	db.gone()
	db = b.start("db", stays)
	failed(1)
	mend(t, db)
	says("i-db", "second")
	state := b.awaitState("db", inPhase(protocol.PhaseDone))
	if state.Again != "second" || state.Roles[0].Attempt != 2 {
		t.Errorf("it reports %+v", state)
	}
	b.want("db.mysql:endpoint", `"up"`)
	db.ran("run\nrun\nrun\nbackup\n")
}

// The same of an update hook that has failed; one that has not does not run.
func TestFailedHooksRunAgainForHeat(t *testing.T) {
	b := newBed(t)
	b.server("db", b.updatable("1", "true"), with(b.sh("other", "true"), idempotent))
	b.plan.Signal = contract.RelaySignals
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseDone))
	hook := func(status protocol.RoleStatus, runs int) {
		t.Helper()
		b.awaitState("db", func(s protocol.ServerState) bool {
			return s.Roles[0].Update != nil && s.Roles[0].Update.Status == status && s.Roles[0].Runs == runs
		})
	}
	b.plan.Servers[0].Roles[0] = b.updatable("2", "[ -e ../mended ] || exit 4; echo done >>../again")
	b.apply()
	hook(protocol.RoleFailed, 2)
	b.gives(map[contract.ServerPath]protocol.HeatValues{"db": {Instance: "i-db", Again: "first"}})
	hook(protocol.RoleFailed, 3)
	mend(t, db)
	b.gives(map[contract.ServerPath]protocol.HeatValues{"db": {Instance: "i-db", Again: "second"}})
	hook(protocol.RoleDone, 4)
	if got := db.file("again"); got != "done\n" {
		t.Errorf("it ran %q", got)
	}
	if state := b.awaitState("db", func(s protocol.ServerState) bool { return s.Again == "second" }); state.Roles[1].Runs != 1 {
		t.Errorf("what had not failed ran %d times", state.Roles[1].Runs)
	}
}
