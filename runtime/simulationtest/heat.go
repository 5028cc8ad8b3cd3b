package simulationtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// heat is Keystone and Heat as agents reach them: tokens that expire, and the handles of wait
// conditions, which accept what has the form that Heat knows and drop everything else (FACTS,
// "Signals of wait conditions").
type heat struct {
	world *world

	mu     sync.Mutex
	tokens map[string]time.Time // until when each is valid
	asked  map[string]int
	heard  []heard // in order
}

// heard is a signal that Heat has accepted.
type heard struct {
	process  *process
	resource string
	signal.Signal
}

// allDone is the handle by which servers signal how their roles ended.
const allDone = "hotc_done_handle"

const stackName, stackID = string(deployment), "the-stack"

func newHeat(w *world) *heat {
	return &heat{world: w, tokens: map[string]time.Time{}, asked: map[string]int{}}
}

// signalText is a handle's `signal` attribute, as Heat gives it.
func signalText(resource string) string {
	text, _ := json.Marshal(map[string]string{"auth_url": "http://keystone:5000/v3", "username": "user of " + resource, "user_id": resource,
		"password": "p", "project_id": "the-project", "domain_id": "the-domain", "region_name": "RegionOne"})
	return string(text)
}

// handles are those of single roles, as in user-data. Every second one belongs to the stack around
// the server's.
func (p *Program) handles() *contract.Handles {
	all := &contract.Handles{Own: map[string]contract.Handle{}, Above: &contract.Handles{Own: map[string]contract.Handle{}}}
	for _, s := range p.Plan.Servers {
		for i, r := range s.Roles {
			for _, to := range r.Signals {
				in := all
				if i%2 == 1 {
					in = all.Above
				}
				in.Own[to.Handle] = contract.Handle{Signal: signalText(to.Handle), Stack: stackName, StackID: stackID}
			}
		}
	}
	return all
}

// client creates an agent's client of a handle. Its chance is the seed's.
func (h *heat) client(p *process) func(signal.Handle) *signal.Client {
	return func(to signal.Handle) *signal.Client {
		c := signal.NewClient(to)
		c.HTTP = &http.Client{Transport: wire{h, p}, Timeout: c.HTTP.Timeout}
		n := 0
		c.Spread = func(most time.Duration) time.Duration {
			n++
			return h.world.dice.between(0, most, p, to, "spread", n)
		}
		return c
	}
}

// wire is the way from an agent to Keystone and Heat.
type wire struct {
	heat    *heat
	process *process
}

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	world, f := w.heat.world, w.heat.world.Faults
	id := w.heat.identify(fmt.Sprintf("%v %s %s", w.process, r.URL.Path, body))
	if !w.travel(r, world.dice.between(quickest, usual, id, "there")) {
		return nil, errors.New("the connection is gone")
	}
	switch {
	case isClosed(w.process.dead):
		return nil, errDead
	case within(f.HeatDown, world.cluster.now()), within(w.process.machine.Cut, world.cluster.now()):
		return nil, errors.New("no route to host")
	case world.dice.chance(f.Lost, id, "request lost"):
		return nil, errors.New("connection reset by peer")
	case world.dice.chance(f.HeatBusy, id, "busy"):
		return answer(r, http.StatusServiceUnavailable, "", "busy"), nil
	}
	status, token, text := w.heat.take(w.process, r, body)
	if world.dice.chance(f.Lost, id, "answer lost") || !w.travel(r, world.dice.between(quickest, usual, id, "back")) {
		return nil, errors.New("connection reset by peer")
	}
	return answer(r, status, token, text), nil
}

// travel is false when the request was given up meanwhile.
func (w wire) travel(r *http.Request, d time.Duration) bool {
	return w.heat.world.sleep(d, r.Context().Done()) && !isClosed(w.process.dead)
}

func within(spans []Span, t time.Duration) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.From <= t && t < s.To })
}

func (h *heat) identify(request string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[request]++
	return fmt.Sprintf("%s #%d", request, h.asked[request])
}

func answer(r *http.Request, status int, token, text string) *http.Response {
	header := http.Header{}
	if token != "" {
		header.Set("X-Subject-Token", token)
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: r}
}

const catalogue = `{"token": {"catalog": [{"type": "orchestration", "endpoints": [
	{"interface": "public", "region": "RegionOne", "url": "http://heat:8004/v1/the-project"}]}]}}`

