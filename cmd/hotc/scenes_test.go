package main

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/live"
)

// The scenes are deployments at a certain moment, for every command that looks
// at one. What each of them prints is in testdata/SCENE.*.
var scenes = []scene{
	{"nobody-came", func(t *testing.T, d *desk) {}, "lb.proxy"},
	{"chain", func(t *testing.T, d *desk) {
		db := d.agent(t, "db")
		report(t, db, nil, running("mysql"))
		if err := db.WriteLog(t.Context(), "mysql", []byte("Reading package lists...\nUnpacking mysql-server \x1b[2J(8.0) ...\r\n\n")); err != nil {
			t.Fatal(err)
		}
		report(t, d.agent(t, "app"), nil, done("base"), running("web", wait("db.mysql:endpoint", "db", "site.yaml:30:17")))
		report(t, d.agent(t, "lb"), nil, running("proxy",
			wait("app.web:port", "port", "site.yaml:44:19"), wait("db.mysql", "", "site.yaml:46:13")))
	}, "lb.proxy"},
	{"turn", func(t *testing.T, d *desk) {
		report(t, d.agent(t, "app"), nil, running("base"), protocol.RoleState{Name: "web", Status: protocol.RolePending})
	}, "app.web"},
	{"not-started", func(t *testing.T, d *desk) { // it waits for what it depends on, or an eager input
		report(t, d.agent(t, "db"), nil, running("mysql"))
		report(t, d.agent(t, "app"), nil, done("base"), protocol.RoleState{Name: "web", Status: protocol.RolePending,
			Blocked: []protocol.Wait{wait("db.mysql:endpoint", "db", "site.yaml:30:17")}})
	}, "app.web"},
	{"many-machines", func(t *testing.T, d *desk) { // somebody has the token, or the server's disk is lost at each boot
		secret, _ := protocol.ParseSecret(testSecret)
		for n := range 12 {
			store := d.tree.Open(protocol.ServerCredential("db", secret.ServerToken("site", "db")))
			m := member.Join(store, "site", "db", secret.ServerToken("site", "db"))
			_, err := m.Plan(t.Context())
			if err == nil {
				_, err = m.Enrol(t.Context(), fmt.Sprint("id-", n), "i-db", false, noon)
			}
			if err != nil {
				t.Fatal(err)
			}
			store.Close()
		}
	}, "db"},
	{"absent-producer", func(t *testing.T, d *desk) {
		report(t, d.agent(t, "app"), nil, done("base"), running("web",
			wait("db.mysql:endpoint", "db", "site.yaml:30:17"), wait("db:first_address", "host", "site.yaml:31:19")))
	}, "app"},
	{"failure", func(t *testing.T, d *desk) {
		first := &protocol.Cause{Role: "db.mysql", Reason: "exit status 7", At: "site.yaml:14:11"}
		report(t, d.agent(t, "db"), map[contract.CellName]*protocol.Cause{"db.mysql": first, "db.mysql:endpoint": first},
			failure("mysql", first, "E: Unable to locate package mysql-server\n"))
		second := &protocol.Cause{Role: "app.web", Reason: "input db has failed", At: "site.yaml:30:17", Cause: first}
		report(t, d.agent(t, "app"), map[contract.CellName]*protocol.Cause{"app.web": second, "app.web:port": second},
			done("base"), failure("web", second, ""))
		report(t, d.agent(t, "lb"), nil, running("proxy", wait("app.web:port", "port", "site.yaml:44:19")))
	}, "app.web"},
	{"skipped", func(t *testing.T, d *desk) {
		first := &protocol.Cause{Role: "app.base", Reason: "exit status 7"}
		second := &protocol.Cause{Role: "app.web", Reason: "an earlier role failed", Cause: first}
		report(t, d.agent(t, "app"), map[contract.CellName]*protocol.Cause{"app.base": first, "app.web": second, "app.web:port": second},
			failure("base", first, "no space left on device"), protocol.RoleState{Name: "web", Status: protocol.RoleSkipped, Cause: second})
	}, "app.web"},
	{"lost", func(t *testing.T, d *desk) {
		db := d.agentUntil(t, "db", func(m *member.Session) { report(t, m, nil, running("mysql")) })
		_ = db
		report(t, d.agent(t, "app"), nil, done("base"), running("web", wait("db.mysql:endpoint", "db", "site.yaml:30:17")))
	}, "app.web"},
	{"cycle", func(t *testing.T, d *desk) {
		report(t, d.agent(t, "db"), nil, running("mysql", wait("app.web:port", "peer", "site.yaml:15:9")))
		report(t, d.agent(t, "app"), nil, done("base"), running("web", wait("db.mysql:endpoint", "db", "site.yaml:30:17")))
	}, "db"},
	{"all-done", func(t *testing.T, d *desk) {
		db, app, lb := d.agent(t, "db"), d.agent(t, "app"), d.agent(t, "lb")
		put(t, db, "db:first_address", `"10.0.0.3"`)
		put(t, db, "db.mysql:endpoint", `"mysql://10.0.0.3/<blog>"`)
		put(t, db, "db.mysql", `null`)
		put(t, app, "app.base", `null`)
		put(t, app, "app.web:port", `8080`)
		put(t, app, "app.web", `null`)
		put(t, lb, "lb.proxy", `null`)
		report(t, db, nil, done("mysql"))
		report(t, app, nil, done("base"), done("web"))
		report(t, lb, nil, done("proxy"))
	}, "db.mysql"},
	{"gone", func(t *testing.T, d *desk) {
		for server, roles := range map[contract.ServerPath][]protocol.RoleState{"db": {done("mysql")}, "app": {done("base"), done("web")}} {
			d.agentUntil(t, server, func(m *member.Session) { report(t, m, nil, roles...) })
		}
		report(t, d.agent(t, "lb"), nil, done("proxy"))
	}, "db"},
	{"failed-and-gone", func(t *testing.T, d *desk) {
		first := &protocol.Cause{Role: "db.mysql", Reason: "exit status 7", At: "site.yaml:14:11"}
		d.agentUntil(t, "db", func(m *member.Session) {
			report(t, m, map[contract.CellName]*protocol.Cause{"db.mysql": first, "db.mysql:endpoint": first}, failure("mysql", first, ""))
		})
	}, "db"},
}

