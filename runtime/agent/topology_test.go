package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// anew begins another plan in the place of the one that was applied.
func (b *bed) anew() { b.plan.Servers, b.plan.Cells = nil, nil }

func roleIs(name string, status protocol.RoleStatus) func(protocol.ServerState) bool {
	return func(s protocol.ServerState) bool {
		for _, r := range s.Roles {
			if r.Name == name {
				return r.Status == status
			}
		}
		return status == ""
	}
}

// A role that is added runs, wherever it stands among those that are done; one that is removed is
// forgotten, and runs again if it comes again. Nothing else runs twice.
func TestRolesComeAndGo(t *testing.T) {
	b := newBed(t)
	note := func(name string) contract.Role { return b.sh(name, "echo "+name+" >>../count") }
	b.server("db", note("a"), note("b"))
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseDone))
	b.anew()
	b.server("db", note("c"), note("b"))
	b.apply()
	state := b.awaitState("db", roleIs("c", protocol.RoleDone))
	if len(state.Roles) != 2 || state.Roles[0].Name != "c" || state.Roles[1].Name != "b" {
		t.Errorf("db reports %+v", state.Roles)
	}
	db.await("db.a was removed from the plan")
	db.ran("a\nb\nc\n")
	db = b.restart(db)
	b.awaitState("db", roleIs("c", protocol.RoleDone))
	b.anew()
	b.server("db", note("b"), note("a"))
	b.apply()
	b.awaitState("db", roleIs("a", protocol.RoleDone))
	b.awaitState("db", roleIs("c", ""))
	db.ran("a\nb\nc\na\n")
	// What changed while the agent was away it finds when it comes.
	db.cancel()
	if err := db.wait(); err != nil {
		t.Fatal(err)
	}
	b.anew()
	b.server("db", note("c"), note("b"))
	b.apply()
	db = b.start("db", stays)
	b.awaitState("db", func(s protocol.ServerState) bool {
		return s.Phase == protocol.PhaseDone && roleIs("c", protocol.RoleDone)(s) && roleIs("a", "")(s)
	})
	db.ran("a\nb\nc\na\nc\n")
}

// A role that is added before others that are done, and fails, ends none of these.
func TestARoleThatIsAddedFails(t *testing.T) {
	b := newBed(t)
	done := with(b.sh("done", "printf up | hotc-agent put x"), output("x", contract.String))
	b.server("db", done)
	b.apply()
	b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseDone))
	b.anew()
	b.server("db", with(b.sh("new", "exit 3"), output("y", contract.String)), done, with(b.sh("later", "true"), output("z", contract.String)))
	b.apply()
	state := b.awaitState("db", inPhase(protocol.PhaseFailed))
	if s := state.Roles; len(s) != 3 || s[0].Status != protocol.RoleFailed || s[1].Status != protocol.RoleDone || s[2].Status != protocol.RoleSkipped {
		t.Errorf("db reports %+v", s)
	}
	b.want("db.done:x", `"up"`)
	for _, cell := range []contract.CellName{"db.new:y", "db.later:z"} {
		if got := b.cell(cell); !strings.HasPrefix(got, "failed: ") {
			t.Errorf("%s is %s", cell, got)
		}
	}
	// What is added behind a failed role cannot run either, and its readers hear so.
	b.anew()
	b.server("db", with(b.sh("new", "exit 3"), output("y", contract.String)), done, with(b.sh("later", "true"), output("z", contract.String), output("more", contract.String)))
	b.apply()
	b.server("app", with(b.sh("app", "echo $y"), input("y", "db.later:more", func(in *contract.Input) { in.Eager = true })))
	b.apply()
	b.start("app").mustFail()
}

// A role that is added behind a failed one while no agent runs fails at the agent's return.
func TestARoleIsAddedBehindAFailedOneThatNobodyRuns(t *testing.T) {
	b := newBed(t)
	failed := with(b.sh("failed", "exit 3"), output("x", contract.String))
	b.server("db", failed)
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseFailed))
	db.cancel()
	_ = db.wait()
	b.anew()
	b.server("db", failed, with(b.sh("later", "true"), output("y", contract.String)))
	b.apply()
	b.start("db", stays)
	b.awaitState("db", func(s protocol.ServerState) bool { return s.Role("later").Status == protocol.RoleSkipped })
	for _, cell := range []contract.CellName{"db.later", "db.later:y"} {
		if got := b.cell(cell); !strings.HasPrefix(got, "failed: ") {
			t.Errorf("%s is %s", cell, got)
		}
	}
}

// The edge between two servers is turned round: who has waited for the other goes on, the
// other one reads, and nobody waits for what went.
func TestAnEdgeIsTurned(t *testing.T) {
	b := newBed(t)
	orElse := func(in *contract.Input) { in.Default = []byte(`"none"`) }
	b.server("a", with(b.sh("a", `echo "a: $(hotc-agent get y)" >>../count; printf 1 | hotc-agent put x`), output("x", contract.String), input("y", "b.b:y", orElse)))
	b.server("b", with(b.sh("b", "printf 2 | hotc-agent put y"), output("y", contract.String)))
	b.apply()
	a := b.start("a", stays)
	b.awaitState("a", blockedOn("b.b:y"))
	b.anew()
	r := with(b.sh("a", `echo "a: no more" >>../count; printf 1 | hotc-agent put x`), output("x", contract.String))
	r.Hooks = []contract.Task{b.task(contract.HookUpdate, "echo hook >>../count")}
	b.server("a", r)
	b.server("b", with(b.sh("b", `echo "b: $(hotc-agent get x)" >>../count; printf 2 | hotc-agent put y`), output("y", contract.String), input("x", "a.a:x")))
	b.apply()
	bb := b.start("b", stays)
	b.awaitState("b", inPhase(protocol.PhaseDone))
	b.asPlanned("a")
	a.ran("a: none\nhook\n")
	bb.ran("b: 1\n")
}

