package operate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// ErrBusy is a request that others have preempted again and again.
var ErrBusy = errors.New("the deployment changes too fast")

// MostTries limits how often a request is computed again because agents report meanwhile.
const MostTries = 5

// NewRequest is a request about a role of a server in its current state.
func NewRequest(kind protocol.RequestKind, r *status.Role) protocol.Request {
	return protocol.Request{ID: rand.Text(), Kind: kind, Incarnation: r.Server.Incarnation.Number,
		Role: r.Name, Attempt: r.Attempt, Since: time.Now().UTC()}
}

// Post posts requests to agents of a deployment with that plan (deploy.Reader.Post).
func (o *Operator) Post(ctx context.Context, p *contract.Plan, posts []deploy.Posting, takeBack []contract.CellRef) error {
	_, err := reading(ctx, o, p, func(ctx context.Context, r *deploy.Reader) (none any, err error) {
		return none, r.Post(ctx, posts, takeBack)
	})
	return err
}

// reader reads what the servers of a plan have written.
func (o *Operator) reader(ctx context.Context, p *contract.Plan) (*deploy.Reader, error) {
	return deploy.NewReader(ctx, o, o.Deployment, o.Secret, p)
}

// reading is one exchange with the coordinator about what the servers of a plan have written.
func reading[T any](ctx context.Context, o *Operator, p *contract.Plan, do func(context.Context, *deploy.Reader) (T, error)) (found T, err error) {
	within, stop := o.Within(ctx)
	defer stop()
	r, err := o.reader(within, p)
	if err != nil {
		return found, err
	}
	return do(within, r)
}

// Ask posts a request to a server's agent.
func (o *Operator) Ask(ctx context.Context, p *contract.Plan, server contract.ServerPath, r protocol.Request) error {
	for range MostTries {
		err := o.Post(ctx, p, []deploy.Posting{{Server: server, Request: r}}, nil)
		if !errors.Is(err, store.ErrVersion) { // another user has asked meanwhile
			return err
		}
	}
	return ErrBusy
}

// Answer is what a server's agent has answered to a request so far; no status means no answer.
func (o *Operator) Answer(ctx context.Context, p *contract.Plan, server contract.ServerPath, request string) (protocol.Answer, error) {
	return reading(ctx, o, p, func(ctx context.Context, r *deploy.Reader) (protocol.Answer, error) {
		answers, err := r.Answers(ctx, server)
		if i := slices.IndexFunc(answers, func(a protocol.Answer) bool { return a.ID == request }); i >= 0 {
			return answers[i], err
		}
		return protocol.Answer{ID: request}, err
	})
}

// Await waits for the final answer. say receives what it waits for, whenever that changes.
func (o *Operator) Await(ctx context.Context, p *contract.Plan, server contract.ServerPath, request string, say func(string)) (protocol.Answer, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	answered, err := o.Watch(watching, o.Deployment.Answers(server))
	if err != nil {
		return protocol.Answer{}, err
	}
	present, err := o.Watch(watching, o.Deployment.Presence(server))
	if err != nil {
		return protocol.Answer{}, err
	}
	there := true
	for {
		a, err := o.Answer(ctx, p, server, request)
		if err != nil || a.Final() {
			return a, err
		}
		was := there
		if there, err = o.present(ctx, server); err != nil {
			return protocol.Answer{}, err
		}
		if !there && was {
			say(fmt.Sprintf("the agent of %s is not running: waiting until it is back", server))
		}
		open := true
		select {
		case _, open = <-answered:
		case _, open = <-present:
		}
		if !open {
			return protocol.Answer{}, ErrInterrupted
		}
	}
}

// present reports whether a server's agent is present; it fails if its deployment no longer exists.
func (o *Operator) present(ctx context.Context, server contract.ServerPath) (bool, error) {
	within, stop := o.Within(ctx)
	defer stop()
	_, applied, err := o.Stat(within, o.Deployment.Answers(server))
	if err == nil && !applied {
		err = deploy.ErrNotApplied
	}
	if err != nil {
		return false, err
	}
	_, there, err := o.Stat(within, o.Deployment.Presence(server))
	return there, err
}

// Known reports whether a server's agent has been asked a request with that id.
func (o *Operator) Known(ctx context.Context, p *contract.Plan, server contract.ServerPath, request string) (bool, error) {
	return reading(ctx, o, p, func(ctx context.Context, r *deploy.Reader) (bool, error) {
		asked, err := r.Requests(ctx, server)
		return slices.ContainsFunc(asked.Requests, func(r protocol.Request) bool { return r.ID == request }), err
	})
}
