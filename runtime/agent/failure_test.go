package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/ansible"
)

func TestAFailureRunsAlongTheWholeChain(t *testing.T) {
	b := newBed(t)
	b.server("db",
		with(b.sh("mysql", "printf up >$heat_outputs_path.early; echo broken pipe >&2; exit 3"), output("early", contract.String), output("endpoint", contract.String)),
		with(b.sh("backup", "touch ran"), output("path", contract.String)))
	b.server("app", with(b.sh("app", "hotc-agent get url; touch gone_on; sleep 600"), input("url", "db.mysql:endpoint"), output("site", contract.String)))
	b.server("web", with(b.sh("nginx", "touch ran"), dependsOn("app.app")))
	b.server("cron", with(b.sh("cron", "hotc-agent get path"), input("path", "db.backup:path")))
	b.apply()
	app, web, cron := b.start("app"), b.start("web"), b.start("cron")
	b.awaitState("app", blockedOn("db.mysql:endpoint"))
	b.awaitState("web", blockedOn("app.app"))
	db := b.start("db")
	for _, r := range []*running{db, app, web, cron} {
		r.mustFail()
	}
	const (
		root = "db.mysql: exit status 3: broken pipe (site.yaml:2:2)"
		mid  = "app.app: blocked on db.mysql:endpoint (input url) (site.yaml:4:4)\n  because " + root
		last = "web.nginx: blocked on app.app (depends_on) (site.yaml:5:5)\n  because " + mid
		skip = "db.backup: skipped: the role mysql before it failed (site.yaml:2:2)\n  because " + root
	)
	b.want("db.mysql:early", `"up"`)
	b.want("db.mysql:endpoint", "failed: "+root)
	b.want("db.mysql", "failed: "+root)
	b.want("db.backup", "failed: "+skip)
	b.want("db.backup:path", "failed: "+skip)
	b.want("app.app:site", "failed: "+mid)
	b.want("web.nginx", "failed: "+last)
	b.want("cron.cron", "failed: cron.cron: blocked on db.backup:path (input path) (site.yaml:4:4)\n  because "+skip)
	if got := db.file("mysql.status"); got != "3\n" {
		t.Errorf("the exit status is %q", got)
	}
	state := b.awaitState("db", inPhase(protocol.PhaseFailed))
	if r := state.Roles[0]; r.Status != protocol.RoleFailed || *r.ExitCode != 3 || r.LastLines != "broken pipe" {
		t.Errorf("db reports %+v", r)
	}
	if r := state.Roles[1]; r.Status != protocol.RoleSkipped {
		t.Errorf("db reports %+v", r)
	}
}

// What a role makes of the error of a read is not a value for others.
func TestNothingIsPublishedAfterAFailedRead(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "exit 3"), output("endpoint", contract.String)))
	b.server("app", with(b.sh("app", "hotc-agent get url | hotc-agent put site; printf x >$heat_outputs_path.late; touch gone_on"),
		input("url", "db.mysql:endpoint"), output("site", contract.String), output("late", contract.String)))
	b.server("web", with(b.sh("nginx", "hotc-agent get site; touch ran"), input("site", "app.app:site")))
	b.apply()
	for _, r := range []*running{b.start("web"), b.start("app"), b.start("db")} {
		r.mustFail()
	}
	if _, err := os.Stat(filepath.Join(b.state, "app", "work", "app", "gone_on")); err == nil {
		t.Error("the script went on")
	}
	const cause = "app.app: blocked on db.mysql:endpoint (input url) (site.yaml:4:4)\n  because db.mysql: exit status 3 (site.yaml:2:2)"
	b.want("app.app:site", "failed: "+cause)
	b.want("app.app:late", "failed: "+cause)
	b.want("web.nginx", "failed: web.nginx: blocked on app.app:site (input site) (site.yaml:4:4)\n  because "+cause)
}

