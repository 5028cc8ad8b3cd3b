package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// With --signal=heat servers signal Heat themselves, through wait condition handles whose
// credentials are in their user-data. A server that was created before Heat had such a handle,
// while a relay or nothing signalled Heat, has none, and its user-data does not change. For such
// servers a relay sends, with its own credentials, the same signals as their agents would: a
// repeated signal overwrites itself. So it need not know which servers can signal; it waits a
// while, and sends what is still missing.

// patience is for how many rounds a signal is left to the server's agent.
const patience = 5

// handle is a wait condition's handle, as Heat lists it.
type handle struct{ stackName, stackID, name string }

// said is a signal to be sent: how a server's roles, or one of them, have ended.
type said struct {
	to handle
	id string
}

// helped is what is known about handles.
type helped struct {
	known map[handle]map[string]string // statuses by the signals' ids
	since map[said]time.Time           // when it was first found missing
	read  map[handle]time.Time         // when Heat was queried
	// looked is when all resources were last listed, took how long that took.
	looked time.Time
	took   time.Duration
	rests  time.Time // update time of the stack whose action has completed
	waits  []protocol.HeatWait
}

// help signals handles for the servers that cannot. If the stack's action is complete, Heat waits
// for nothing.
func (r *Relay) help(ctx context.Context, s *relay.Session) error {
	h := &r.helped
	if r.stack == nil || s.Plan.Signal != contract.AgentsSignal && !s.Handled() {
		h.waits = nil
		return nil
	}
	rests := r.stack.State.Complete() || r.stack.State.Action() == "DELETE"
	if rests && h.rests.Equal(r.stack.Updated.Time) && h.since == nil {
		return nil
	}
	if !rests && time.Since(h.looked) < max(patience*r.Every, store.Rest(h.took)) {
		return nil
	}
	h.looked = time.Now()
	resources, err := r.Heat.Resources(ctx, r.stack.Name, r.stack.ID, heat.MaxDepth)
	if h.took = time.Since(h.looked); err != nil {
		return err
	}
	if h.since == nil {
		h.known, h.since, h.read = map[handle]map[string]string{}, map[said]time.Time{}, map[handle]time.Time{}
	}
	found, servers := handlesOf(resources), r.servers(s)
	h.waits = nil
	for _, to := range found.all {
		wait := protocol.HeatWait{Wait: to.name, Status: protocol.HeatDone}
		if !rests {
			for _, v := range found.verdicts(to, s.Plan, servers) {
				told, err := r.helpWith(ctx, s, to, v)
				if err != nil {
					return err
				}
				switch {
				case v.state == protocol.HeatFailed:
					wait.Status, wait.Reason = v.state, v.reason
				case wait.Status == protocol.HeatDone && !told:
					wait.Status, wait.Reason = protocol.HeatWaits, v.reason
				}
			}
		}
		h.waits = append(h.waits, wait)
	}
	if rests {
		h.rests, h.since = r.stack.Updated.Time, nil
	}
	return nil
}

