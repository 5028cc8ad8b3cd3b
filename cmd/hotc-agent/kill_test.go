package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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

func TestAnAgentThatIsKilledWhereverItMayBe(t *testing.T) {
	for name, idempotent := range map[string]bool{"interrupted roles fail": false, "idempotent roles run again": true} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				b := newBed(t, idempotent, "echo start1 >>../log; sleep 0.01; echo end1 >>../log",
					"echo start2 >>../log; sleep 0.01; echo end2 >>../log")
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
				last := b.start("--once")
				status := last.status()
				log := b.log()
				if i := strings.Index(log, "start2"); i >= 0 && strings.Contains(log[i:], "start1") {
					t.Errorf("a role that was done ran again:\n%s", log)
				}
				if !idempotent && (strings.Count(log, "start1") > 1 || strings.Count(log, "start2") > 1) {
					t.Errorf("a role that had started was started again:\n%s", log)
				}
				switch one, two := b.cell("db.r1"), b.cell("db.r2"); {
				case idempotent && (status != exitOK || one != "null" || two != "null"):
					t.Errorf("status %d, cells %s, %s\n%s", status, one, two, last.printed)
				case !idempotent && status == exitOK && (one != "null" || two != "null"):
					t.Errorf("status 0, but cells %s, %s", one, two)
				case !idempotent && status != exitOK && !strings.Contains(one+two, "interrupted"):
					t.Errorf("status %d, cells %s, %s\n%s", status, one, two, last.printed)
				}
			}
		})
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
