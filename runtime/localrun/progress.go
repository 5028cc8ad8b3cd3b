package localrun

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// progress follows what agents report and passes on each change.
type progress struct {
	run    *Run
	mu     sync.Mutex
	states map[contract.ServerPath]protocol.ServerState
	agents map[contract.ServerPath]int // their processes
	// settled is closed when the roles of every server have ended.
	settled   chan struct{}
	unsettled map[contract.ServerPath]bool
}

func newProgress(r *Run) *progress {
	p := &progress{run: r, states: map[contract.ServerPath]protocol.ServerState{}, agents: map[contract.ServerPath]int{}, settled: make(chan struct{}), unsettled: map[contract.ServerPath]bool{}}
	for _, s := range r.setup.Plan.Servers {
		p.unsettled[s.Path] = true
	}
	return p
}

// settle notes that a server's roles have ended, or its agent.
func (p *progress) settle(server contract.ServerPath) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settleLocked(server)
}

func (p *progress) settleLocked(server contract.ServerPath) {
	if p.unsettled[server] {
		delete(p.unsettled, server)
		if len(p.unsettled) == 0 {
			close(p.settled)
		}
	}
}

// follow passes on changes until its context ends.
func (p *progress) follow(ctx context.Context) {
	servers, states := map[store.Path]contract.ServerPath{}, []store.Path{}
	for _, s := range p.run.setup.Plan.Servers {
		states = append(states, p.run.Deployment.State(s.Path))
		servers[states[len(states)-1]] = s.Path
	}
	changed, err := store.WatchAll(ctx, p.run, states...)
	if err != nil {
		return // the final read still follows
	}
	for path := range changed {
		_ = p.look(ctx, servers[path])
	}
}

// finish reads every server once more, when all agents have ended.
func (p *progress) finish(boots []contract.Boot) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for _, b := range boots {
		if err := p.look(ctx, b.Server); err != nil {
			return err
		}
	}
	return nil
}

func (p *progress) look(ctx context.Context, server contract.ServerPath) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	node, err := p.run.Read(ctx, p.run.Deployment.State(server))
	if err != nil {
		return err
	}
	var state protocol.ServerState
	if err := json.Unmarshal(node.Data, &state); err != nil {
		return err
	}
	before := p.states[server]
	p.states[server] = state
	for i, role := range state.Roles {
		var old protocol.RoleState
		if i < len(before.Roles) {
			old = before.Roles[i]
		}
		p.run.setup.Changed(server.Role(role.Name), old, role)
	}
	if state.Phase == protocol.PhaseDone || state.Phase == protocol.PhaseFailed {
		p.settleLocked(server)
	}
	return nil
}

// started notes the process of a server's agent.
func (p *progress) started(server contract.ServerPath, pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agents[server] = pid
}

// anyBlocked reports whether a role waits for a value.
func (p *progress) anyBlocked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.states {
		if slices.ContainsFunc(s.Roles, func(r protocol.RoleState) bool { return len(r.Blocked) > 0 }) {
			return true
		}
	}
	return false
}

// beside reports that a role continues beside its read.
func (p *progress) beside(role contract.RoleKey, c status.Cycle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run.setup.Beside(role, c)
}
