package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// herald signals Heat about single roles while later ones run: resources wait for them. Accepted
// signals are noted in the journal when the roles have ended, by the goroutine that owns the
// journal; an agent that is killed before sends them again, which changes nothing.
type herald struct {
	*agent
	ctx     context.Context // of background signals
	telling sync.WaitGroup
	sent    map[told]bool
	taken   chan told
}

func newHerald(ctx context.Context, a *agent) *herald {
	return &herald{agent: a, ctx: ctx, sent: map[told]bool{}, taken: make(chan told)}
}

// told is a signal that Heat has accepted.
type told struct{ handle, status string }

// tell signals the wait conditions of an ended role, in the background. A cause says that it
// failed, or will not run.
func (h *herald) tell(r contract.Role, cause *protocol.Cause) {
	if h.Boot.Signal == "" {
		return // there is no Heat
	}
	for _, s := range r.Signals {
		status := signal.Success
		if cause != nil {
			status = signal.Failure
		}
		s.Handle = contract.HandleOf(s.Handle) // Heat may still wait on it though a relay signals now
		this := told{s.Handle, string(status)}
		if h.sent[this] || h.journal.Signalled(s.Handle) == this.status {
			continue
		}
		h.sent[this] = true
		handle, known := h.Boot.Signals.Find(s.Handle)
		if !known {
			h.console.say("%s: the boot file has no handle %s: it is older than the plan, and Heat cannot be signalled", h.key(r.Name), s.Handle)
			continue
		}
		mistake.GoIn(&h.telling, func() {
			h.send(r, s, handle, cause)
		})
	}
}

func (h *herald) send(r contract.Role, s contract.Signal, to contract.Handle, cause *protocol.Cause) {
	out := signal.Signal{Status: signal.Success, Reason: string(h.key(r.Name)) + " is done", ID: s.ID}
	switch values, err := h.valuesOf(r, s); {
	case cause != nil:
		out.Status, out.Reason = signal.Failure, cause.String()
	case err != nil:
		out.Status, out.Reason = signal.Failure, fmt.Sprintf("%s: %v", h.key(r.Name), err)
	default:
		out.Data = values
	}
	at := signal.Stack{Name: to.Stack, ID: to.StackID, Resource: s.Handle}
	if h.ctx.Err() != nil || !h.signalTo(h.ctx, to.Signal, at, out) {
		return
	}
	h.console.say("signalled Heat about %s: %s", h.key(r.Name), out.Status)
	h.taken <- told{s.Handle, string(out.Status)}
}

// valuesOf are the outputs of a role that a wait condition passes to Heat.
func (h *herald) valuesOf(r contract.Role, s contract.Signal) (map[string]json.RawMessage, error) {
	wanted := map[string]bool{}
	for _, name := range s.Outputs {
		wanted[name] = true
	}
	return h.values(h.ctx, r, func(o contract.Output) bool { return wanted[o.Name] })
}

// finish waits until all signals are sent, or the context has ended, and notes them.
func (h *herald) finish() {
	sent := make(chan struct{})
	mistake.Go(func() {
		h.telling.Wait()
		close(sent)
	})
	for {
		select {
		case t := <-h.taken:
			h.note(t)
		case <-sent:
			return
		}
	}
}

func (h *herald) note(t told) {
	if err := h.journal.NoteSignalled(t.handle, t.status); err != nil {
		h.console.say("%v", err)
	}
}
