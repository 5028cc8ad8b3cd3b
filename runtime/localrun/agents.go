package localrun

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// graceToEnd is how long agents have to end their roles, and background processes of these.
const graceToEnd = 20 * time.Second

// Roles runs one agent for each server until the roles of all have ended, and reports their
// progress meanwhile. Agents stay until the last role: one may have started in the background what
// another's role talks to.
func (r *Run) Roles(ctx context.Context) (*Result, error) {
	boots := r.setup.Boots
	p := newProgress(r)
	stopWatching := store.Beside(context.WithoutCancel(ctx), p.follow)
	defer stopWatching()
	if r.setup.Printed != nil {
		defer r.followOutput(p)() // until all agents have ended
	}
	agents, endAgents := context.WithCancel(ctx)
	defer endAgents()
	result := &Result{}
	looked := make(chan error)
	mistake.Go(func() {
		broken, err := r.breakCycles(agents, p)
		result.Broken = broken
		looked <- err
	})
	var (
		wait   sync.WaitGroup
		failed = make([]error, len(boots))
	)
	for i, b := range boots {
		cmd, err := r.agentCommand(agents, b)
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			failed[i] = source.Fail(source.NoAgent, "the agent of "+string(b.Server)+" cannot be started: "+err.Error(), "")
			p.settle(b.Server)
			continue
		}
		p.started(b.Server, cmd.Process.Pid)
		mistake.GoIn(&wait, func() {
			_ = cmd.Wait() // the coordinator knows how its roles ended
			p.settle(b.Server)
		})
	}
	select {
	case <-p.settled:
	case <-ctx.Done():
	}
	endAgents()
	failed = append(failed, <-looked)
	wait.Wait()
	if err := p.finish(boots); err != nil {
		failed = append(failed, err)
	}
	stopWatching()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	result.States = p.states
	return result, errors.Join(failed...)
}

// agentCommand prepares a server's agent: its boot file and its folders.
func (r *Run) agentCommand(ctx context.Context, b contract.Boot) (*exec.Cmd, error) {
	name := store.Segment(string(b.Server))
	own := filepath.Join(r.setup.Workdir, ".hotc", name)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	boot := filepath.Join(own, "boot.json")
	if err := os.WriteFile(boot, text, 0o600); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(own, "agent.log"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	var id string
	_ = json.Unmarshal(b.Facts[contract.FactID], &id)
	cmd := exec.CommandContext(ctx, r.setup.Agent, "run", "--boot", boot, "--state", own, "--work", filepath.Join(r.setup.Workdir, name),
		"--instance-id", id, "--end-leftovers", "--install-nothing")
	cmd.Stdout, cmd.Stderr = log, log
	// in its own process group: Ctrl-C reaches hotc, which asks the agents to end; so does the
	// kernel when hotc is killed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = graceToEnd
	return cmd, nil
}

// Trouble is the last message of an agent that never got to its roles.
func (r *Run) Trouble(server contract.ServerPath) string {
	text, err := os.ReadFile(filepath.Join(r.setup.Workdir, ".hotc", store.Segment(string(server)), "agent.log"))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
