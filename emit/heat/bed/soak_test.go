//go:build e2e

package bed_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// soakVariable makes TestSoak run; SEED, SEEDS, DURATION and FIRST are those of
// package seedtest.
const soakVariable = "HOTC_SOAK"

// Generated deployments with random faults, for as long as asked for. A seed has
// the same program and faults again; the machine's own time is its own.
func TestSoak(t *testing.T) {
	if os.Getenv(soakVariable) == "" {
		t.Skip("is started by make soak")
	}
	for seed := range seedtest.Each(t, 1) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { soak(t, seed) }) {
			t.Fatalf("play it again: make soak SEED=%d", seed)
		}
	}
}

func soak(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	p := newSoaked(r)
	t.Logf("the program:\n%s\nthe faults:\n%s", p.template(), p.faultsText())
	path := filepath.Join(t.TempDir(), "soaked.yaml")
	do(t, os.WriteFile(path, []byte(p.template()), 0o600))
	zk := ensemble(t, p.members)
	d := newWorld(t, path, zk).deploy(fmt.Sprintf("soak%d", seed))
	p.play(d, zk)
	s := d.stack.Wait(t)
	until(t, "all servers to come to an end", func() bool {
		standing := d.status()
		for _, server := range p.servers {
			if phase := standing[server.name].Phase; phase != "done" && phase != "failed" {
				return false
			}
		}
		return true
	})
	p.check(d, s.String(), s.Reason)
}

// soaked is a generated deployment and what befalls it.
type soaked struct {
	members int // of ZooKeeper
	servers []*soakedServer
	faults  []soakedFault
}

type soakedServer struct {
	name  string
	roles []*soakedRole
	// struck is that its agent was killed, or itself rebooted: what it was at may have
	// been interrupted.
	struck bool
}

type soakedRole struct {
	name       string
	server     *soakedServer
	reads      []*soakedRole // roles whose value it reads
	idempotent bool
	fails      bool
	pause      [2]int // tenths of a second before and after it reads
}

func (r *soakedRole) key() string   { return r.server.name + "." + r.name }
func (r *soakedRole) value() string { return "the value of " + r.key() }

// A fault begins some time after the one before, and lasts.
type soakedFault struct {
	after, lasts time.Duration
	what         string
	victim       *soakedServer // nil is ZooKeeper
}

// newSoaked makes a program without cycles: everything in it can be done.
func newSoaked(r *rand.Rand) *soaked {
	p := &soaked{members: 1 + 2*r.IntN(2)}
	var all []*soakedRole
	for i := range 2 + r.IntN(3) {
		s := &soakedServer{name: fmt.Sprintf("s%d", i)}
		for k := range 1 + r.IntN(3) {
			role := &soakedRole{name: fmt.Sprintf("r%d", k), server: s, idempotent: r.IntN(3) == 0, fails: r.IntN(20) == 0,
				pause: [2]int{r.IntN(20), r.IntN(20)}}
			for range r.IntN(3) {
				if len(all) > 0 {
					if from := all[r.IntN(len(all))]; !slices.Contains(role.reads, from) {
						role.reads = append(role.reads, from)
					}
				}
			}
			s.roles = append(s.roles, role)
			all = append(all, role)
		}
		p.servers = append(p.servers, s)
	}
	for range 1 + r.IntN(4) {
		f := soakedFault{after: time.Duration(r.IntN(4000)) * time.Millisecond, lasts: time.Duration(500+r.IntN(13000)) * time.Millisecond,
			what: []string{"kill", "pause", "cut", "reboot", "zookeeper killed", "zookeeper cut"}[r.IntN(6)]}
		if !strings.HasPrefix(f.what, "zookeeper") {
			f.victim = p.servers[r.IntN(len(p.servers))]
			f.victim.struck = f.victim.struck || f.what == "kill" || f.what == "reboot"
		}
		p.faults = append(p.faults, f)
	}
	return p
}

func (p *soaked) faultsText() string {
	text := fmt.Sprintf("%d members of ZooKeeper\n", p.members)
	for _, f := range p.faults {
		victim := ""
		if f.victim != nil {
			victim = " " + f.victim.name
		}
		text += fmt.Sprintf("after %v: %s%s, for %v\n", f.after, f.what, victim, f.lasts)
	}
	return text
}

// template is the program in HOT. A role notes that it runs, and what it reads.
func (p *soaked) template() string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2018-08-31\nresources:\n")
	for _, s := range p.servers {
		fmt.Fprintf(&b, "  %s:\n    type: OS::Nova::Server\n    properties: {image: debian, flavor: small}\n    metadata:\n      hotc:\n        roles:\n", s.name)
		for _, r := range s.roles {
			fmt.Fprintf(&b, "          - name: %s\n            driver: script\n            idempotent: %v\n", r.name, r.idempotent)
			fmt.Fprintf(&b, "            outputs: {%s_value: {type: string}}\n", r.name)
			if len(r.reads) > 0 {
				b.WriteString("            inputs:\n")
			}
			for _, from := range r.reads {
				fmt.Fprintf(&b, "              from_%s_%s: {get_attr: [%s, %s_value]}\n", from.server.name, from.name, from.server.name, from.name)
			}
			b.WriteString("            source: |\n" + r.script())
		}
	}
	return b.String()
}