// A role that is done writes an output that it has more, when it runs again.
func TestAnOutputIsAdded(t *testing.T) {
	b := newBed(t)
	one := func(hook string, more ...func(*contract.Role)) contract.Role {
		r := with(b.sh("db", "printf 1 | hotc-agent put x"), append([]func(*contract.Role){output("x", contract.String)}, more...)...)
		r.Hooks = []contract.Task{b.task(contract.HookUpdate, "echo hook >>../count; "+hook)}
		return r
	}
	b.server("db", one("true"))
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseDone))
	b.anew()
	s := b.server("db", one("printf 2 | hotc-agent put y", output("y", contract.String)))
	b.fact(s, contract.FactName)
	b.server("app", with(b.sh("app", `echo "$(hotc-agent get y)" >>../count`), input("y", "db.db:y")))
	b.apply()
	app := b.start("app")
	app.mustBeDone()
	app.ran("2\n")
	db.ran("hook\n")
	b.awaitState("db", func(protocol.ServerState) bool { return strings.HasPrefix(b.cell("db:name"), "failed: ") }) // nobody knows it here
}

// An output is removed, and added again: its value is gone with its cell, so the hook writes it anew.
func TestAnOutputComesBack(t *testing.T) {
	b := newBed(t)
	two := func() contract.Role {
		r := with(b.sh("db", "printf 1 | hotc-agent put x; printf 1 | hotc-agent put y"), output("x", contract.String), output("y", contract.String))
		r.Hooks = []contract.Task{b.task(contract.HookUpdate, "echo hook >>../count; printf 2 | hotc-agent put y")}
		return r
	}
	b.server("db", two())
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseDone))
	for _, away := range []bool{false, true} {
		without := two()
		without.Outputs = without.Outputs[:1]
		b.swap(map[contract.ServerPath][]contract.Role{"db": {without}})
		if away {
			db.cancel()
			_ = db.wait()
		} else {
			b.awaitState("db", func(s protocol.ServerState) bool { return s.Roles[0].Made == without.Made() })
		}
		whole := two()
		b.swap(map[contract.ServerPath][]contract.Role{"db": {whole}})
		if away {
			db = b.start("db", stays)
		}
		b.awaitState("db", func(protocol.ServerState) bool { return b.cell("db.db:y") != "" && b.cell("db.db:y") != "empty" })
		b.asPlanned("db")
	}
	b.want("db.db:y", `"2"`)
}

// The agent of a server that was taken out says so, and ends for good; so it does when it is
// started again. A new machine of the name joins when the server is in the plan again.
func TestAServerIsTakenOut(t *testing.T) {
	b := newBed(t)
	out, stayed := b.sh("db", "sleep 1000"), with(b.sh("app", "echo app >>../count"))
	b.server("db", out)
	b.server("app", stayed)
	b.apply()
	db, app := b.start("db", stays), b.start("app", stays)
	b.awaitState("db", roleIs("db", protocol.RoleRunning))
	b.awaitState("app", inPhase(protocol.PhaseDone))
	b.anew()
	b.server("app", stayed)
	b.apply()
	for range 2 {
		err := db.wait()
		var removed *member.RemovedError
		if !errors.As(err, &removed) || !errors.Is(err, member.ErrDestroyed) || !strings.Contains(err.Error(), "server db was removed from the deployment blog") {
			t.Fatalf("it ends with %v", err)
		}
		db = b.start("db", stays)
	}
	app.ran("app\n")
	b.anew()
	b.server("app", stayed)
	b.server("db", b.sh("db", "echo again >>../count"))
	b.apply()
	if err := db.wait(); !errors.Is(err, member.ErrFenced) && !errors.Is(err, member.ErrDestroyed) {
		t.Errorf("the machine that was taken out: %v", err)
	}
	b.state = t.TempDir()
	db = b.start("db")
	db.mustBeDone()
	db.ran("again\n")
}

// sealed makes an output of the plan a secret.
func (b *bed) sealed(cell contract.CellName) {
	for i := range b.plan.Cells {
		b.plan.Cells[i].Sealed = b.plan.Cells[i].Sealed || b.plan.Cells[i].Name == cell
	}
}

// The first secret of a deployment comes with a change of its plan: its writer's agent, which had
// nothing to seal when it started, seals it for its reader.
func TestAChangeAddsTheFirstSecret(t *testing.T) {
	b := newBed(t)
	b.server("db", b.updatable("1", ""))
	b.server("app", b.sh("first", "true"))
	b.apply()
	b.start("db", stays)
	b.start("app", stays)
	b.awaitState("db", inPhase(protocol.PhaseDone))
	b.awaitState("app", inPhase(protocol.PhaseDone))
	secret := func(r *contract.Role) { r.Outputs[len(r.Outputs)-1].Secret = true }
	b.anew()
	b.server("db", b.updatable("1", ""), with(b.sh("users", "printf hush | hotc-agent put password"), output("password", contract.String), secret))
	b.server("app", b.sh("first", "true"), with(b.sh("second", `[ "$(hotc-agent get password)" = hush ]`), input("password", "db.users:password", func(in *contract.Input) { in.Secret = true })))
	b.sealed("db.users:password")
	b.apply()
	b.awaitState("app", roleIs("second", protocol.RoleDone))
}
