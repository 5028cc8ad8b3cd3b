package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/agent"
)

func TestAReadBlocksUntilTheOtherServerHasWritten(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", `hotc-agent get go; printf 'mysql://"db"' | hotc-agent put endpoint`),
		input("go", "web.app:go"), output("endpoint", contract.String)))
	b.server("web", with(b.sh("app", `printf 1 >$heat_outputs_path.go; echo "got $(hotc-agent get url)"`),
		input("url", "db.mysql:endpoint"), output("go", contract.String)))
	b.apply()
	// Both servers need the other's value: no order of whole servers would do.
	db := b.start("db")
	b.awaitState("db", blockedOn("web.app:go"))
	web := b.start("web")
	db.mustBeDone()
	web.mustBeDone()
	if got := web.file("app.stdout"); got != "got mysql://\"db\"\n" {
		t.Errorf("web printed %q", got)
	}
	b.want("db.mysql:endpoint", `"mysql://\"db\""`)
	b.want("db.mysql", "null")
	state := b.awaitState("db", inPhase(protocol.PhaseDone))
	if r := state.Roles[0]; r.Status != protocol.RoleDone || r.BlockedSeconds <= 0 || len(r.Blocked) != 0 || *r.ExitCode != 0 {
		t.Errorf("db reports %+v", r)
	}
}