// helpWith sends a signal for a server, if its agent does not, and reports whether Heat has it.
func (r *Relay) helpWith(ctx context.Context, s *relay.Session, to handle, v spoken) (told bool, err error) {
	h, what := &r.helped, said{to, v.id}
	status := signal.Success
	switch v.state {
	case protocol.HeatWaits:
		return false, nil
	case protocol.HeatFailed:
		status = signal.Failure
	case protocol.HeatDone:
	}
	if h.known[to][v.id] == string(status) {
		return true, nil
	}
	if h.read[to].Before(h.looked) { // once per round
		if h.known[to], err = r.Heat.Signals(ctx, to.stackName, to.stackID, to.name); err != nil {
			if errors.Is(err, heat.ErrNotFound) {
				return false, nil // Heat has replaced it
			}
			return false, err
		}
		h.read[to] = time.Now()
	}
	before, some := h.known[to][v.id]
	if before == string(status) {
		return true, nil
	}
	if h.since[what].IsZero() {
		h.since[what] = time.Now()
	}
	if !some && time.Since(h.since[what]) < patience*r.Every {
		return false, nil
	}
	signalled := signal.Signal{Status: status, Reason: signal.ShortReason(v.reason), ID: v.id}
	end, data, err := r.answer(ctx, s, v.verdict)
	switch {
	case err != nil || end.Status == string(protocol.HeatWaits):
		return false, err
	case end.Status == string(protocol.HeatFailed):
		signalled.Status, signalled.Reason = signal.Failure, end.Reason
	case len(v.values) > 0:
		signalled.Data = data[v.values[0].server]
	}
	if err := r.Heat.Signal(ctx, to.stackName, to.stackID, to.name, signalled); err != nil && !errors.Is(err, heat.ErrNotFound) {
		return false, err
	}
	r.Say(fmt.Sprintf("signalled %s to Heat for server %s: %s: %s", to.name, v.id, signalled.Status, signalled.Reason))
	return false, nil // Heat accepts it a little later, or drops it: the next round tells
}

// handles are the handles of a stack, and where in it machines are.
type handles struct {
	all     []handle
	parents map[string]string // of nested stacks, by their ids
	at      map[string]string // the stack of a resource, by its own id
}

func handlesOf(resources []heat.Resource) *handles {
	h := &handles{parents: map[string]string{}, at: map[string]string{}}
	for _, x := range resources {
		switch {
		case x.Type == heat.HandleType && x.ID != "" && x.StackID != "":
			h.all = append(h.all, handle{x.StackName, x.StackID, x.Name})
		case x.NestedID != "":
			h.parents[x.NestedID] = x.StackID
		case x.ID != "":
			h.at[x.ID] = x.StackID
		}
	}
	slices.SortFunc(h.all, func(a, b handle) int { return slices.Compare([]string{a.stackID, a.name}, []string{b.stackID, b.name}) })
	return h
}

// meant is the handle with a name in the boot file of a machine's agent: that of the nearest stack.
func (h *handles) meant(machine, name string) (handle, bool) {
	for at, deep := h.at[machine], 0; at != "" && deep <= heat.MaxDepth; at, deep = h.parents[at], deep+1 {
		i := slices.IndexFunc(h.all, func(x handle) bool { return x.stackID == at && x.name == name })
		if i >= 0 {
			return h.all[i], true
		}
	}
	return handle{}, false
}

// spoken is a signal to a handle, with its id.
type spoken struct {
	id string
	verdict
}

// verdicts are the signals for a handle's servers, as far as Heat has them now.
func (h *handles) verdicts(to handle, p *contract.Plan, servers map[contract.ServerPath]relay.Server) (all []spoken) {
	for i := range p.Servers {
		server := &p.Servers[i]
		now := servers[server.Path]
		if now.Instance == "" || h.at[now.Instance] == "" || now.Unreadable != "" || len(server.Roles) == 0 {
			continue
		}
		if at, is := h.meant(now.Instance, to.name); !is || at != to {
			continue
		}
		if to.name == contract.DoneHandle {
			w := contract.HeatWait{Servers: contract.HeatServers{{Server: server.Path, ID: now.Instance}}}
			all = append(all, spoken{string(server.Path), decide(w, p, map[contract.ServerPath]relay.Server{server.Path: now}, nil)})
			continue
		}
		for n := range server.Roles {
			role := &server.Roles[n]
			if through := role.Signal(to.name); through != nil {
				w := contract.HeatWait{About: contract.HeatWaitAbout{Wait: to.name, Role: role.Name}, Servers: contract.HeatServers{{Server: server.Path, ID: now.Instance}}}
				all = append(all, spoken{through.ID, decide(w, p, map[contract.ServerPath]relay.Server{server.Path: now}, nil)})
			}
		}
	}
	return all
}
