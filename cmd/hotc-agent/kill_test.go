package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/seedtest"
)

func TestAnAgentThatIsKilledInTheMiddleOfARole(t *testing.T) {
	b := newBed(t, false, "echo start >>../log; sleep 600 & echo $! >child; hotc-agent get x")
	p := b.start("--once")
	b.awaitBlocked()
	p.Process.Kill()
	p.status()
	if got := b.start("--once").status(); got != exitError {
		t.Errorf("the next agent ended with status %d", got)
	}
	if got := b.log(); got != "start\n" {
		t.Errorf("it ran %q", got)
	}
	if got := b.cell("db.r1"); got != "failed: db.r1: interrupted: the agent was ended or the server restarted while it ran (site.yaml:2:2)" {
		t.Error(got)
	}
	pid, err := os.ReadFile(filepath.Join(b.work(), "r1", "child"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); err == nil && !strings.Contains(string(text), ") Z ") {
		t.Error("a child of the interrupted role goes on")
	}
}

// twoRoles are a server's, of which each notes in the log when it starts and ends.
func twoRoles(t *testing.T, idempotent bool) *bed {
	return newBed(t, idempotent, "echo start1 >>../log; sleep 0.01; echo end1 >>../log", "echo start2 >>../log; sleep 0.01; echo end2 >>../log")
}

// mustHaveRunOnce judges what an agent's roles have done after it was killed, however
// often, and the last one came to its end.
func (b *bed) mustHaveRunOnce(last *agentProcess, idempotent bool) {
	b.t.Helper()
	status, log := last.status(), b.log()
	if i := strings.Index(log, "start2"); i >= 0 && strings.Contains(log[i:], "start1") {
		b.t.Errorf("a role that was done ran again:\n%s", log)
	}
	if !idempotent && (strings.Count(log, "start1") > 1 || strings.Count(log, "start2") > 1) {
		b.t.Errorf("a role that had started was started again:\n%s", log)
	}
	switch one, two := b.cell("db.r1"), b.cell("db.r2"); {
	case idempotent && (status != exitOK || one != "null" || two != "null"):
		b.t.Errorf("status %d, cells %s, %s\n%s", status, one, two, last.printed)
	case !idempotent && status == exitOK && (one != "null" || two != "null"):
		b.t.Errorf("status 0, but cells %s, %s", one, two)
	case !idempotent && status != exitOK && !strings.Contains(one+two, "interrupted"):
		b.t.Errorf("status %d, cells %s, %s\n%s", status, one, two, last.printed)
	}
}

func TestAnAgentThatIsKilledWhereverItMayBe(t *testing.T) {
	for name, idempotent := range map[string]bool{"interrupted roles fail": false, "idempotent roles run again": true} {
		t.Run(name, func(t *testing.T) {
			for range seedtest.Cases(5, 1) {
				b := twoRoles(t, idempotent)
				for range 8 {
					p := b.start("--once")
					select {
					case err := <-p.ended:
						p.ended <- err
					case <-time.After(rand.N(120 * time.Millisecond)):
						p.Process.Kill()
					}
					p.status()
				}
				b.mustHaveRunOnce(b.start("--once"), idempotent)
			}
		})
	}
}

// journalLines is how many lines an agent's journal has so far.
func (b *bed) journalLines() int {
	text, err := os.ReadFile(filepath.Join(b.folder, "state", "journal"))
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "\n")
}

// The agent is killed as soon as a line stands in its journal: each line in its turn,
// and then each of many agents as soon as it has added one.
func TestAnAgentThatIsKilledAtEveryLineOfItsJournal(t *testing.T) {
	for name, idempotent := range map[string]bool{"interrupted roles fail": false, "idempotent roles run again": true} {
		t.Run(name, func(t *testing.T) {
			whole := twoRoles(t, idempotent)
			whole.mustHaveRunOnce(whole.start("--once"), idempotent)
			lines := whole.journalLines()
			if lines < 6 {
				t.Fatalf("a whole life is %d lines", lines)
			}
			for line := 1; line <= lines; line++ {
				b := twoRoles(t, idempotent)
				b.killAtLine(line)
				b.mustHaveRunOnce(b.start("--once"), idempotent)
			}
			b := twoRoles(t, idempotent)
			for range 2 * lines { // an idempotent role would be started again and again
				if !b.killAtLine(b.journalLines() + 1) {
					break
				}
			}
			b.mustHaveRunOnce(b.start("--once"), idempotent)
		})
	}
}

// killAtLine starts an agent and kills it when its journal has so many lines. It returns
// false if the agent came to its end before.
func (b *bed) killAtLine(line int) bool {
	b.t.Helper()
	p := b.start("--once")
	for {
		select {
		case err := <-p.ended:
			p.ended <- err
			return false
		case <-time.After(100 * time.Microsecond):
		}
		if b.journalLines() >= line {
			p.Process.Kill()
			p.status()
			return true
		}
	}
}

func TestAnAgentThatIsAskedToEnd(t *testing.T) {
	b := newBed(t, false, "sleep 600 & echo $! >child; hotc-agent get x")
	p := b.start()
	b.awaitBlocked()
	p.Process.Signal(syscall.SIGTERM)
	if got := p.status(); got != exitOK {
		t.Errorf("status %d: %s", got, p.printed)
	}
	if got := b.cell("db.r1"); !strings.HasPrefix(got, "failed: db.r1: interrupted: the agent was told to end") {
		t.Error(got)
	}
}
