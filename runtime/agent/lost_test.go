package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
)

// forgetful is a session that knows how often its coordinator has lost its data.
type forgetful struct {
	store.Session
	ended *atomic.Int64
}

func (f *forgetful) Connection() (store.Connection, <-chan struct{}) {
	return store.Connection{Up: true, Ended: int(f.ended.Load())}, nil
}

// The coordinator loses its data when all is done, while the agent is there, and again while
// it is away. The deployment is put back: what was published stands again, no role runs again, and Heat
// is told nothing, neither of the role that a resource waits for nor of the end.
func TestADeploymentThatIsPutBackTellsHeatNothing(t *testing.T) {
	b := newBed(t)
	ran := filepath.Join(t.TempDir(), "ran")
	b.server("web", with(b.sh("app", `echo app >>`+ran+`; printf 5 >$heat_outputs_path.size`), output("size", contract.Number), signals("hotc_handle_web.app", "size")),
		b.sh("later", "echo later >>"+ran))
	b.apply()
	h := newHeat(t)
	ended := &atomic.Int64{}
	losing := func(c *agent.Config) {
		h.alone("hotc_handle_web.app")(c)
		c.Once = false
		open := c.Open
		c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
			s, err := open(ctx, url, creds...)
			return &forgetful{s, ended}, err
		}
	}
	web := b.start("web", losing)
	h.next()
	h.next()
	web.await("signalled Heat: SUCCESS")
	restore := func() {
		b.apply(func(w *deploy.Publication) { w.Restore, w.Enrol = true, new(protocol.EnrolAlways) })
	}
	lose := func() {
		t.Helper()
		ended.Add(1)
		if err := b.operator().DeleteTree(t.Context(), deployment.Root()); err != nil {
			t.Fatal(err)
		}
	}
	lose()
	web.await("--restore")
	restore()
	web.await("the operator has restored the deployment")
	b.want("web.app:size", "5")
	b.want("web.later", "null")
	web.cancel()
	if err := web.wait(); err != nil {
		t.Error(err)
	}
	lose()
	restore()
	b.start("web", losing, func(c *agent.Config) { c.Once = true }).mustBeDone()
	b.want("web.app:size", "5")
	b.want("web.later", "null")
	if len(h.signals) != 0 {
		t.Errorf("Heat was told again: %+v", <-h.signals)
	}
	if text, err := os.ReadFile(ran); err != nil || strings.Join(strings.Fields(string(text)), " ") != "app later" {
		t.Errorf("it ran %q (%v)", text, err)
	}
}