// A tool whose user rescues what fails does not come to that.
func TestAFailedReadIsNotRescued(t *testing.T) {
	program, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Skip("SKIPPED: no ansible-playbook on PATH (Debian: ansible-core)")
	}
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "exit 3"), output("endpoint", contract.String)))
	rescued := filepath.Join(t.TempDir(), "rescued")
	app := with(b.sh("app", "- hosts: all\n  gather_facts: false\n  tasks:\n    - block: [{set_fact: {v: '{{ url }}'}}]\n      rescue: [{set_fact: {v: none}}, {command: touch "+rescued+"}]\n    - command: sleep 600\n"),
		input("url", "db.mysql:endpoint"), output("v", contract.String))
	app.Driver, app.Source = "ansible", json.RawMessage(fmt.Sprintf(`{"playbook":["site.yml"],"text":{"file":%q,"name":"site.yml"},"host":"localhost"}`, app.Files[0]))
	b.server("app", app)
	b.apply()
	db, web := b.start("db"), b.start("app", func(c *agent.Config) {
		c.Drivers, c.InstallNothing, c.Grace = []driver.Driver{ansible.Driver{}}, true, time.Hour
		c.Environment = append(c.Environment, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	})
	db.mustFail()
	web.mustFail()
	if _, err := os.Stat(rescued); err == nil {
		t.Error("the playbook went on")
	}
	b.want("app.app:v", "failed: app.app: blocked on db.mysql:endpoint (input url) (site.yaml:4:4)\n  because db.mysql: exit status 3 (site.yaml:2:2)")
}

// One role a row: how it fails, and what everybody is told.
func TestWhatFailsARole(t *testing.T) {
	for name, c := range map[string]struct {
		role func(*bed) contract.Role
		want string
	}{
		"an output is not written": {
			func(b *bed) contract.Role {
				return with(b.sh("r", "printf 1 >$heat_outputs_path.a"), output("a", contract.String), output("b", contract.String), output("c", contract.String))
			},
			"s.r: finished without writing b, c (site.yaml:3:3)"},
		"a number that is none": {
			func(b *bed) contract.Role {
				return with(b.sh("r", "echo many | hotc-agent put a; sleep 600"), output("a", contract.Number))
			},
			"s.r: output a: expected a number, but the value is not valid JSON (invalid character 'm' looking for beginning of value): \"many\\n\" (site.yaml:3:3)"},
		"a list that is a map, in a file": {
			func(b *bed) contract.Role {
				return with(b.sh("r", "echo '{}' >$heat_outputs_path.a; sleep 600"), output("a", contract.List))
			},
			"s.r: output a: expected a list, but the value is a map or null: \"{}\\n\" (site.yaml:3:3)"},
		"another value": {
			func(b *bed) contract.Role {
				return with(b.sh("r", "printf 1 | hotc-agent put a; printf 2 | hotc-agent put a; sleep 600"), output("a", contract.String))
			},
			"s.r: output a: it was already published with a different value: set `publish: end` to publish only the last value, when the role has ended (site.yaml:3:3)"},
		"a signal": {
			func(b *bed) contract.Role { return b.sh("r", "echo last words; kill -9 $$") },
			"s.r: killed by a signal (killed): last words (site.yaml:2:2)"},
		"its time": {
			func(b *bed) contract.Role {
				return with(b.sh("r", "sleep 600 & wait"), func(r *contract.Role) { r.Timeout = 0.2 })
			},
			"s.r: timed out after 200ms (site.yaml:2:2)"},
		"an input's time": {
			func(b *bed) contract.Role {
				return with(b.sh("r", "hotc-agent get x; sleep 600"), input("x", "other.role:x", func(in *contract.Input) { in.Timeout = 0.2 }))
			},
			"s.r: blocked on other.role:x (input x): no value after 200ms (the input's timeout) (site.yaml:4:4)"},
		"an eager input's type": {
			func(b *bed) contract.Role {
				return with(b.sh("r", "touch ran"), static("x", `"many"`), func(r *contract.Role) { r.Inputs[0].Type = contract.Number })
			},
			"s.r: input x: expected a number, but the value is a string: \"\\\"many\\\"\" (site.yaml:4:4)"},
		"no such interpreter": {
			func(b *bed) contract.Role { return b.sh("r", "#!/no/such/thing -x\n") },
			"s.r: interpreter /no/such/thing: start the process: fork/exec /no/such/thing: no such file or directory (site.yaml:2:2)"},
		"Windows line ends": {
			func(b *bed) contract.Role { return b.sh("r", "#!/bin/sh\r\nexit 0\r\n") },
			"s.r: the script has Windows line endings, so that its interpreter is \"/bin/sh\\r\" (site.yaml:2:2)"},
		"no such driver": {
			func(b *bed) contract.Role {
				return with(b.sh("r", ""), func(r *contract.Role) { r.Driver = "cfengine" })
			},
			"s.r: this agent has no driver \"cfengine\" (site.yaml:2:2)"},
		"a source of a newer compiler": {
			func(b *bed) contract.Role {
				return with(b.sh("r", ""), func(r *contract.Role) { r.Source = rawMessage(`{"url":"x"}`) })
			},
			"s.r: read the role's source in the plan: json: unknown field \"url\" (site.yaml:2:2)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.server("s", c.role(b))
			b.server("other", with(b.sh("role", ""), output("x", contract.String)))
			b.apply()
			b.start("s").mustFail()
			b.want("s.r", "failed: "+c.want)
		})
	}
}

