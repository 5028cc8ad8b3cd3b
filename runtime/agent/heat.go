package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// tellHeat signals how the roles ended, unless an earlier agent did. The channel, nil if there is
// nothing to signal, gets the status that Heat has accepted, or "" if the context ended before.
func (a *agent) tellHeat(ctx context.Context) <-chan signal.Status {
	if a.Boot.Signal == "" {
		return nil
	}
	s := a.outcome(ctx)
	if ctx.Err() != nil || s.Status == "" || a.journal.Signalled("") == string(s.Status) {
		return nil
	}
	told := make(chan signal.Status, 1)
	mistake.Go(func() {
		if !a.signalTo(ctx, a.Boot.Signal, a.ownHandle(), s) {
			s.Status = ""
		}
		told <- s.Status
	})
	return told
}

func (a *agent) noteSignalled(status signal.Status) {
	if status == "" {
		return
	}
	a.console.say("signalled Heat: %s", status)
	if err := a.journal.NoteSignalled("", string(status)); err != nil {
		a.console.say("%v", err)
	}
}

// outcome is the signal of a server whose roles have ended; it has no status if another machine is the server now.
func (a *agent) outcome(ctx context.Context) signal.Signal {
	s := signal.Signal{Status: signal.Success, Reason: "all roles are done", ID: string(a.Boot.Server)}
	for _, r := range a.board.copy().Roles {
		if r.Status == protocol.RoleFailed {
			s.Status, s.Reason = signal.Failure, r.Cause.String()
			return s
		}
	}
	values, err := a.valuesForHeat(ctx)
	if errors.Is(err, member.ErrFenced) {
		return signal.Signal{}
	}
	if err != nil {
		s.Status, s.Reason = signal.Failure, fmt.Sprintf("%s: %v", a.Boot.Server, err)
		return s
	}
	s.Data = values
	return s
}

// valuesForHeat are the outputs that the stack needs when all roles are done.
func (a *agent) valuesForHeat(ctx context.Context) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, r := range a.plan.Roles {
		values, err := a.values(ctx, r, func(o contract.Output) bool { return o.Heat })
		if err != nil {
			return nil, err
		}
		maps.Copy(all, values)
	}
	return all, nil
}

// values are outputs of a role that is done, by attribute. They are read from the coordinator, so
// that they are available after a restart.
func (a *agent) values(ctx context.Context, r contract.Role, wanted func(contract.Output) bool) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for _, o := range r.Outputs {
		if !wanted(o) {
			continue
		}
		record, err := a.member.Cell(ctx, o.Cell)
		if err != nil {
			return nil, err
		}
		if record.State != protocol.Valued && record.Incarnation > a.session.Incarnation.Number { // emptied by the next machine
			return nil, member.ErrFenced
		}
		if record.State != protocol.Valued {
			return nil, fmt.Errorf("the output %s of role %s has no value for the stack", o.Name, r.Name)
		}
		values[cmp.Or(o.Attribute, o.Name)] = record.Value
	}
	return values, nil
}

// ownHandle is the place of the handle for the server's roles as a whole.
func (a *agent) ownHandle() signal.Stack {
	return signal.Stack{Name: a.Boot.Deployment, ID: a.Boot.StackID, Resource: a.Boot.SignalResource}
}

// untoldAfter is how long an agent tries to signal Heat before it reports that Heat does not know.
const untoldAfter = 10 * time.Second

// longestRelayed is how long it tries if a relay signals Heat. Heat may still wait on the old
// handle for a moment; then it is gone, and its user with it.
const longestRelayed = 10 * time.Minute

// reportUntold reports why Heat was not signalled yet; "" if it was, or never will be.
func (a *agent) reportUntold(ctx context.Context, why string) {
	if a.board == nil {
		return // it has not joined
	}
	if err := a.board.commit(ctx, nil, func(s *protocol.ServerState) { s.Untold = why }); err != nil && ctx.Err() == nil {
		a.console.say("%v", err)
	}
}

// signalTo sends a signal, retrying through outages, and reports whether Heat has it.
func (a *agent) signalTo(ctx context.Context, credentials string, at signal.Stack, s signal.Signal) bool {
	if credentials == "" {
		return false // there is no Heat
	}
	handle, err := signal.ParseHandle(credentials, at)
	if err != nil {
		a.console.say("%v", err)
		return false
	}
	client := a.Heat(handle)
	begun, untold := a.Now(), false
	client.Say = func(err error) {
		a.console.say("%v; retrying", err)
		if !untold && a.Now().Sub(begun) >= untoldAfter {
			untold = true
			a.reportUntold(ctx, err.Error())
			a.console.say("Heat does not know yet how the roles went")
		}
	}
	client.Enough = func() bool { return a.relayed.Load() && a.Now().Sub(begun) >= longestRelayed }
	err = client.Send(ctx, s)
	if untold {
		a.reportUntold(ctx, "")
	}
	if errors.Is(err, signal.ErrTooLarge) && s.Data != nil {
		a.console.say("%v", err)
		return a.signalTo(ctx, credentials, at, signal.Signal{Status: signal.Failure, ID: s.ID,
			Reason: fmt.Sprintf("%s: all roles are done, but %v", a.Boot.Server, err)})
	}
	if errors.Is(err, signal.ErrEnough) {
		a.console.say("a relay signals Heat now")
	} else if err != nil {
		a.console.say("%v", err)
	}
	return err == nil
}
