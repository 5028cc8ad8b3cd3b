package status

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Untold is why Heat was not signalled yet, or what it waits for.
type Untold struct {
	// Server is the one whose agent has to signal; "" if a relay has to.
	Server contract.ServerPath `json:"server,omitempty"`
	Reason string              `json:"reason"`
}

// Untold says why Heat does not know the deployment's status: an agent or relay cannot reach it, is
// refused, or is not there.
func (v *Status) Untold() []Untold {
	var out []Untold
	switch v.Plan.Signal {
	case contract.AgentsSignal:
		for _, s := range v.Servers {
			if s.State.Untold != "" {
				out = append(out, Untold{s.Path, s.State.Untold})
			}
		}
		if s := v.withoutHandle(); s != nil && !v.handleDone() && (v.Relays == 0 || v.Heat.Trouble != "") {
			instead := "no relay is running to signal instead"
			if v.Relays > 0 {
				instead = "the relay cannot signal instead: " + v.Heat.Trouble
			}
			out = append(out, Untold{Reason: "server " + string(s.Path) + " was created without credentials to signal Heat, and " + instead})
		}
	case contract.RelaySignals:
		switch {
		case v.Relays > 0 && v.Heat.Trouble != "":
			out = append(out, Untold{Reason: v.Heat.Trouble})
		case v.Relays == 0 && v.Stack.InProgress():
			out = append(out, Untold{Reason: "no relay is running, and the stack is " + v.Stack.State})
		case v.Relays == 0 && v.ended() && !v.heatKnows():
			out = append(out, Untold{Reason: "no relay is running"})
		case v.Relays == 0:
			for _, s := range v.Unrelayed { // Heat waits for its roles, and no relay has seen it
				out = append(out, Untold{s, "it joined after the last relay had stopped, and none is running"})
			}
		}
	case contract.NobodySignals:
	}
	return out
}

// HeatHasHeard reports whether Heat knows how the roles have ended, as far as a relay signals and knows it.
func (v *Status) HeatHasHeard() bool {
	if v.Plan == nil { // nothing is on the coordinator
		return true
	}
	switch v.Plan.Signal {
	case contract.AgentsSignal:
		return v.withoutHandle() == nil || v.handleDone()
	case contract.RelaySignals:
		return !v.ended() || v.heatKnows()
	case contract.NobodySignals:
	}
	return true
}

// Notices are what there is to know beside the roles: how the stack is, what Heat waits for, and what
// it was not told yet. unrelayed says that this needs a relay, and none is running.
func (v *Status) Notices(now time.Time) (all []string, unrelayed bool) {
	switch s := v.Stack; {
	case s == Stack{}:
	case s.Unasked: // said where the rest would be taken for the whole truth: no relay watches Heat, and every role has ended
		if v.Plan.Signal == contract.RelaySignals && v.Relays == 0 && v.Finished() {
			all = append(all, "Heat was not asked how the stack is: set $OS_CLOUD, or source the cloud's openrc file")
		}
	case s.Unknown != "":
		all = append(all, "The stack's state in Heat is unknown: "+s.Unknown)
	case s.Reason != "":
		all = append(all, "Heat: "+s.State+", begun"+at(s.Since, now)+": "+s.Reason)
	default:
		all = append(all, "Heat: "+s.State+", begun"+at(s.Since, now))
	}
	for _, w := range v.Heat.Waits {
		if w.Hook != "" {
			all = append(all, "Heat waits for the delete hooks of "+path.Join(w.Stack, w.Wait)+": "+w.Reason)
		}
	}
	next, unrelayed := v.Next(now)
	all = append(all, next...)
	for _, u := range v.Untold() {
		all = append(all, u.String())
		unrelayed = unrelayed || v.Relays == 0 && (v.Plan.Signal == contract.RelaySignals || u.Server == "")
	}
	return all, unrelayed
}

// longRefused is the longest time since the last question of a refused machine that is still running.
const longRefused = 10 * time.Minute

// Next describes machines that wait to replace others; unrelayed says that one waits for a relay,
// and none is running.
func (v *Status) Next(now time.Time) (all []string, unrelayed bool) {
	for _, s := range v.Servers {
		switch next := &s.Next; {
		case next.Asks() && v.Relays == 0:
			unrelayed = true
			all = append(all, fmt.Sprintf("server %s: instance %s waits to replace its machine, and no relay is running to check with Heat", s.Path, next.Instance))
		case next.Asks():
			all = append(all, fmt.Sprintf("server %s: instance %s waits to replace its machine until a relay has checked with Heat", s.Path, next.Instance))
		case next.ID != "" && now.Sub(next.Since).Abs() < longRefused:
			all = append(all, fmt.Sprintf("server %s: instance %s asked to become its machine, and Heat does not have that instance, or no longer: nothing runs on it", s.Path, next.Instance))
		}
	}
	return all, unrelayed
}

// ended reports whether there is something to signal.
func (v *Status) ended() bool {
	return slices.ContainsFunc(v.Servers, (*Server).ended)
}

// ended reports whether its roles have ended, or nothing more is expected of them.
func (s *Server) ended() bool { return s.Came() && len(s.Roles) > 0 && s.Finished() }

// heatKnows reports whether Heat waited for nothing when a relay last queried it.
func (v *Status) heatKnows() bool {
	waits := func(w protocol.HeatWait) bool { return w.Status == protocol.HeatWaits }
	return len(v.Heat.Waits) > 0 && !slices.ContainsFunc(v.Heat.Waits, waits)
}

// withoutHandle is a server that has to signal and has no credentials; nil if there is none.
func (v *Status) withoutHandle() *Server {
	for _, s := range v.Servers {
		if s.State.NoHandle && s.ended() {
			return s
		}
	}
	return nil
}

// handleDone reports whether, as a relay has found, Heat has got all signals that it waits for.
func (v *Status) handleDone() bool {
	return slices.ContainsFunc(v.Heat.Waits, func(w protocol.HeatWait) bool {
		return w.Wait == contract.DoneHandle && w.Status == protocol.HeatDone
	})
}

// String is one line.
func (u Untold) String() string {
	if u.Server == "" {
		return "Heat does not know yet: " + u.Reason
	}
	return fmt.Sprintf("Heat does not know yet of server %s: %s", u.Server, u.Reason)
}