func TestRolesRunInOrderEachInItsFolder(t *testing.T) {
	b := newBed(t)
	b.server("db",
		b.sh("first", "#!/bin/sh\necho one >here; echo said; echo complained >&2; cat; exit 0"),
		b.sh("second", "#!/usr/bin/env python3\nimport os, sys\nprint(os.path.basename(os.getcwd()), os.path.exists('../first/here'))"),
		with(b.sh("third", "cat ../second.stdout"), dependsOn("db.second")))
	b.apply()
	db := b.start("db")
	db.mustBeDone()
	for path, want := range map[string]string{
		"first/here": "one\n", "first.stdout": "said\n", "first.stderr": "complained\n", "first.status": "0\n",
		"second.stdout": "second True\n", "third.stdout": "second True\n",
	} {
		if got := db.file(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if log, err := deploy.ReadLog(t.Context(), b.operator(), deployment, "db", "first"); err != nil || string(log) != "said\ncomplained\n" {
		t.Errorf("the log is %q, %v", log, err)
	}
}

func TestWhatAScriptFinds(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "printf 7 | hotc-agent put port"), output("port", contract.Number)))
	b.server("web", with(b.sh("app", `
echo "$name|$wordpress_db_list|$none"
cat "$hotc_inputs/name" "$hotc_inputs/wordpress.db.list" "$hotc_inputs/a%2Fb"; echo
echo "eager $port $(cat $hotc_inputs/port) lazy ${late-unset} $(ls $hotc_inputs | grep -c late)"
echo "$HOTC_DEPLOYMENT $HOTC_SERVER $HOTC_ROLE ${HOTC_TOKEN-}"
command -v hotc-agent | grep -c "^${PATH%%:*}/hotc-agent"
hotc-agent get late; hotc-agent get none; hotc-agent get wordpress.db.list
[ "$HOME" ] && [ ! -t 0 ] && ! read x && echo; env | grep -c "$TOKEN"`),
		static("name", `"a \"b\"\nc"`), static("wordpress.db.list", `[1,"x"]`), static("a/b", `"slash"`), static("none", "null"),
		input("late", "db.mysql:port"),
		input("port", "db.mysql:port", func(in *contract.Input) { in.Eager = true })))
	b.apply()
	web := b.start("web", func(c *agent.Config) { c.Environment = append(c.Environment, "HOTC_TOKEN=x", "TOKEN="+"none-of-yours") })
	b.awaitState("web", blockedOn("db.mysql:port"))
	b.start("db").mustBeDone()
	web.mustBeDone()
	want := "a \"b\"\nc|[1,\"x\"]|null\n" + "a \"b\"\nc[1,\"x\"]slash\n" + "eager 7 7 lazy unset 1\n" +
		"blog web app \n" + "1\n" + "7null[1,\"x\"]\n" + "1\n"
	if got := web.file("app.stdout"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOutputsOfEveryTypeAndWay(t *testing.T) {
	big := strings.Repeat("x", 200_000)
	b := newBed(t)
	b.server("db", with(b.sh("mysql", `#!/usr/bin/env python3
import os, subprocess
out = os.environ['heat_outputs_path']
def write(name, text): open(out + '.' + name, 'w').write(text)
write('quoted', 'a "b"\n\'c\' ☃ <&>\n')
write('empty', '')
write('list', ' [1, "two", null] ')
write('map', '{"a": {"b": false}}')
write('false', 'false')
write('null', 'null')
write('big', 'x' * 200000)
write('slash%2Fed', 'x')
open('elsewhere', 'w').write('moved'); os.rename('elsewhere', out + '.moved')
subprocess.run(['hotc-agent', 'put', 'number'], input=b'-1.50', check=True)
subprocess.run(['hotc-agent', 'put', 'number'], input=b' -1.50\n', check=True)
`),
		output("quoted", contract.String), output("empty", contract.String), output("list", contract.List), output("map", contract.JSON),
		output("false", contract.Boolean), output("null", contract.JSON), output("big", contract.String), output("slash/ed", contract.String),
		output("moved", contract.String), output("number", contract.Number)))
	b.apply()
	b.start("db").mustBeDone()
	for name, want := range map[string]string{
		"quoted": `"a \"b\"\n'c' ☃ <&>\n"`, "empty": `""`, "list": `[1,"two",null]`, "map": `{"a":{"b":false}}`,
		"false": "false", "null": "null", "big": `"` + big + `"`, "slash/ed": `"x"`, "moved": `"moved"`, "number": "-1.50",
	} {
		b.want(contract.CellName("db.mysql:"+name), want)
	}
}

func TestAnOutputIsPublishedAtTheMomentOfTheWrite(t *testing.T) {
	for way, write := range map[string]string{
		"file":    `printf up >$heat_outputs_path.status`,
		"move":    `printf up >status; mv status $heat_outputs_path.status`,
		"command": `printf up | hotc-agent put status`,
	} {
		t.Run(way, func(t *testing.T) {
			b := newBed(t)
			// The script goes on only when another server has read what it wrote.
			b.server("db", with(b.sh("mysql", write+"\nhotc-agent get seen"), input("seen", "web.app:seen"), output("status", contract.String)))
			b.server("web", with(b.sh("app", `hotc-agent get status | hotc-agent put seen`), input("status", "db.mysql:status"), output("seen", contract.String)))
			b.apply()
			db, web := b.start("db"), b.start("web")
			web.mustBeDone()
			db.mustBeDone()
		})
	}
}

func TestFactsAreRunTimeValues(t *testing.T) {
	b := newBed(t)
	// Each needs the other's address: a cycle of servers, but not of values.
	for _, pair := range [][2]contract.ServerPath{{"head", "node"}, {"node", "head"}} {
		cell := pair[1].Fact(contract.FactFirstAddress)
		s := b.server(pair[0], with(b.sh("slurm", "hotc-agent get peer"), func(r *contract.Role) {
			r.Inputs = []contract.Input{{Name: "peer", Time: contract.Run, Reads: []contract.CellName{cell},
				Expr: []byte(fmt.Sprintf(`{"list_join":[":",[{"$cell":%q},"6817"]]}`, cell))}}
		}))
		b.fact(s, contract.FactFirstAddress)
	}
	b.apply()
	address := func(text string) func(*agent.Config) {
		return func(c *agent.Config) {
			c.Boot.Facts = map[contract.Fact]rawMessage{contract.FactFirstAddress: rawMessage(`"` + text + `"`)}
		}
	}
	head, node := b.start("head", address("10.0.0.1")), b.start("node", address("10.0.0.2"))
	head.mustBeDone()
	node.mustBeDone()
	if got := head.file("slurm.stdout") + " " + node.file("slurm.stdout"); got != "10.0.0.2:6817 10.0.0.1:6817" {
		t.Error(got)
	}
}

func TestDefaultAndOptionalApplyWhenTheProducerHasNotDelivered(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "exit 3"), output("endpoint", contract.String)))
	b.server("web", with(b.sh("app", "hotc-agent get url; echo; hotc-agent get maybe; echo; hotc-agent get gone"),
		input("url", "db.mysql:endpoint", func(in *contract.Input) { in.Default = rawMessage(`"none"`) }),
		input("maybe", "db.mysql:endpoint", func(in *contract.Input) { in.Optional = true }),
		func(r *contract.Role) {
			r.Inputs = append(r.Inputs, contract.Input{Name: "gone", Time: contract.Run, Expr: rawMessage(`{"$cell":"old.role:x"}`), Default: rawMessage("5")})
		}))
	b.apply()
	web := b.start("web")
	b.awaitState("web", blockedOn("db.mysql:endpoint"))
	b.start("db").mustFail()
	web.mustBeDone()
	if got := web.file("app.stdout"); got != "none\nnull\n5" {
		t.Errorf("got %q", got)
	}
}

func TestADeployTimeValueComesFromTheBootFile(t *testing.T) {
	deploy := func(r *contract.Role) {
		r.Inputs = append(r.Inputs, contract.Input{Name: "name", Time: contract.Deploy, Expr: rawMessage(`{"$deploy":"3f2a90c1d4e5"}`),
			At: map[string]contract.Position{"": "site.yaml:9:9"}})
	}
	b := newBed(t)
	b.server("db", with(b.sh("mysql", `echo "$name"`), deploy))
	b.server("old", with(b.sh("mysql", `echo "$name"`), deploy))
	b.apply()
	db := b.start("db", func(c *agent.Config) { c.Boot.Deploy = map[string]rawMessage{"3f2a90c1d4e5": rawMessage(`"blog"`)} })
	db.mustBeDone()
	if got := db.file("mysql.stdout"); got != "blog\n" {
		t.Errorf("got %q", got)
	}
	b.start("old").mustFail()
	b.want("old.mysql", "failed: old.mysql: input name: this server's user-data has no value 3f2a90c1d4e5: "+
		"it is from an older template (site.yaml:9:9)")
}
