package status

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// Untold is something that Heat does not know yet, or that it waits for, and why.
type Untold struct {
	// Server is the one whose agent is to tell it; "" where a relay is.
	Server contract.ServerPath `json:"server,omitempty"`
	Reason string              `json:"reason"`
}

// Untold says why Heat does not know how the deployment stands: who tells it has no way
// there, is refused, or is not there.
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
			instead := "no relay is running that tells it instead"
			if v.Relays > 0 {
				instead = "the relay cannot tell it instead: " + v.Heat.Trouble
			}
			out = append(out, Untold{Reason: "server " + string(s.Path) + " was made without credentials for that, and " + instead})
		}
	case contract.RelaySignals:
		switch {
		case v.Relays > 0 && v.Heat.Trouble != "":
			out = append(out, Untold{Reason: v.Heat.Trouble})
		case v.Relays == 0 && v.ended() && !v.heatKnows():
			out = append(out, Untold{Reason: "no relay is running"})
		case v.Relays == 0:
			for _, s := range v.Unrelayed { // Heat waits for its roles, and none has looked
				out = append(out, Untold{s, "it has come since a relay was there, and none is running"})
			}
		}
	case contract.NobodySignals:
	}
	return out
}

// HeatHasHeard says that Heat knows how the roles have ended, as far as a relay tells it and has found.
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

// Hooks says with which servers Heat waits for their delete hooks, as a relay has seen.
func (v *Status) Hooks() (all []string) {
	for _, w := range v.Heat.Waits {
		if w.Hook != "" {
			all = append(all, "Heat waits for the delete hooks of "+path.Join(w.Stack, w.Wait)+": "+w.Reason)
		}
	}
	return all
}

// longRefused is how long ago a machine that Heat has not asked last, at most, if it is there.
const longRefused = 10 * time.Minute

// Next tells of machines that would take the place of others, and whether one waits for a relay that
// is not there.
func (v *Status) Next(now time.Time) (all []string, unrelayed bool) {
	for _, s := range v.Servers {
		switch next := &s.Next; {
		case next.Asks() && v.Relays == 0:
			unrelayed = true
			all = append(all, fmt.Sprintf("server %s: instance %s would take its place, and no relay is running that asks Heat whether it has that one", s.Path, next.Instance))
		case next.Asks():
			all = append(all, fmt.Sprintf("server %s: instance %s would take its place, and waits until a relay has asked Heat whether it has that one", s.Path, next.Instance))
		case next.ID != "" && now.Sub(next.Since).Abs() < longRefused:
			all = append(all, fmt.Sprintf("server %s: instance %s would take its place, and Heat does not have that one: nothing runs on it", s.Path, next.Instance))
		}
	}
	return all, unrelayed
}

// ended says that there is something to tell.
func (v *Status) ended() bool {
	return slices.ContainsFunc(v.Servers, (*Server).ended)
}

// ended says that its roles have ended, or that nothing more is expected of them.
func (s *Server) ended() bool { return s.Came() && len(s.Roles) > 0 && s.finished() }

// heatKnows says that Heat waited for nothing when a relay asked it last. What is newer only a
// relay can know.
func (v *Status) heatKnows() bool {
	waits := func(w coordinator.HeatWait) bool { return w.Status == coordinator.HeatWaits }
	return len(v.Heat.Waits) > 0 && !slices.ContainsFunc(v.Heat.Waits, waits)
}

// withoutHandle is a server with something to tell that cannot tell it; nil if all can.
func (v *Status) withoutHandle() *Server {
	for _, s := range v.Servers {
		if s.State.NoHandle && s.ended() {
			return s
		}
	}
	return nil
}

// handleDone says that Heat has heard all that it wants of servers, as a relay has found.
func (v *Status) handleDone() bool {
	return slices.ContainsFunc(v.Heat.Waits, func(w coordinator.HeatWait) bool {
		return w.Wait == contract.DoneHandle && w.Status == coordinator.HeatDone
	})
}

// String is it in a line.
func (u Untold) String() string {
	if u.Server == "" {
		return "Heat does not know yet: " + u.Reason
	}
	return fmt.Sprintf("Heat does not know yet of server %s: %s", u.Server, u.Reason)
}