func (r *soakedRole) script() string {
	lines := []string{"#!/bin/sh", "set -eu", "echo " + r.name + " >> /var/lib/runs", fmt.Sprintf("sleep %d.%d", r.pause[0]/10, r.pause[0]%10)}
	for _, from := range r.reads {
		lines = append(lines, fmt.Sprintf("seen=$(hotc-agent get from_%s_%s)", from.server.name, from.name),
			fmt.Sprintf("echo \"%s: $seen\" >> /var/lib/seen", r.sight(from)))
	}
	lines = append(lines, fmt.Sprintf("sleep %d.%d", r.pause[1]/10, r.pause[1]%10))
	if r.fails {
		lines = append(lines, "echo 'it was to fail' >&2", "exit 3")
	}
	lines = append(lines, fmt.Sprintf("printf '%s' | hotc-agent put %s_value", r.value(), r.name))
	return "              " + strings.Join(lines, "\n              ") + "\n"
}

// sight names what a role has read.
func (r *soakedRole) sight(from *soakedRole) string { return r.name + " reads " + from.key() }

// play lets the faults happen, one after the other.
func (p *soaked) play(d *deployment, zk *bed.Ensemble) {
	for _, f := range p.faults {
		time.Sleep(f.after)
		if f.victim == nil {
			f.onZooKeeper(d.t, zk)
		} else {
			f.onServer(d)
		}
	}
}

func (f soakedFault) onZooKeeper(t testing.TB, zk *bed.Ensemble) {
	leader, err := zk.Leader()
	do(t, err)
	if f.what == "zookeeper cut" {
		do(t, leader.Cut())
		time.Sleep(f.lasts)
		do(t, leader.Restore())
		return
	}
	do(t, leader.Kill())
	time.Sleep(f.lasts / 3)
	do(t, leader.Start())
	do(t, leader.Await())
}

// onServer strikes a server whose agent has come: what cuts the first boot of
// cloud-init short is not hotc's to mend.
func (f soakedFault) onServer(d *deployment) {
	s := d.server(f.victim.name)
	until(d.t, "the agent of "+f.victim.name, func() bool { return d.status()[f.victim.name].Came && s.Booted() })
	switch f.what {
	case "kill":
		_, err := s.Kill(syscall.SIGKILL, "hotc-agent", "run")
		do(d.t, err)
	case "pause":
		do(d.t, s.Pause())
		time.Sleep(f.lasts)
		do(d.t, s.Resume())
	case "cut":
		do(d.t, s.Cut())
		time.Sleep(f.lasts)
		do(d.t, s.Restore())
	case "reboot":
		do(d.t, s.Off())
		time.Sleep(f.lasts / 3)
		do(d.t, s.On())
	}
}

// check looks at how a deployment ended.
func (p *soaked) check(d *deployment, stack, reason string) {
	standing := d.status()
	failures := 0
	for _, s := range p.servers {
		runs, _ := d.server(s.name).Read("var/lib/runs")
		seen, _ := d.server(s.name).Read("var/lib/seen")
		before := true // the roles before it on its server are done
		for i, r := range s.roles {
			state := standing[s.name].Roles[i]
			times := strings.Count(runs, r.name+"\n")
			switch {
			case !r.idempotent && times > 1:
				d.t.Errorf("%s has run %d times", r.key(), times)
			case state.Status == "done" && (times == 0 || !before):
				d.t.Errorf("%s is done, ran %d times, and those before it are done: %v", r.key(), times, before)
			case state.Status == "failed":
				failures++
				p.checkCause(d, r, state.Cause.root())
			case state.Status == "skipped" && !before:
			case state.Status != "done":
				d.t.Errorf("%s is %s", r.key(), state.Status)
			}
			before = before && state.Status == "done"
			r.checkSeen(d, seen, state.Status == "done")
		}
	}
	switch {
	case failures == 0 && stack != "CREATE_COMPLETE", failures > 0 && stack != "CREATE_FAILED":
		d.t.Errorf("%d roles have failed, and the stack is %s: %s", failures, stack, reason)
	}
	if why := d.on("why"); failures == 0 && !strings.Contains(why, "every role is done") {
		d.t.Errorf("hotc why: %s", why)
	}
}

// checkCause says whether a role had to fail: it was to, or somewhere an agent was
// struck that was at a role which may not run twice.
func (p *soaked) checkCause(d *deployment, r *soakedRole, root reasons) {
	for _, s := range p.servers {
		for _, from := range s.roles {
			switch {
			case root.Role != from.key():
			case from.fails && strings.Contains(root.Reason, "it was to fail"):
				return
			case s.struck && !from.idempotent && strings.Contains(root.Reason, "interrupted"):
				return
			}
		}
	}
	d.t.Errorf("%s has failed because of %s: %s", r.key(), root.Role, root.Reason)
}

// checkSeen compares what a role has read with what was written.
func (r *soakedRole) checkSeen(d *deployment, seen string, done bool) {
	for _, from := range r.reads {
		right := fmt.Sprintf("%s: %s\n", r.sight(from), from.value())
		if done && !strings.Contains(seen, right) {
			d.t.Errorf("%s is done and has not read %s", r.key(), from.key())
		}
		for line := range strings.Lines(seen) {
			if strings.HasPrefix(line, r.sight(from)+": ") && line != right {
				d.t.Errorf("%s has read %q", r.key(), line)
			}
		}
	}
}
