// Package localrun really runs the roles of a plan on this machine: a coordinator in this process,
// and for each server an agent and a folder of its own. It prints nothing: its caller receives what
// happens.
package localrun

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// Name is the name of the deployment, as there is no stack.
const Name protocol.Deployment = "run"

// Setup is what to run.
type Setup struct {
	Plan  *contract.Plan
	JSON  []byte            // the plan's text
	Files map[string][]byte // the plan's, by digest
	// Boots are the boot files of the servers, without the coordinator and the token.
	Boots   []contract.Boot
	Given   []operate.SecretValue
	Agent   string // path of hotc-agent
	Workdir string // will contain a folder for each server

	// Changed receives what a role's agent reports, Beside a role that does something else while it
	// waits in a dependency cycle, Printed each line that a role prints: that may be nil. They are
	// never called concurrently.
	Changed func(role contract.RoleKey, old, now protocol.RoleState)
	Beside  func(contract.RoleKey, status.Cycle)
	Printed func(role contract.RoleKey, line []byte)
}

// Run is a deployment on this machine, with its operator.
type Run struct {
	*operate.Operator
	setup Setup
	// sockets is where the coordinator listens; a socket's path must be short.
	sockets string
	server  *serving
}

// Result is how the roles have ended.
type Result struct {
	States map[contract.ServerPath]protocol.ServerState
	// Broken are the dependency cycles whose roles were failed.
	Broken []status.Cycle
}

// Start starts the coordinator and publishes the plan on it.
func Start(ctx context.Context, setup Setup) (*Run, error) {
	r := &Run{setup: setup}
	if err := r.start(ctx); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Run) start(ctx context.Context) error {
	secret, err := protocol.NewSecret(rand.Reader)
	if err != nil {
		return err
	}
	if r.sockets, err = os.MkdirTemp("", "hotc-run-"); err != nil {
		return err
	}
	tree, socket := memory.New(), filepath.Join(r.sockets, "coordinator")
	if r.server, err = startServing(ctx, tree, socket); err != nil {
		return source.Fail(source.NoCoordinator, "the local coordinator cannot listen: "+err.Error(), "")
	}
	for i := range r.setup.Boots {
		b := &r.setup.Boots[i]
		b.Coordinator, b.Token = "unix://"+socket, secret.ServerToken(Name, b.Server)
	}
	files := func(digest string) ([]byte, error) {
		data, known := r.setup.Files[digest]
		if !known {
			return nil, fmt.Errorf("no file %s", digest)
		}
		return data, nil
	}
	r.Operator = &operate.Operator{Session: tree.Open(secret.Operator(Name)), Deployment: Name, Secret: secret, Timeout: time.Minute, Size: hot.DecidedSize}
	if _, err := deploy.Publish(ctx, r, deploy.Publication{Deployment: Name, Secret: secret, Plan: r.setup.Plan, JSON: r.setup.JSON, Files: files, Now: time.Now()}); err != nil {
		return err
	}
	return r.Give(ctx, r.setup.Plan, r.setup.Given)
}

// Close ends the operator's session and the coordinator.
func (r *Run) Close() error {
	var failed []error
	if r.Operator != nil {
		failed = append(failed, r.Operator.Close())
	}
	if r.server != nil {
		failed = append(failed, r.server.Close())
	}
	return errors.Join(append(failed, os.RemoveAll(r.sockets))...)
}

// serving is the coordinator's server on the socket.
type serving struct {
	stop  context.CancelFunc
	ended chan error
}

// startServing returns when agents can connect. The server outlives Ctrl-C: agents report through
// it how they end.
func startServing(ctx context.Context, tree *memory.Tree, socket string) (*serving, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &serving{stop: stop, ended: make(chan error, 1)}
	mistake.Go(func() { s.ended <- memory.Serve(ctx, tree, socket) })
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return s, conn.Close()
		}
		select {
		case err := <-s.ended:
			stop()
			return nil, err
		case <-time.After(time.Millisecond):
		}
	}
}

// Close ends the server.
func (s *serving) Close() error {
	s.stop()
	return <-s.ended
}
