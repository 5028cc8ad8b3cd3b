package agent_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// heat plays Keystone and heat-api, and keeps the signals.
type heat struct {
	*httptest.Server
	t       *testing.T
	signals chan heatSignal
}

type heatSignal struct {
	Path, Status, Reason, ID string
	Data                     map[string]json.RawMessage
}

func newHeat(t *testing.T) *heat {
	h := &heat{t: t, signals: make(chan heatSignal, 10)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/auth/tokens") {
			w.Header().Set("X-Subject-Token", "t")
			fmt.Fprintf(w, `{"token":{"catalog":[{"type":"orchestration","endpoints":[{"interface":"public","url":%q}]}]}}`, h.URL)
			return
		}
		s := heatSignal{Path: r.URL.Path}
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
			t.Error(err)
		}
		h.signals <- s
	}))
	t.Cleanup(h.Close)
	return h
}

// tell makes an agent tell this Heat.
func (h *heat) tell(c *agent.Config) {
	text, err := json.Marshal(map[string]string{"auth_url": h.URL + "/v3", "username": "u", "user_id": "i", "password": "hush",
		"project_id": "p", "domain_id": "d", "region_name": ""})
	if err != nil {
		h.t.Fatal(err)
	}
	c.Boot.Signal, c.Boot.SignalResource, c.Boot.StackID = string(text), "hotc_done_handle", "5e7"
}

func (h *heat) next() heatSignal {
	h.t.Helper()
	select {
	case s := <-h.signals:
		return s
	case <-time.After(patience):
		h.t.Fatal("Heat was told nothing")
		return heatSignal{}
	}
}

func TestHeatIsToldOfTheEndOnceAndGetsTheValuesItNeeds(t *testing.T) {
	b := newBed(t)
	forHeat := func(r *contract.Role) {
		r.Outputs[0].Heat = true
		r.Outputs[1].Heat, r.Outputs[1].Attribute = true, "site_url"
	}
	b.server("web", with(b.sh("app", `printf '["a",false,null]' >$heat_outputs_path.list; printf 'a "b"\n' >$heat_outputs_path.site; printf x >$heat_outputs_path.own`),
		output("list", contract.List), output("site", contract.String), output("own", contract.String), forHeat))
	b.apply()
	h := newHeat(t)
	web := b.start("web", h.tell)
	web.mustBeDone()
	got := h.next()
	if got.Path != "/stacks/blog/5e7/resources/hotc_done_handle/signal" || got.Status != "SUCCESS" || got.ID != "web" {
		t.Errorf("Heat got %+v", got)
	}
	if data, _ := json.Marshal(got.Data); string(data) != `{"list":["a",false,null],"site_url":"a \"b\"\n"}` {
		t.Errorf("Heat got %s", data)
	}
	// A reboot does not signal again.
	b.start("web", h.tell).mustBeDone()
	if len(h.signals) != 0 {
		t.Errorf("Heat was told again: %+v", <-h.signals)
	}
	if strings.Contains(web.console.String(), "hush") {
		t.Error("the console tells the password")
	}
}

// That Heat does not know yet is reported with the reason, until it does.
func TestHeatDoesNotKnowYet(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", ""))
	b.apply()
	h := newHeat(t)
	var late atomic.Int64
	answers, refuse := h.Config.Handler, atomic.Bool{}
	refuse.Store(true)
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() {
			late.Add(int64(10 * time.Second))
			http.Error(w, "the user is disabled", http.StatusUnauthorized)
			return
		}
		answers.ServeHTTP(w, r)
	})
	db := b.start("db", h.tell, func(c *agent.Config) {
		now := c.Now
		c.Now = func() time.Time { return now().Add(time.Duration(late.Load())) }
	})
	b.awaitState("db", func(s protocol.ServerState) bool { return strings.Contains(s.Untold, "the user is disabled") })
	refuse.Store(false)
	b.awaitState("db", func(s protocol.ServerState) bool { return s.Untold == "" })
	db.mustBeDone()
	if h.next(); !strings.Contains(db.console.String(), "Heat does not know yet") {
		t.Errorf("the console says %s", db.console.String())
	}
}