func TestTooLargeAValue(t *testing.T) {
	b := newBed(t)
	b.server("s", with(b.sh("r", "head -c 2000000 /dev/zero | tr '\\0' x | hotc-agent put a; sleep 600"), output("a", contract.String)))
	b.apply()
	b.start("s").mustFail()
	if got := b.cell("s.r"); !strings.Contains(got, "s.r: output a: ") || !strings.Contains(got, "2000002 bytes") {
		t.Errorf("%.300s", got)
	}
}

func TestAnUndeclaredNameIsAnErrorOfWhoAsks(t *testing.T) {
	b := newBed(t)
	b.server("s", with(b.sh("r", `hotc-agent get password; echo $?; echo x | hotc-agent put b; echo $?; echo x >$heat_outputs_path.typo`),
		static("name", `"x"`), func(r *contract.Role) { r.Outputs = nil }))
	b.server("db", with(b.sh("mysql", ""), static("password", `"hush"`)))
	b.apply()
	s := b.start("s")
	s.mustBeDone()
	want := "hotc-agent: input password is not declared; the inputs of s.r are: name\n" +
		"hotc-agent: output b is not declared; the outputs of s.r are: none\n" +
		"hotc-agent: output.typo: output typo is not declared; the outputs of s.r are: none\n"
	if got := s.file("r.stderr"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := s.file("r.stdout"); got != "1\n1\n" {
		t.Errorf("exit statuses %q", got)
	}
}

func TestAProducerWhoseAgentIsGone(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "hotc-agent get go"), input("go", "web.app:go"), output("endpoint", contract.String)))
	b.server("web", with(b.sh("app", "hotc-agent get url; sleep 600"), output("go", contract.String),
		input("url", "db.mysql:endpoint", func(in *contract.Input) { in.IfDown = 0.3 })))
	b.apply()
	// The agent enrols and is gone without a word, as when a server loses its power.
	m := member.Join(b.tree.Open(protocol.ServerCredential("db", b.secret.ServerToken(deployment, "db"))), deployment, "db", b.secret.ServerToken(deployment, "db"))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Enrol(t.Context(), "id", "i-db", false, noon); err != nil {
		t.Fatal(err)
	}
	b.start("web").mustFail()
	if got := b.cell("web.app"); !strings.HasPrefix(got, "failed: web.app: blocked on db.mysql:endpoint (input url): the agent of server db is gone, not seen since ") {
		t.Error(got)
	}
}
