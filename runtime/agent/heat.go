package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// tellHeat signals how the roles ended, unless an earlier agent did. The channel,
// nil where there is nothing to tell, gets the status that Heat has taken, or "" if
// the context ended before.
func (a *agent) tellHeat(ctx context.Context) <-chan signal.Status {
	if a.Boot.Signal == "" {
		return nil
	}
	s := a.outcome(ctx)
	if ctx.Err() != nil || a.journal.Signalled() == string(s.Status) {
		return nil
	}
	told := make(chan signal.Status, 1)
	go func() {
		if !a.signal(ctx, s) {
			s.Status = ""
		}
		told <- s.Status
	}()
	return told
}

func (a *agent) noteSignalled(status signal.Status) {
	if status == "" {
		return
	}
	a.console.say("Heat was told: %s", status)
	if err := a.journal.NoteSignalled(string(status)); err != nil {
		a.console.say("%v", err)
	}
}

// outcome is the signal of a server whose roles have ended.
func (a *agent) outcome(ctx context.Context) signal.Signal {
	s := signal.Signal{Status: signal.Success, Reason: "all roles are done", ID: string(a.Boot.Server)}
	for _, r := range a.board.copy().Roles {
		if r.Status == coordinator.RoleFailed {
			s.Status, s.Reason = signal.Failure, r.Cause.String()
			return s
		}
	}
	values, err := a.valuesForHeat(ctx)
	if err != nil {
		s.Status, s.Reason = signal.Failure, fmt.Sprintf("%s: %v", a.Boot.Server, err)
		return s
	}
	s.Data = values
	return s
}

// valuesForHeat are the outputs that the stack needs. They are read back, so that
// an agent knows them after a restart.
func (a *agent) valuesForHeat(ctx context.Context) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for _, r := range a.plan.Roles {
		for _, o := range r.Outputs {
			if !o.Heat {
				continue
			}
			record, err := a.member.Cell(ctx, o.Cell)
			if err != nil {
				return nil, err
			}
			if record.State != coordinator.Valued {
				return nil, fmt.Errorf("the output %s of role %s has no value for the stack", o.Name, r.Name)
			}
			name := o.Attribute
			if name == "" {
				name = o.Name
			}
			values[name] = record.Value
		}
	}
	return values, nil
}

// signal sends a signal, through whatever outage, and says whether Heat has it.
func (a *agent) signal(ctx context.Context, s signal.Signal) bool {
	if a.Boot.Signal == "" {
		return false
	}
	handle, err := signal.ParseHandle(a.Boot.Signal, signal.Stack{
		Name: a.Boot.Deployment, ID: a.Boot.StackID, Resource: a.Boot.SignalResource})
	if err != nil {
		a.console.say("%v", err)
		return false
	}
	client := signal.NewClient(handle)
	client.Say = func(err error) { a.console.say("%v; trying again", err) }
	err = client.Send(ctx, s)
	if errors.Is(err, signal.ErrTooLarge) && s.Data != nil {
		a.console.say("%v", err)
		return a.signal(ctx, signal.Signal{Status: signal.Failure, ID: s.ID,
			Reason: fmt.Sprintf("%s: all roles are done, but %v", a.Boot.Server, err)})
	}
	if err != nil {
		a.console.say("%v", err)
	}
	return err == nil
}