// Where who tells Heat changes, its old handle goes, and the credentials for it: an agent that has
// not told it by then ends that.
func TestAnAgentDoesNotTryForEverWhereARelayTellsHeat(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", ""))
	b.apply()
	h := newHeat(t)
	var late atomic.Int64
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		late.Add(int64(5 * time.Minute))
		http.Error(w, "the user is gone", http.StatusUnauthorized)
	})
	db := b.start("db", h.tell, func(c *agent.Config) {
		now := c.Now
		c.Now = func() time.Time { return now().Add(time.Duration(late.Load())) }
		c.Once = false
		c.Heat = func(h signal.Handle) *signal.Client {
			client := signal.NewClient(h)
			client.Wait, client.MaxWait = time.Millisecond, time.Millisecond
			return client
		}
	})
	b.awaitState("db", func(s protocol.ServerState) bool { return strings.Contains(s.Untold, "the user is gone") })
	b.plan.Signal = contract.RelaySignals
	b.apply()
	b.awaitState("db", func(s protocol.ServerState) bool { return s.Untold == "" })
	db.await("a relay signals Heat now")
	tried := late.Load()
	db.cancel()
	if err := db.wait(); err != nil || late.Load() != tried {
		t.Errorf("%v; %d minutes later: %s", err, (late.Load()-tried)/int64(time.Minute), db.console)
	}
}

func TestHeatIsToldOfTheFirstFailure(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", "echo no space left >&2; exit 3"), b.sh("later", ""))
	b.apply()
	h := newHeat(t)
	b.start("db", h.tell).mustFail()
	if got := h.next(); got.Status != "FAILURE" || got.Reason != "db.mysql: exit status 3: no space left (site.yaml:2:2)" || got.Data != nil {
		t.Errorf("Heat got %+v", got)
	}
}

// The stack needs an output that a change has added and that the role's hook does not write: Heat is told so, and does
// not wait for it.
func TestHeatIsToldOfAnOutputThatIsMissing(t *testing.T) {
	b := newBed(t)
	b.server("web", with(b.sh("app", ""), b.onUpdate("")))
	b.apply()
	b.start("web").mustBeDone()
	b.plan.Servers, b.plan.Cells = nil, nil
	b.server("web", with(b.sh("app", ""), b.onUpdate(""), output("url", contract.String), func(r *contract.Role) { r.Outputs[0].Heat = true }))
	b.apply()
	h := newHeat(t)
	b.start("web", h.tell).mustBeDone()
	if got := h.next(); got.Status != "FAILURE" || got.Reason != "web: the output url of role app has no value for the stack" {
		t.Errorf("Heat got %+v", got)
	}
}

func TestValuesThatHeatCannotTakeFailTheStackInsteadOfHangingIt(t *testing.T) {
	b := newBed(t)
	large := "head -c 600000 /dev/zero | tr '\\0' x >$heat_outputs_path."
	b.server("db", with(b.sh("mysql", large+"a;"+large+"b"), output("a", contract.String), output("b", contract.String),
		func(r *contract.Role) { r.Outputs[0].Heat, r.Outputs[1].Heat = true, true }))
	b.apply()
	h := newHeat(t)
	b.start("db", h.tell).mustBeDone()
	if got := h.next(); got.Status != "FAILURE" || !strings.Contains(got.Reason, "larger than Heat accepts: 1200083 bytes, at most 1048576") {
		t.Errorf("Heat got %+v", got)
	}
}

// alone makes an agent tell of single roles, too.
func (h *heat) alone(handles ...string) func(*agent.Config) {
	return func(c *agent.Config) {
		h.tell(c)
		c.Boot.Signals = &contract.Handles{Above: &contract.Handles{Own: map[string]contract.Handle{}}}
		for _, name := range handles {
			c.Boot.Signals.Above.Own[name] = contract.Handle{Signal: c.Boot.Signal, Stack: "tier", StackID: "9a"}
		}
	}
}

func signals(handle string, outputs ...string) func(*contract.Role) {
	return func(r *contract.Role) {
		r.Signals = []contract.Signal{{Handle: handle, ID: "web", Outputs: outputs}}
	}
}