type scene struct {
	name    string
	arrange func(t *testing.T, d *desk)
	ask     string // whom `why` asks about
}

// exit is the status that status and why end with.
func (s scene) exit() int {
	if s.name == "failure" || s.name == "skipped" || s.name == "failed-and-gone" {
		return exitFailed
	}
	return exitOK
}

// agentUntil is an agent that goes away after what it does.
func (d *desk) agentUntil(t *testing.T, server contract.ServerPath, do func(*member.Session)) *member.Session {
	t.Helper()
	secret, _ := protocol.ParseSecret(testSecret)
	store := d.tree.Open(protocol.ServerCredential(server, secret.ServerToken("site", server)))
	defer store.Close()
	m := member.Join(store, "site", server, secret.ServerToken("site", server))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := m.Enrol(t.Context(), "id-"+string(server), "i-"+string(server), false, noon)
	if err != nil {
		t.Fatal(err)
	}
	do(s)
	return s
}

// A text is told at a quarter past noon, on a terminal of 80 characters.
func TestScenesForPeople(t *testing.T) {
	now := noon.Add(75 * time.Second)
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			t.Setenv("OS_CLOUD", "") // Heat is not asked
			t.Setenv("OS_AUTH_URL", "")
			d := newDesk(t)
			d.apply(t)
			scene.arrange(t, d)
			tgt := &target{stack: "site", url: d.url, secretFile: d.secret, timeout: time.Hour}
			s, err := tgt.open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			v, err := s.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text := "$ hotc status\n" + statusText(streams{}, v.Status, v.Servers, nil, s, now)
			text += "\n$ hotc why\n" + rootsText(s, asked(t, s, v, ""), now)
			text += "\n$ hotc why " + scene.ask + "\n" + explanationText(s, asked(t, s, v, scene.ask), now)
			golden(t, scene.name+".txt", d.steady(text))
		})
	}
}

func asked(t *testing.T, s *session, v *live.View, about string) *status.Explanation {
	t.Helper()
	i, err := s.Explain(t.Context(), v, about)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestScenesAsJSON(t *testing.T) {
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			t.Setenv("OS_CLOUD", "") // Heat is not asked
			t.Setenv("OS_AUTH_URL", "")
			d := newDesk(t)
			d.apply(t)
			scene.arrange(t, d)
			status, err := d.on(t, newStatusCommand, "--json")
			if want := scene.exit(); exit(t.Context(), streams{err: io.Discard}, "hotc", err) != want {
				t.Fatalf("status: %v, want it to end with %d", err, want)
			}
			why, err := d.on(t, newWhyCommand, scene.ask, "--json")
			if want := scene.exit(); exit(t.Context(), streams{err: io.Discard}, "hotc", err) != want {
				t.Fatalf("why: %v, want it to end with %d", err, want)
			}
			outputs, err := d.on(t, newOutputsCommand, "--json")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, scene.name+".json", d.steady(status+why+outputs))
		})
	}
}
