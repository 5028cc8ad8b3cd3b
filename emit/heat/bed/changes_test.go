//go:build e2e

package bed_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// part is a server of a template that tests change, with its roles, a line of YAML each.
type part struct {
	name  string
	roles []string
}

// shape writes a template of servers. Each role notes its runs in /var/lib/count.
func shape(t testing.TB, path string, parts ...part) string {
	t.Helper()
	text := "heat_template_version: 2018-08-31\nparameters: {level: {type: string, default: '1'}}\nresources:\n"
	for _, p := range parts {
		text += "  " + p.name + ":\n    type: OS::Nova::Server\n    properties: {image: debian, flavor: small}\n"
		if len(p.roles) > 0 {
			text += "    metadata:\n      hotc:\n        defaults: {driver: script}\n        roles:\n"
		}
		for _, r := range p.roles {
			text += "          - " + r + "\n"
		}
	}
	do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// noting is a role that notes what it read, and writes it on with its own name.
func noting(name, inputs, more string) string {
	source := fmt.Sprintf("echo %s $v $w >>/var/lib/count; printf %%s \"%s($v$w)\" | hotc-agent put out", name, name)
	return fmt.Sprintf("{name: %s, source: %q, inputs: {%s}, outputs: {out: {type: string, attribute: %s}}%s}", name, source, inputs, name, more)
}

const followed = "{value: {get_attr: [%s, %s]}, watch: true}"

// lives is a stack that an operator changes again and again.
type lives struct {
	*operator
	stack, path string
}

func newLives(t testing.TB, stack string) *lives {
	l := &lives{newOperator(t), stack, filepath.Join(t.TempDir(), "site.yaml")}
	l.removed(stack)
	return l
}

// server is the machine that is a server now.
func (l *lives) server(name string) *bed.Server {
	l.t.Helper()
	s, err := place.bed.Server(place.bed.Oracle.Find(l.t, l.stack).Server(l.t, name).ID)
	do(l.t, err)
	return s
}

// expectStatus expects lines of `hotc status`.
func (l *lives) expectStatus(parts ...string) {
	l.t.Helper()
	_, text := l.run("status", "--stack", l.stack)
	words := strings.Join(strings.Fields(text), " ")
	for _, part := range parts {
		if !strings.Contains(words, part) {
			l.t.Errorf("status does not say %q:\n%s", part, text)
		}
	}
}

// expectMachines compares the servers that Heat has.
func (l *lives) expectMachines(want ...string) {
	l.t.Helper()
	var has []string
	for _, r := range place.bed.Oracle.Find(l.t, l.stack).Resources(l.t) {
		if r.Type == "OS::Nova::Server" {
			has = append(has, r.Path)
		}
		if r.Status != "COMPLETE" {
			l.t.Errorf("Heat says of %s that it is %s_%s: %s", r.Path, r.Action, r.Status, r.Reason)
		}
	}
	if !slices.Equal(has, want) {
		l.t.Errorf("Heat has the servers %v, want %v", has, want)
	}
}

// Servers, roles and edges come and go by `hotc up`. What it says before is what happens: Heat
// makes, replaces and deletes what was named, and roles run that were named, once.
func TestShapeChanges(t *testing.T) {
	t.Parallel()
	l := newLives(t, "shapes")
	shape(t, l.path,
		part{"a", []string{noting("one", "v: x", ", idempotent: true")}},
		part{"b", []string{noting("two", "v: "+fmt.Sprintf(followed, "a", "one"), ", idempotent: true")}},
		part{"bare", nil})
	l.expect(0, up(l.path, l.stack), "CREATE_COMPLETE")
	a, b, bare := l.server("a"), l.server("b"), l.server("bare")

	// A server is added, and a role.
	three := part{"c", []string{noting("three", "v: "+fmt.Sprintf(followed, "b", "two"), ", idempotent: true, hooks: {delete: 'true'}")}}
	shape(t, l.path,
		part{"a", []string{noting("one", "v: x", ", idempotent: true"), noting("extra", "v: y", ", idempotent: true")}},
		part{"b", []string{noting("two", "v: "+fmt.Sprintf(followed, "a", "one"), ", idempotent: true")}},
		part{"bare", nil}, three)
	text := l.expect(0, up(l.path, l.stack, "--yes"), "Heat creates c", "a.extra: it is added: it runs for the first time", "c.three: it is added with its server", "a.extra: it runs", "UPDATE_COMPLETE")
	if strings.Contains(text, "Heat replaces") {
		t.Errorf("it says that Heat replaces something:\n%s", text)
	}
	expectFile(t, a, "var/lib/count", "one x\nextra y\n")
	expectFile(t, b, "var/lib/count", "two one(x)\n")
	c := l.server("c")
	expectFile(t, c, "var/lib/count", "three two(one(x))\n")
	l.expectMachines("a", "b", "bare", "c")
	l.expectStatus("shapes: 3 servers, 4 roles: 4 done", "a one done", "a extra done", "c three done")

	// The edge between a and b is turned round: b.two follows nothing, a.one follows b.
	shape(t, l.path,
		part{"a", []string{noting("one", "v: "+fmt.Sprintf(followed, "b", "two"), ", idempotent: true"), noting("extra", "v: y", ", idempotent: true")}},
		part{"b", []string{noting("two", "v: z", ", idempotent: true")}},
		part{"bare", nil}, three)
	l.expect(0, up(l.path, l.stack, "--yes"), "b.two: it runs again", "a.one: it runs again after b.two", "c.three: it runs again after b.two", "UPDATE_COMPLETE")
	// a.one, which the plan changes, too, may run for that before b.two has written (docs/updates.md).
	turned, err := a.Read("var/lib/count")
	do(t, err)
	if turned != "one x\nextra y\none two(z)\n" && turned != "one x\nextra y\none two(one(x))\none two(z)\n" {
		t.Errorf("a has %q", turned)
	}
	expectFile(t, b, "var/lib/count", "two one(x)\ntwo z\n")
	expectFile(t, c, "var/lib/count", "three two(one(x))\nthree two(z)\n")
	l.expectMachines("a", "b", "bare", "c")
	l.expectStatus("shapes: 3 servers, 4 roles: 4 done")

	// A role comes to a server that has no agent: it is asked, and the server made anew.
	shape(t, l.path,
		part{"a", []string{noting("one", "v: "+fmt.Sprintf(followed, "b", "two"), ", idempotent: true"), noting("extra", "v: y", ", idempotent: true")}},
		part{"b", []string{noting("two", "v: z", ", idempotent: true")}},
		part{"bare", []string{noting("first", "v: q", "")}}, three)
	const asked = "Heat replaces bare: it gets its first roles, and has no agent to run them (user_data_format)"
	l.expect(2, up(l.path, l.stack), asked, "cannot ask for confirmation")
	if now := l.server("bare"); now.ID != bare.ID {
		t.Error("bare was replaced, though nobody said yes")
	}
	l.expect(0, up(l.path, l.stack, "--yes"), asked, "UPDATE_COMPLETE")
	if now := l.server("bare"); now.ID == bare.ID {
		t.Error("bare was not replaced")
	} else {
		expectFile(t, now, "var/lib/count", "first q\n")
	}

	// A server is taken out.
	shape(t, l.path,
		part{"a", []string{noting("one", "v: "+fmt.Sprintf(followed, "b", "two"), ", idempotent: true"), noting("extra", "v: y", ", idempotent: true")}},
		part{"b", []string{noting("two", "v: z", ", idempotent: true")}},
		part{"bare", []string{noting("first", "v: q", "")}})
	l.expect(0, up(l.path, l.stack, "--yes"), "Heat deletes c", "c.three: it is removed with its server", "UPDATE_COMPLETE")
	l.expectStatus("shapes: 3 servers, 4 roles: 4 done", "c - removed")
	l.expectMachines("a", "b", "bare")
	if _, err := place.bed.Server(c.ID); err == nil {
		t.Error("c is still there")
	}
	for name, was := range map[string]*bed.Server{"a": a, "b": b} {
		if l.server(name).ID != was.ID {
			t.Errorf("%s was replaced", name)
		}
	}
	expectFile(t, a, "var/lib/count", turned)
}

// A stack of plain HOT comes under hotc: a server whose user-data Heat keeps has no agent, and would
// never get one. It is refused before anything is written, and done as the refusal says.
func TestAdopted(t *testing.T) {
	t.Parallel()
	l := newLives(t, "adopted")
	const plain = `heat_template_version: 2018-08-31
resources:
  db:
    type: OS::Nova::Server
    properties: {image: debian, flavor: small, user_data_format: RAW, user_data: "#!/bin/sh\necho mine >/var/lib/mine\n"}
  app:
    type: OS::Nova::Server
    properties: {image: debian, flavor: small, user_data_format: RAW, user_data: {list_join: ["", ["#!/bin/sh\necho ", {get_attr: [db, first_address]}, " >/var/lib/db\n"]]}}
`
	do(t, os.WriteFile(l.path, []byte(plain), 0o600))
	l.expect(0, up(l.path, l.stack), "CREATE_COMPLETE")
	db, app := l.server("db"), l.server("app")

	reads := plain + `  monitor:
    type: OS::Nova::Server
    properties: {image: debian, flavor: small}
    metadata:
      hotc:
        roles:
          - {name: watch, driver: script, source: 'echo "$at" >>/var/lib/count', inputs: {at: {get_attr: [db, first_address]}}, idempotent: true}
`
	do(t, os.WriteFile(l.path, []byte(reads), 0o600))
	l.expect(1, up(l.path, l.stack, "--yes"), "H703", "the server db has no agent", "--facts heat", "mark unhealthy adopted db")
	l.expect(0, up(l.path, l.stack, "--yes", "--facts=heat"), "Heat creates monitor", "adopted is UPDATE_COMPLETE: 1 server, 1 role done")
	l.expectMachines("app", "db", "monitor")
	if l.server("db").ID != db.ID || l.server("app").ID != app.ID {
		t.Error("a machine was replaced")
	}

	role := strings.Replace(reads, "\n  app:\n", "\n    metadata:\n      hotc:\n        roles: [{name: backup, driver: script, source: 'echo backup >>/var/lib/count'}]\n  app:\n", 1)
	do(t, os.WriteFile(l.path, []byte(role), 0o600))
	l.expect(1, up(l.path, l.stack, "--yes"), "H703", "the server db has no agent, and this update keeps its machine: its roles would never run")
	place.bed.Oracle.Find(t, l.stack).MarkUnhealthy(t, "db")
	l.expect(0, up(l.path, l.stack, "--yes"), "Heat replaces db: it gets its first roles", "Heat may replace app: it refers to what is replaced", "adopted is UPDATE_COMPLETE: 2 servers, 2 roles done")
	expectFile(t, l.server("db"), "var/lib/count", "backup\n")
	expectFile(t, l.server("db"), "var/lib/mine", "mine\n")
}

// diamond is one whose first role waits in its hook update until /tmp/open is there.
func diamond(t testing.TB, path string) {
	slow := "{name: one, source: \"echo one $v >>/var/lib/count; printf %s $v | hotc-agent put out\", inputs: {v: {get_param: level}}, outputs: {out: {type: string, attribute: one}}, " +
		"hooks: {update: \"echo update $v >>/var/lib/count; until [ -e /tmp/open ]; do sleep 0.1; done; rm /tmp/open; printf %s $v | hotc-agent put out\"}}"
	follow := func(name, v, w string) string {
		inputs := "v: " + v
		if w != "" {
			inputs += ", w: " + w
		}
		return noting(name, inputs, ", idempotent: true")
	}
	of := func(server, attribute string) string { return fmt.Sprintf(followed, server, attribute) }
	shape(t, path, part{"a", []string{slow}},
		part{"b", []string{follow("two", of("a", "one"), "")}}, part{"c", []string{follow("three", of("a", "one"), "")}},
		part{"d", []string{follow("four", of("b", "two"), of("c", "three"))}})
}

// In the middle of an update of a diamond the coordinator's leader is killed, and an agent in a
// role: each role runs once all the same, and Heat completes.
func TestDiamondAmongFaults(t *testing.T) {
	t.Parallel()
	zk := ensemble(t, 3)
	l := newLives(t, "diamond")
	l.env = append(l.env, "HOTC_COORDINATOR="+zk.URL("hotc"))
	diamond(t, l.path)
	l.expect(0, up(l.path, l.stack, "-P", "level=1"), "CREATE_COMPLETE")
	a := l.server("a")
	c := l.start(up(l.path, l.stack, "-P", "level=2", "--yes")...)
	until(t, "the hook", func() bool { text, _ := a.Read("var/lib/count"); return strings.HasSuffix(text, "update 2\n") })
	if text := c.printed(); !strings.Contains(text, "d.four: it runs again once, after b.two and c.three") || !strings.Contains(text, "critical path: a.one → ") {
		t.Errorf("it says:\n%s", text)
	}
	l.expectStatus("a one updating")
	leader, err := zk.Leader()
	do(t, err)
	do(t, leader.Kill())
	if n, err := l.server("c").Kill(syscall.SIGKILL, "hotc-agent", "run"); n != 1 || err != nil {
		t.Fatalf("%d agents were killed: %v", n, err)
	}
	open(t, a, "")
	if err := c.Wait(); err != nil || !strings.Contains(c.printed(), "UPDATE_COMPLETE") {
		t.Fatalf("%v:\n%s", err, c.printed())
	}
	for name, want := range map[string]string{"a": "one 1\nupdate 2\n", "b": "two 1\ntwo 2\n", "c": "three 1\nthree 2\n", "d": "four two(1) three(1)\nfour two(2) three(2)\n"} {
		server := l.server(name)
		until(t, "the last run on "+name, func() bool { text, _ := server.Read("var/lib/count"); return len(text) >= len(want) })
		expectFile(t, server, "var/lib/count", want)
	}
	until(t, "all to be done", func() bool {
		_, text := l.run("status", "--stack", l.stack)
		return strings.Contains(text, "4 roles: 4 done")
	})
	do(t, leader.Start())
}

// A second `hotc up` does not come between: it says who is at work. With --take-over it takes over
// from the first one, twice: where a hook runs that is not the newest any more, and where Heat waits
// for a role that never ends. The first ends and says so, what runs is finished, what lies between
// is left out.
func TestASecondUpTakesOver(t *testing.T) {
	t.Parallel()
	l := newLives(t, "overtaken")
	diamond(t, l.path)
	l.expect(0, up(l.path, l.stack, "-P", "level=1"), "CREATE_COMPLETE")
	a := l.server("a")
	hooks := func(n int) func() bool {
		return func() bool { text, _ := a.Read("var/lib/count"); return strings.Count(text, "update") == n }
	}
	first := l.start(up(l.path, l.stack, "-P", "level=2", "--yes")...)
	until(t, "the hook", hooks(1))
	l.expect(1, up(l.path, l.stack, "-P", "level=3", "--yes"), "the stack overtaken is being changed by \"hotc up\" of ", fmt.Sprintf("(process %d, since ", first.Process.Pid), "--take-over")
	l.expect(1, []string{"down", l.stack, "--yes"}, "is being changed by \"hotc up\" of ")
	if text, _ := a.Read("var/lib/count"); strings.Contains(text, "3") {
		t.Errorf("what was refused has changed something: %s", text)
	}
	second := l.start(up(l.path, l.stack, "-P", "level=3", "--yes", "--take-over")...)
	until(t, "the second to take over", func() bool { return strings.Contains(second.printed(), "The plan is on the coordinator") })
	l.expectStatus("a one superseded", "the update hook runs to completion, then again: the plan has changed since")
	third := l.start(up(l.path, l.stack, "-P", "level=4", "--yes", "--take-over")...)
	until(t, "the third to take over", func() bool { return strings.Contains(third.printed(), "The plan is on the coordinator") })
	open(t, a, "")
	until(t, "the newest hook", hooks(2))
	open(t, a, "")
	if err := third.Wait(); err != nil || !strings.Contains(third.printed(), "UPDATE_COMPLETE") {
		t.Fatalf("%v:\n%s", err, third.printed())
	}
	for _, c := range []*command{first, second} {
		if err := c.Wait(); err == nil && !strings.Contains(c.printed(), "Nothing to change") || err != nil && !strings.Contains(c.printed(), "another \"hotc up\" has taken over") {
			t.Errorf("%v:\n%s", err, c.printed())
		}
	}
	expectFile(t, a, "var/lib/count", "one 1\nupdate 2\nupdate 4\n")
	until(t, "all to be done", func() bool {
		_, text := l.run("status", "--stack", l.stack)
		return strings.Contains(text, "4 roles: 4 done")
	})
	for name, want := range map[string]string{"b": "two 4\n", "d": "four two(4) three(4)\n"} {
		if text, err := l.server(name).Read("var/lib/count"); err != nil || !strings.HasSuffix(text, want) {
			t.Errorf("%s has %q (%v)", name, text, err)
		}
	}

	// Heat waits for a server whose role never ends; the next update takes the server out.
	text, err := os.ReadFile(l.path)
	do(t, err)
	more := filepath.Join(t.TempDir(), "site.yaml")
	do(t, os.WriteFile(more, append(text, "  late:\n    type: OS::Nova::Server\n    properties: {image: debian, flavor: small}\n    metadata: {hotc: {roles: [{name: never, driver: script, source: 'while :; do sleep 1; done'}]}}\n"...), 0o600))
	stuck := l.start(up(more, l.stack, "-P", "level=4", "--yes")...)
	until(t, "the role that never ends", func() bool {
		_, text := l.run("status", "--stack", l.stack)
		return strings.Contains(strings.Join(strings.Fields(text), " "), "late never running")
	})

	// Somebody cancels that update, and the same command gives Heat the template again.
	openstack(t, &world{t: t, bed: place.bed}, "stack", "cancel", "--no-rollback", l.stack)
	if err := stuck.Wait(); err == nil || !strings.Contains(stuck.printed(), "another user has cancelled Heat's operation on the stack") {
		t.Errorf("%v:\n%s", err, stuck.printed())
	}
	stuck = l.start(up(more, l.stack, "-P", "level=4", "--yes")...)
	until(t, "Heat to have it again", func() bool { return strings.Contains(stuck.printed(), "Heat updates the stack") })
	until(t, "the update", func() bool { return place.bed.Oracle.Find(t, l.stack).Status(t).Status == "IN_PROGRESS" })
	l.expect(0, up(l.path, l.stack, "-P", "level=4", "--yes", "--take-over"), "Heat is busy with another operation (UPDATE_IN_PROGRESS): this update takes over", "UPDATE_COMPLETE")
	if err := stuck.Wait(); err == nil || !strings.Contains(stuck.printed(), "another \"hotc up\" has taken over") {
		t.Errorf("%v:\n%s", err, stuck.printed())
	}
	l.expectStatus("late - removed", "4 roles: 4 done")
	expectFile(t, a, "var/lib/count", "one 1\nupdate 2\nupdate 4\n")

	// Two more give Heat nothing, since only a script changes: the first is told of by the coordinator.
	scripts := func(name string) string {
		path := filepath.Join(t.TempDir(), "site.yaml")
		do(t, os.WriteFile(path, []byte(strings.Replace(string(text), "echo one", ": "+name+"; echo one", 1)), 0o600))
		return path
	}
	first = l.start(up(scripts("first"), l.stack, "-P", "level=4", "--yes")...)
	until(t, "the hook", hooks(3))
	second = l.start(up(scripts("second"), l.stack, "-P", "level=4", "--yes", "--take-over")...)
	until(t, "the second to take over", func() bool { return strings.Contains(second.printed(), "The plan is on the coordinator") })
	if err := first.Wait(); err == nil || !strings.Contains(first.printed(), "another \"hotc up\" has taken over") {
		t.Errorf("%v:\n%s", err, first.printed())
	}
	open(t, a, "")
	until(t, "the newest hook", hooks(4))
	open(t, a, "")
	if err := second.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, second.printed())
	}
	l.expect(0, up(scripts("second"), l.stack, "-P", "level=4"), "Nothing to change")
}

// Heat itself is given an update over one that waits for a machine which the second replaces
// again: the relay ends what is superseded, and the stack completes.
func TestRelaySupersededUpdate(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/relayed.yaml", "superseded")
	d.relay()
	db := d.machine("db", nil)
	open(t, db, "first")
	d.ends("CREATE_COMPLETE")
	d.stack.Update(t, d.with("batch", "b"))
	db = d.machine("db", db)
	d.await("db", "gate", "running")
	d.stack.Update(t, d.with("batch", "c")) // nobody opens the gate of the second machine
	db = d.machine("db", db)
	open(t, db, "third")
	d.ends("UPDATE_COMPLETE")
	if got := string(d.stack.Outputs(t)["value"].Value); got != `"third"` {
		t.Errorf("the output is %s", got)
	}
	var said struct {
		Heat struct {
			Waits []struct{ Status string }
		}
	}
	do(t, json.Unmarshal([]byte(d.on("status", "--json")), &said))
	for _, w := range said.Heat.Waits {
		if w.Status != "COMPLETE" {
			t.Errorf("Heat's wait is %s", w.Status)
		}
	}
}