// The plan names what a relay waits by where one tells Heat by now, and Heat still waits by the
// handle.
func TestHeatIsToldOfARoleThatResourcesWaitForBeforeTheNextOneIsDone(t *testing.T) {
	for _, handle := range []string{"hotc_handle_web.app", "hotc_done_web.app"} {
		t.Run(handle, func(t *testing.T) {
			b := newBed(t)
			gate := filepath.Join(t.TempDir(), "gate")
			b.server("web", with(b.sh("app", `printf 5 >$heat_outputs_path.size; printf x >$heat_outputs_path.own`),
				output("size", contract.Number), output("own", contract.String), signals(handle, "size")),
				b.sh("later", "until [ -e "+gate+" ]; do sleep 0.05; done"))
			b.apply()
			h := newHeat(t)
			web := b.start("web", h.alone("hotc_handle_web.app"))
			got := h.next()
			if data, _ := json.Marshal(got.Data); got.Path != "/stacks/tier/9a/resources/hotc_handle_web.app/signal" || got.Status != "SUCCESS" ||
				got.ID != "web" || string(data) != `{"size":5}` {
				t.Errorf("Heat got %+v, %s", got, data)
			}
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			web.mustBeDone()
			if got := h.next(); !strings.HasSuffix(got.Path, "/hotc_done_handle/signal") {
				t.Errorf("Heat got %+v", got)
			}
			b.start("web", h.alone("hotc_handle_web.app")).mustBeDone()
			if len(h.signals) != 0 {
				t.Errorf("Heat was told again: %+v", <-h.signals)
			}
		})
	}
}

// The plan gets a role while another one runs: Heat is told of it as of the others.
func TestHeatIsToldOfARoleThatCameMeanwhile(t *testing.T) {
	b := newBed(t)
	gate := filepath.Join(t.TempDir(), "gate")
	s := b.server("web", b.sh("base", "until [ -e "+gate+" ]; do sleep 0.05; done"))
	b.apply()
	h := newHeat(t)
	web := b.start("web", h.alone("hotc_handle_web.app"))
	b.awaitState("web", runs)
	s.Roles = append(s.Roles, with(b.sh("app", ""), signals("hotc_handle_web.app")))
	b.plan.Cells = append(b.plan.Cells, contract.Cell{Name: "web.app", Server: "web", Role: "app"})
	b.apply()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	web.mustBeDone()
	one, other := h.next(), h.next() // the other is that of all roles
	if !strings.HasSuffix(one.Path+other.Path, "/hotc_handle_web.app/signal") {
		one, other = other, one
	}
	if !strings.HasSuffix(other.Path, "/hotc_handle_web.app/signal") || one.Status+other.Status != "SUCCESSSUCCESS" {
		t.Errorf("Heat got %+v and %+v", one, other)
	}
}

func TestWhoWaitsForARoleThatWillNotRunIsToldWhy(t *testing.T) {
	b := newBed(t)
	b.server("web", b.sh("breaks", "echo no space left >&2; exit 3"), with(b.sh("app", ""), signals("hotc_handle_web.app")))
	b.apply()
	h := newHeat(t)
	b.start("web", h.alone("hotc_handle_web.app")).mustFail()
	for range 2 { // the other is that of all roles
		if got := h.next(); got.Status != "FAILURE" || !strings.Contains(got.Reason, "no space left") {
			t.Errorf("Heat got %+v", got)
		}
	}
}

// A server that was not in the plan signals its failure to Heat, which cannot be reached. Once it has
// joined, that failure is not sent any more: it would reach Heat after the success.
func TestAnOldFailureIsNotSentAfterJoining(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", ""))
	b.apply()
	h := newHeat(t)
	sent := make(chan string, 10_000)
	answers := h.Config.Handler
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/auth/tokens") {
			answers.ServeHTTP(w, r)
			return
		}
		text, _ := io.ReadAll(r.Body)
		sent <- string(text)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	web := b.start("web", h.tell, stays, func(c *agent.Config) {
		c.Heat = func(x signal.Handle) *signal.Client {
			client := signal.NewClient(x)
			client.Wait, client.MaxWait = time.Millisecond, 5*time.Millisecond
			return client
		}
	})
	web.await("has no server web")
	if text := <-sent; !strings.Contains(text, "FAILURE") {
		t.Fatalf("Heat is sent %s", text)
	}
	b.server("web", b.sh("app", ""))
	b.apply()
	b.awaitState("web", inPhase(protocol.PhaseDone))
	for text := ""; !strings.Contains(text, "SUCCESS"); {
		text = <-sent
	}
	for range 20 {
		if text := <-sent; !strings.Contains(text, "SUCCESS") {
			t.Fatalf("after the success Heat is sent %s", text)
		}
	}
}
