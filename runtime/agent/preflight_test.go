package agent_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/script"
)

func TestWhatCannotGetBetterFailsTheServerBeforeAnyRoleRuns(t *testing.T) {
	full := func(c *agent.Config) {
		c.Room = func(folder string) (uint64, error) {
			if filepath.Base(folder) == "work" {
				return 3 << 20, nil
			}
			return 1 << 40, nil
		}
	}
	for name, c := range map[string]struct {
		roles  func(*bed) []contract.Role
		change func(*agent.Config)
		want   string // of the first role
	}{
		"a driver that a later role needs": {
			func(b *bed) []contract.Role {
				return []contract.Role{b.sh("one", "touch ../ran"), with(b.sh("two", ""), func(r *contract.Role) { r.Driver = "cfengine" })}
			}, func(*agent.Config) {},
			`failed: s.one: this agent has no driver "cfengine", which the role two needs (site.yaml:2:2)`},
		"a full disk": {
			func(b *bed) []contract.Role { return []contract.Role{b.sh("one", "touch ../ran")} }, full,
			"failed: s.one: the disk of WORK has 3 MiB left, but 64 are needed (site.yaml:2:2)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.server("s", c.roles(b)...)
			b.apply()
			s := b.start("s", c.change)
			s.mustFail()
			b.want("s.one", strings.ReplaceAll(c.want, "WORK", s.work))
			if found, _ := filepath.Glob(filepath.Join(s.work, "ran")); len(found) > 0 {
				t.Error("a role ran")
			}
			// The next agent, after a reboot, finds the role failed and does not look again.
			b.start("s").mustFail()
			b.want("s.one", strings.ReplaceAll(c.want, "WORK", s.work))
		})
	}
}

// without is the script driver on a server without an interpreter.
type without struct{ script.Driver }

func (without) Check(context.Context, contract.Role) error {
	return errors.New("chef-solo is not on PATH")
}

func TestAToolThatMayStillComeIsAWarning(t *testing.T) {
	b := newBed(t)
	b.server("s", b.sh("one", ""))
	b.apply()
	s := b.start("s", stays, func(c *agent.Config) { c.Drivers = []driver.Driver{without{}} })
	state := b.awaitState("s", inPhase(protocol.PhaseDone))
	if state.Message != "role one: chef-solo is not on PATH" {
		t.Errorf("the state says %q", state.Message)
	}
	s.await("hotc-agent: role one: chef-solo is not on PATH\n")
}

// late is a store whose coordinator's clock is off.
type late struct {
	store.Session
	off time.Duration
}

func (l late) Written(context.Context, store.Path) (time.Time, error) {
	return time.Now().Add(l.off), nil
}

func TestAClockThatIsOffIsSaid(t *testing.T) {
	for off, want := range map[time.Duration]string{
		2 * time.Hour:    " behind the coordinator's: ",
		-2 * time.Hour:   " ahead of the coordinator's: ",
		20 * time.Second: "",
	} {
		b := newBed(t)
		b.server("s", b.sh("one", ""))
		b.apply()
		s := b.start("s", func(c *agent.Config) {
			open := c.Open
			c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
				store, err := open(ctx, url, creds...)
				return late{store, off}, err
			}
		})
		s.mustBeDone()
		switch said := s.console.String(); {
		case want == "" && strings.Contains(said, "clock"), !strings.Contains(said, want):
			t.Errorf("%v off: %s", off, said)
		}
	}
}

func TestWhyNoCoordinatorAnswersStandsOnTheConsole(t *testing.T) {
	b := newBed(t)
	b.server("s", b.sh("one", ""))
	b.apply()
	probed := make(chan error)
	answers := make(chan struct{})
	s := b.start("s", func(c *agent.Config) {
		open := c.Open
		c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
			<-answers
			return open(ctx, url, creds...)
		}
		c.Probe = func(ctx context.Context, url string) error {
			select {
			case err := <-probed:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	probed <- errors.New("cannot reach zk://10.0.0.5:2181: connection refused; is it running?")
	s.await("hotc-agent: waiting: cannot reach zk://10.0.0.5:2181: connection refused; is it running?\n")
	probed <- nil
	s.await("hotc-agent: waiting: memory: accepts connections now; no session with it yet\n")
	close(answers)
	s.mustBeDone()
}

// What user-data says wrongly of the coordinator is named, without what it may bear.
func TestAWrongURLStandsOnTheConsole(t *testing.T) {
	b := newBed(t)
	b.server("s", b.sh("one", ""))
	b.apply()
	s := b.start("s", stays, func(c *agent.Config) { c.Open, c.Boot.Coordinator = dial.Open, "zk://me:hush@zk1/hotc?ca=der:hush" })
	s.await("hotc-agent: the coordinator's URL, zk://…@zk1/hotc: the parameters after ? are for TLS: use zk+tls:// instead of zk://; next attempt in ")
	if said := s.console.String(); strings.Contains(said, "hush") {
		t.Errorf("the console tells the password: %s", said)
	}
}
