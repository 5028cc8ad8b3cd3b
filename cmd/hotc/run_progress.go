package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// progress follows what agents report and prints each change as a line.
type progress struct {
	run    *localRun
	mu     sync.Mutex
	states map[contract.ServerPath]coordinator.ServerState
	width  int                         // of the longest role's key
	agents map[contract.ServerPath]int // their processes
	// settled is closed when the roles of every server have ended.
	settled   chan struct{}
	unsettled map[contract.ServerPath]bool
}

func newProgress(r *localRun) *progress {
	p := &progress{run: r, states: map[contract.ServerPath]coordinator.ServerState{}, agents: map[contract.ServerPath]int{}, settled: make(chan struct{}), unsettled: map[contract.ServerPath]bool{}}
	for _, s := range r.result.Built.Plan.Servers {
		p.unsettled[s.Path] = true
		for _, role := range s.Roles {
			p.width = max(p.width, len(s.Path)+1+len(role.Name))
		}
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

// follow prints changes until its context ends.
func (p *progress) follow(ctx context.Context) {
	paths, err := p.run.session.WatchTree(ctx, deploymentName.Servers())
	if err != nil {
		return // the final look still comes
	}
	servers := map[coordinator.Path]contract.ServerPath{}
	for _, s := range p.run.result.Built.Plan.Servers {
		servers[deploymentName.State(s.Path)] = s.Path
	}
	for path := range paths {
		if server, ok := servers[path]; ok {
			_ = p.look(ctx, server)
		}
	}
}

// finish looks at every server once more, when all agents have ended.
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
	node, err := p.run.session.Read(ctx, deploymentName.State(server))
	if err != nil {
		return err
	}
	var state coordinator.ServerState
	if err := json.Unmarshal(node.Data, &state); err != nil {
		return err
	}
	before := p.states[server]
	p.states[server] = state
	for i, role := range state.Roles {
		var old coordinator.RoleState
		if i < len(before.Roles) {
			old = before.Roles[i]
		}
		p.changed(server, old, role)
	}
	if state.Phase == coordinator.PhaseDone || state.Phase == coordinator.PhaseFailed {
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

// anyBlocked says that a role waits for a value.
func (p *progress) anyBlocked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.states {
		if slices.ContainsFunc(s.Roles, func(r coordinator.RoleState) bool { return len(r.Blocked) > 0 }) {
			return true
		}
	}
	return false
}

// say prints what there is to say of a role, in a line.
func (p *progress) say(role contract.RoleKey, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sayLocked(role, what)
}

func (p *progress) sayLocked(role contract.RoleKey, what string) {
	if !p.run.asJSON {
		fmt.Fprintf(p.run.out, "%7s  %-*s  %s\n", age(time.Since(p.run.started)), p.width, role, what)
	}
}

// changed prints what is new about a role.
func (p *progress) changed(server contract.ServerPath, old, now coordinator.RoleState) {
	say := func(what string) { p.sayLocked(server.Role(now.Name), what) }
	if old.Status != now.Status {
		switch now.Status {
		case coordinator.RoleRunning:
			say("runs")
		case coordinator.RoleDone:
			text := "done in " + age(now.Ended.Sub(now.Started))
			if now.BlockedSeconds >= 0.05 {
				text += ", of which it waited " + age(time.Duration(now.BlockedSeconds*float64(time.Second)))
			}
			say(text)
		case coordinator.RoleFailed:
			say("failed: " + firstLine(reasonOf(now)))
		case coordinator.RoleSkipped:
			say("skipped: an earlier role of the server failed")
		}
	}
	for _, w := range now.Blocked {
		if !isBlockedOn(old, w.Cell) {
			say("waits for " + string(w.Cell))
		}
	}
}

func isBlockedOn(r coordinator.RoleState, cell contract.CellName) bool {
	for _, w := range r.Blocked {
		if w.Cell == cell {
			return true
		}
	}
	return false
}

func reasonOf(r coordinator.RoleState) string {
	if r.Cause == nil {
		return "no reason given"
	}
	return r.Cause.Reason
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
