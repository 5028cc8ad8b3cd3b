package simulationtest

import (
	"regexp"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Where tokens are valid for one enrolment the operator checks now and then whether a machine asks
// for approval, and approves the one that was built last, having read its key on its console.

func (w *world) enrolment() protocol.Enrolment {
	if w.Faults.Once {
		return protocol.EnrolOnce
	}
	return protocol.EnrolAlways
}

// asksWith finds the key in the message of a machine that is not approved.
var asksWith = regexp.MustCompile(`--key (\S+)\)`)

// isServer matches the message of an approved machine.
var isServer = regexp.MustCompile(`: server \S+ of \S+, incarnation `)

// listen notes the key of a machine that asks for approval.
func (m *machine) listen(console []byte) {
	if found := asksWith.FindSubmatch(console); found != nil {
		key := string(found[1])
		m.asks.Store(&key)
	} else if isServer.Match(console) {
		m.asks.Store(nil)
	}
}

// keptOut reports whether a machine waits for approval, and rightly so: another one was built
// later.
func (m *machine) keptOut() bool {
	if m.asks.Load() == nil {
		return false
	}
	for _, other := range m.world.machines {
		if other != m && other.Server == m.Server && other.Boot > m.Boot {
			return true
		}
	}
	return false
}

func (w *world) admit() {
	s := w.cluster.open(nil, "operator (admits)", nil, &operator{}, []store.Credential{w.secret.Operator(deployment)})
	for w.sleep(20 * time.Second) {
		for i := range w.program.Plan.Servers {
			server := w.program.Plan.Servers[i].Path
			m := w.newest(server)
			if m == nil || m.asks.Load() == nil {
				continue
			}
			key := *m.asks.Load()
			reader, err := deploy.NewReader(w.ctx, s, deployment, w.secret, &w.program.Plan)
			if err == nil {
				_, err = reader.Admit(w.ctx, server, key)
			}
			w.trace("%v is let in: %v", m, err)
			w.history.count("machines let in")
		}
	}
}

// newest is the existing machine of a server that was built last; nil is none.
func (w *world) newest(server contract.ServerPath) *machine {
	var last *machine
	for _, m := range w.machines {
		if m.Server == server && m.Boot <= w.cluster.now() && !isClosed(m.gone) && !m.left.Load() && (last == nil || m.Boot > last.Boot) {
			last = m
		}
	}
	return last
}

// checkAdmissions reports machines that became a server without approval.
func (h *history) checkAdmissions() {
	if !h.world.Faults.Once {
		return
	}
	c := h.world.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range h.world.program.Plan.Servers {
		machines, may := map[string]bool{}, 1
		from := 0 // when all was lost
		for i := range c.commits {
			if c.commits[i].lost && !c.state(deployment.Root(), i+1).exists {
				from, may = i, 1
			} else if c.commits[i].lost && incarnation(c.state(deployment.Server(s.Path), i+1).data).Number == 0 {
				may++ // the token was not used yet
			}
		}
		for _, x := range c.nodes[deployment.Server(s.Path)] {
			if id := incarnation(x.data).ID; id != "" && x.commit >= from {
				machines[id] = true
			}
		}
		admissions := -1 // the first is its creation
		for _, x := range c.nodes[deployment.Admission(s.Path)] {
			if x.commit >= from && !c.commits[x.commit].lost {
				admissions++
			}
		}
		if len(machines) > may+max(admissions, 0) {
			h.violations = append(h.violations, string(s.Path)+" was more machines than were let in")
		}
	}
}
