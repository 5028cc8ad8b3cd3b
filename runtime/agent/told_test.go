package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	heatapi "github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/relay"
)

// waiting plays a Heat that waits for all servers of a bed.
type waiting struct {
	mu      sync.Mutex
	servers contract.HeatServers
	status  string
	looks   int
	events  []heatapi.Event
	cleared []string
}

func (w *waiting) Stack(context.Context, string) (*heatapi.Stack, error) {
	return &heatapi.Stack{Name: string(deployment), ID: "stack", State: "UPDATE_IN_PROGRESS"}, nil
}

func (w *waiting) Deployments(context.Context, string) ([]heatapi.Deployment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	servers, err := json.Marshal(w.servers)
	about, _ := json.Marshal(contract.HeatWaitAbout{Format: contract.HeatWaitFormat, Deployment: string(deployment), Wait: "hotc_done"})
	return []heatapi.Deployment{{ID: "1", Status: w.status, Inputs: map[string]json.RawMessage{"hotc": about, "servers": servers}}}, err
}

func (w *waiting) EndDeployment(_ context.Context, id string, end heatapi.DeploymentEnd) (*heatapi.Deployment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = end.Status
	return &heatapi.Deployment{ID: id}, nil
}

func (w *waiting) Definition(context.Context, *heatapi.Stack) (json.RawMessage, error) {
	return nil, errors.New("nobody asks")
}

// Properties are those of a server with an agent, but of "theirs".
func (w *waiting) Properties(_ context.Context, e heatapi.Event) (json.RawMessage, error) {
	if e.StackID == "stack of theirs" {
		return json.RawMessage(`{"user_data": "#!/bin/sh"}`), nil
	}
	return json.RawMessage(`{"user_data": "/etc/hotc/boot.json"}`), nil
}

func (w *waiting) Resources(context.Context, string, string, int) ([]heatapi.Resource, error) {
	return nil, nil
}

func (w *waiting) Signals(context.Context, string, string, string) (map[string]string, error) {
	return nil, errors.New("nobody asks")
}

func (w *waiting) Events(_ context.Context, _, _, marker string, _ int) ([]heatapi.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := slices.IndexFunc(w.events, func(e heatapi.Event) bool { return e.ID == marker })
	return slices.Clone(w.events[at+1:]), nil
}

func (w *waiting) ClearHook(_ context.Context, e heatapi.Event, _ string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleared = append(w.cleared, e.StackID)
	return nil
}

func (w *waiting) Signal(context.Context, string, string, string, any) error {
	return errors.New("nobody asks")
}

// begin lets it wait, and says what it was told last.
func (w *waiting) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status, w.looks = "IN_PROGRESS", 0
}

func (w *waiting) now() (status string, looks int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status, w.looks
}

// Heat is told that all is done when the last of a diamond has run with what both ways have
// brought it, and not while it is due only because of them.
func TestHeatWaitsForTheEndOfADiamond(t *testing.T) {
	b, agents := diamond(t, `while ! [ -e ../go ]; do sleep 0.05; done; v=$(hotc-agent get in); printf "c$v" | hotc-agent put out`)
	key, err := b.secret.Relay(deployment)
	if err != nil {
		t.Fatal(err)
	}
	w := &waiting{}
	for _, s := range []contract.ServerPath{"a", "b", "c", "d"} {
		w.servers = append(w.servers, contract.HeatServer{Server: s, ID: "i-" + string(s)})
	}
	w.begin()
	ctx, stop := context.WithCancel(t.Context())
	r := &relay.Relay{Heat: w, Store: b.tree.Open(key.Credential()), Key: key, Name: "relay", Every: 5 * time.Millisecond, Say: func(text string) { t.Log(text) }}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	until := func(what string, is func(status string, looks int) bool) {
		t.Helper()
		for !is(w.now()) {
			select {
			case err := <-ended:
				t.Fatalf("before %s the relay ended: %v", what, err)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	complete := func(status string, _ int) bool { return status == "COMPLETE" }
	until("the first COMPLETE", complete)
	b.change("a", b.levelled("2", carries("a.r")))
	b.awaitState("b", upTo(2, protocol.RoleDone))
	w.begin()
	until("it has looked while c and d are due", func(status string, looks int) bool {
		if status != "IN_PROGRESS" {
			t.Fatalf("Heat was told %s while roles are due", status)
		}
		return looks > 20
	})
	goOn(t, agents["c"])
	until("the second COMPLETE", complete)
	agents["d"].ran("b1 c1\nupdate b2 c2\n")
	b.change("a", b.levelled("3", carries("a.r")))
	b.awaitState("a", upTo(3, protocol.RoleDone))
	w.begin()
	until("the third COMPLETE", complete)
	agents["d"].ran("b1 c1\nupdate b2 c2\nupdate b3 c3\n")
}
