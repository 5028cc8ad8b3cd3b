package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// newRequest is a request about a role of a server as it stands.
func newRequest(kind coordinator.RequestKind, r *status.Role) coordinator.Request {
	return coordinator.Request{ID: rand.Text(), Kind: kind, Incarnation: r.Server.Incarnation.Number,
		Role: r.Name, Attempt: r.Attempt, Since: time.Now().UTC()}
}

// ask puts a request before a server's agent.
func (s *session) ask(ctx context.Context, server plan.ServerPath, r coordinator.Request) error {
	for range mostTries {
		within, stop := s.within(ctx)
		err := coordinator.Post(within, s, s.deployment, s.secret, []coordinator.Posting{{Server: server, Request: r}}, nil)
		stop()
		if !errors.Is(err, coordinator.ErrVersion) { // somebody else has asked meanwhile
			return s.explain(ctx, err)
		}
	}
	return source.Fail(source.OperationFailed, "the deployment changes too fast", "try again")
}

// answer is what a server's agent has answered to a request so far; without a
// status, nothing.
func (s *session) answer(ctx context.Context, server plan.ServerPath, request string) (coordinator.Answer, error) {
	within, stop := s.within(ctx)
	defer stop()
	answers, err := coordinator.ReadAnswers(within, s, s.deployment, server)
	if err != nil {
		return coordinator.Answer{}, s.explain(ctx, err)
	}
	for _, a := range answers {
		if a.ID == request {
			return a, nil
		}
	}
	return coordinator.Answer{ID: request}, nil
}

// awaitAnswer waits for the final answer. say is told what it waits for, when that
// changes.
func (s *session) awaitAnswer(ctx context.Context, server plan.ServerPath, request string, say func(string)) (coordinator.Answer, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	answered, err := s.Watch(watching, s.deployment.Answers(server))
	if err != nil {
		return coordinator.Answer{}, s.explain(ctx, err)
	}
	present, err := s.Watch(watching, s.deployment.Presence(server))
	if err != nil {
		return coordinator.Answer{}, s.explain(ctx, err)
	}
	there := true
	for {
		a, err := s.answer(ctx, server, request)
		if err != nil || a.Final() {
			return a, err
		}
		was := there
		if there, err = s.present(ctx, server); err != nil {
			return coordinator.Answer{}, err
		}
		if !there && was {
			say(fmt.Sprintf("the agent of %s is not there now: waiting for its return", server))
		}
		open := true
		select {
		case _, open = <-answered:
		case _, open = <-present:
		}
		if !open {
			return coordinator.Answer{}, interrupted()
		}
	}
}

// present says whether a server's agent is there; an error says that its deployment
// is not, any more.
func (s *session) present(ctx context.Context, server plan.ServerPath) (bool, error) {
	within, stop := s.within(ctx)
	defer stop()
	_, applied, err := s.Stat(within, s.deployment.Answers(server))
	if err == nil && !applied {
		err = coordinator.ErrNotApplied
	}
	if err != nil {
		return false, s.explain(ctx, err)
	}
	_, there, err := s.Stat(within, s.deployment.Presence(server))
	return there, s.explain(ctx, err)
}
