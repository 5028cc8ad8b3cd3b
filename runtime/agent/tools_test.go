package agent_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/script"
)

// needing is the script driver with a tool that no machine has.
type needing struct{ script.Driver }

func (needing) Tool() driver.Tool {
	return driver.Tool{Name: "tool", Program: "hotc-test-tool", From: "none"}
}

func withNeeding(c *agent.Config) {
	c.Drivers = []driver.Driver{needing{script.Driver{}}}
}

func TestAToolIsInstalledOnceAndEverybodySeesIt(t *testing.T) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	if err := w.WriteHeader(&tar.Header{Name: "bin/hotc-test-tool", Mode: 0o755}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	sum := sha256.Sum256(packed.Bytes())
	var asked atomic.Int32
	seen := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		<-seen
		w.Write(packed.Bytes())
	}))
	defer s.Close()
	install := func(r *contract.Role) {
		r.Install = &contract.Install{From: "url", URL: s.URL, SHA256: hex.EncodeToString(sum[:])}
	}
	b := newBed(t)
	b.server("db", with(b.sh("one", "true"), install), with(b.sh("two", "true"), install))
	b.apply()
	r := b.start("db", withNeeding)
	state := b.awaitState("db", inPhase(protocol.PhaseInstalling))
	if state.Message != "tool" || state.Roles[0].Status != protocol.RolePending {
		t.Errorf("while it installs: %+v", state)
	}
	close(seen)
	r.mustBeDone()
	if asked.Load() != 1 {
		t.Errorf("it was fetched %d times", asked.Load())
	}
	if after := b.awaitState("db", inPhase(protocol.PhaseDone)); after.Message != "" {
		t.Errorf("afterwards: %q", after.Message)
	}
}

func TestAToolThatIsNotThereAndMustNotBeInstalled(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("one", "touch ran"))
	b.apply()
	b.start("db", withNeeding).mustFail()
	b.want("db.one", "failed: db.one: tool is not on this server, and must not be installed (install: {from: none}) (site.yaml:2:2)")
}