// take handles a request.
func (h *heat) take(p *process, r *http.Request, body []byte) (status int, token, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.URL.Path == "/v3/auth/tokens" {
		token = fmt.Sprintf("token %d", len(h.tokens))
		h.tokens[token] = time.Now().Add(h.world.Faults.Token)
		return http.StatusCreated, token, catalogue
	}
	if !time.Now().Before(h.tokens[r.Header.Get("X-Auth-Token")]) {
		return http.StatusUnauthorized, "", "the token has expired"
	}
	resource, isSignal := strings.CutPrefix(r.URL.Path, "/v1/the-project/stacks/"+stackName+"/"+stackID+"/resources/")
	resource, ends := strings.CutSuffix(resource, "/signal")
	if !isSignal || !ends {
		return http.StatusNotFound, "", "there is no " + r.URL.Path
	}
	s := heard{process: p, resource: resource}
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&s.Signal); err != nil {
		h.world.history.violate("%v signals what Heat does not understand: %s", p, body)
	}
	h.world.trace("%v tells %s: %s: %s", p, resource, s.Status, strings.ReplaceAll(s.Reason, "\n", " "))
	h.world.history.count("signals")
	h.heard = append(h.heard, s)
	return http.StatusOK, "", ""
}

// checkAll checks everything that Heat has received.
func (h *heat) checkAll() {
	h.mu.Lock()
	all := slices.Clone(h.heard)
	h.mu.Unlock()
	for _, s := range all {
		if wrong := h.check(s); wrong != "" {
			h.world.history.violate("%v has told %s %s (%s): %s", s.process, s.resource, s.Status, s.Reason, wrong)
		}
	}
	for _, text := range h.untold() {
		h.world.history.violate("Heat was never told %s", text)
	}
}

// check says what is wrong with a signal: it must be true of the machine that sent it.
func (h *heat) check(s heard) string {
	server := h.world.program.server(s.process.machine.Server)
	roles, outputs := server.Roles, map[string]contract.CellName{}
	if s.resource == allDone {
		if s.ID != string(server.Path) {
			return "it bears the id " + s.ID
		}
		for _, r := range roles {
			for _, o := range r.Outputs {
				if o.Heat {
					outputs[o.Name] = o.Cell
				}
			}
		}
	} else {
		i, to := server.signaller(s.resource)
		if i < 0 && s.Status == signal.Failure && s.ID == string(server.Path) && h.world.wasDestroyed() {
			return h.checkFailure(s, nil) // it is refused meanwhile, has no plan, and tells all handles of its boot file
		}
		if i < 0 || s.ID != to.ID {
			return "this server has no such handle or id " + s.ID
		}
		roles = roles[i : i+1]
		for _, o := range roles[0].Outputs {
			if slices.Contains(to.Outputs, o.Name) {
				outputs[o.Name] = o.Cell
			}
		}
	}
	if s.Status == signal.Failure {
		return h.checkFailure(s, roles)
	}
	if s.Status != signal.Success {
		return "Heat knows no such status"
	}
	number := h.world.history.number(s.process.machine)
	for _, r := range roles { // the late one may not have been in the plan yet
		if r.Name != lateName && !h.world.history.held(server.Path.Role(r.Name).Completion(), server.Path, number, "null") {
			return r.Name + " was never done"
		}
	}
	if len(s.Data) != len(outputs) {
		return fmt.Sprintf("it brings %d values, not %d", len(s.Data), len(outputs))
	}
	for name, c := range outputs {
		if want, _ := json.Marshal(s.process.machine.value(c)); string(s.Data[name]) != string(want) {
			return fmt.Sprintf("it says that %s is %s, not %s", c, s.Data[name], want)
		}
	}
	return ""
}

// checkFailure says what is wrong with a failure. In a destroyed deployment it needs no failed
// role: its values are gone.
func (h *heat) checkFailure(s heard, roles []contract.Role) string {
	m := s.process.machine
	switch {
	case s.Reason == "":
		return "without a reason"
	case h.world.wasDestroyed():
		return ""
	}
	number := h.world.history.number(m)
	for _, r := range roles {
		if h.world.history.failed(m.Server.Role(r.Name).Completion(), m.Server, number) {
			return ""
		}
	}
	return "no role of it has failed"
}

// untold is what Heat should know at rest, but does not: how the roles ended on every server that
// has finished and whose agent is there.
func (h *heat) untold() (missing []string) {
	if h.world.program.Plan.Signal != "heat" || h.world.isGone() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	snapshot := h.world.snapshot()
	for i := range snapshot.Servers {
		s := &snapshot.Servers[i]
		m := h.world.current(s.Path)
		if m == nil || !finished(s) {
			continue
		}
		want := signal.Success
		if s.State.Phase == protocol.PhaseFailed {
			want = signal.Failure
		}
		if h.last(m, allDone) != want {
			missing = append(missing, fmt.Sprintf("that %v ended in %s", m, want))
		}
		for _, r := range h.world.program.server(s.Path).Roles {
			for _, to := range r.Signals {
				want := signal.Failure
				if s.Cells[s.Path.Role(r.Name).Completion()].State == protocol.Valued {
					want = signal.Success
				}
				if h.last(m, to.Handle) != want {
					missing = append(missing, fmt.Sprintf("that %s of %v ended in %s", r.Name, m, want))
				}
			}
		}
	}
	return missing
}

// last is the last signal of a machine to a handle. Locked.
func (h *heat) last(m *machine, resource string) (status signal.Status) {
	for _, s := range h.heard {
		if s.process.machine == m && s.resource == resource {
			status = s.Status
		}
	}
	return status
}
