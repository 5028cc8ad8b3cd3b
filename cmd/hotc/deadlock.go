package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

// A dependency cycle that only run time finds: roles that wait for each other, so that
// none of them can go on. It is looked for in what the agents report. One look may be
// of several moments: a value that has just been written is not seen yet, a role reads the
// next one already. So a cycle counts when a second look, a moment later, finds the
// same waits.

// cycleStep is one wait of a cycle.
type cycleStep struct {
	role *roleStanding    // who waits
	wait coordinator.Wait // for which value; no cell is for its turn on its server
	on   *roleStanding    // who has to write it, or to end
}

// cycle is a dependency cycle: each step is for the role of the next, the last for the first's.
type cycle []cycleStep

// deadlocks are the dependency cycles of a moment. A role is in one only if each of its reads
// waits for a role that cannot go on either: another read might still let it write what is
// awaited. A read with a time-out ends by itself.
func deadlocks(v *standing) []cycle {
	waits := map[*roleStanding][]cycleStep{}
	readers := map[*roleStanding][]*roleStanding{}
	var order, free []*roleStanding
	for _, s := range v.servers {
		for i := range s.roles {
			r := &s.roles[i]
			order = append(order, r)
			steps, stuck := waitsOf(v, r)
			if !stuck {
				free = append(free, r)
				continue
			}
			waits[r] = steps
			for _, step := range steps {
				readers[step.on] = append(readers[step.on], r)
			}
		}
	}
	for len(free) > 0 { // whoever waits for one that may go on may go on
		r := free[len(free)-1]
		free = free[:len(free)-1]
		for _, reader := range readers[r] {
			if _, stuck := waits[reader]; stuck {
				delete(waits, reader)
				free = append(free, reader)
			}
		}
	}
	var cycles []cycle
	seen := map[*roleStanding]int{} // the walk in which a role was met
	for n, r := range order {
		var walk cycle
		for waits[r] != nil && seen[r] == 0 {
			seen[r] = n + 1
			walk = append(walk, waits[r][0])
			r = waits[r][0].on
		}
		if len(walk) > 0 && seen[r] == n+1 {
			at := slices.IndexFunc(walk, func(s cycleStep) bool { return s.role == r })
			cycles = append(cycles, walk[at:])
		}
	}
	return cycles
}

// waitsOf are the waits of a role; stuck says that it does nothing but wait, for roles.
func waitsOf(v *standing, r *roleStanding) (steps []cycleStep, stuck bool) {
	if !r.server.came() || !r.server.Alive {
		return nil, false
	}
	if r.Status == coordinator.RolePending && !r.blocked() {
		for i := range r.index {
			if earlier := &r.server.roles[i]; earlier.Status != coordinator.RoleDone {
				return []cycleStep{{role: r, on: earlier}}, true
			}
		}
	}
	if !r.blocked() {
		return nil, false
	}
	inputs := planRole(v.plan, r).Inputs
	for _, w := range r.Blocked {
		c := v.cells[w.Cell]
		on := v.role(c.Server, c.Role)
		timed := slices.ContainsFunc(inputs, func(in plan.Input) bool { return in.Name == w.Input && in.Timeout > 0 })
		if on == nil || timed || v.cell(w.Cell).State == coordinator.Valued || v.cell(w.Cell).State == coordinator.Failed {
			return nil, false
		}
		steps = append(steps, cycleStep{r, w, on})
	}
	return steps, true
}

// betweenSights is how long after the first look the second one comes.
const betweenSights = time.Second

// confirmed are the cycles of a look that one before had, too.
func confirmed(before, now []cycle) []cycle {
	known := map[string]bool{}
	for _, c := range before {
		known[c.identity()] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(c cycle) bool { return !known[c.identity()] })
}

// identity is the same for the same waits of the same runs of the roles.
func (c cycle) identity() string {
	var b strings.Builder
	for _, s := range c {
		fmt.Fprintf(&b, "%s %d %d %s %d\n", s.role.key(), s.role.server.Incarnation.Number, s.role.Attempt, s.wait.Cell, s.wait.Since.UnixNano())
	}
	return b.String()
}

// subjects are the roles of a cycle.
func (c cycle) subjects() []string {
	var all []string
	for _, s := range c {
		all = append(all, string(s.role.key()))
	}
	return all
}

// String names a cycle whole.
func (c cycle) String() string {
	var texts []string
	for _, s := range c {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, ", ")
}

func (s cycleStep) String() string {
	if s.wait.Cell == "" {
		return fmt.Sprintf("%s comes after %s on its server", s.role.key(), s.on.key())
	}
	return fmt.Sprintf("%s waits for %s", s.role.key(), dependenceText(dependence{Cell: s.wait.Cell, Input: s.wait.Input, At: s.wait.At}, time.Time{}))
}

// subjectsOf are the roles of cycles, as JSON has them.
func subjectsOf(cycles []cycle) [][]string {
	all := [][]string{}
	for _, c := range cycles {
		all = append(all, c.subjects())
	}
	return all
}

// cycleLines tell operators of cycles. hotc ends none: whether a role may be ended is theirs to say.
func cycleLines(cycles []cycle) string {
	var b strings.Builder
	for _, c := range cycles {
		fmt.Fprintf(&b, "\nA dependency cycle: %s.\nAs far as their reads tell, none of them can go on. Change what one of them reads or when, end its process on its server (it fails, and the others because of it), then apply and retry.\n", terminal.Line(c.String()))
	}
	return b.String()
}

// sightings are what looks at a deployment have found so far.
type sightings struct {
	before, sure []cycle
	at           time.Time // of the look that before is of
}

// see notes a look's cycles: in the standing those that another look has found, too, a while
// before. again says that there are more, for another look to decide.
func (x *sightings) see(v *standing, now time.Time) (again bool) {
	found := deadlocks(v)
	if now.Sub(x.at) >= betweenSights {
		x.sure = confirmed(x.before, found)
		x.before, x.at = found, now
	} else {
		x.sure = confirmed(x.sure, found)
	}
	v.cycles = x.sure
	return len(found) > len(x.sure)
}

// lookForCycles looks a second time where the first look has cycles.
func (s *session) lookForCycles(ctx context.Context, v *standing) (*standing, error) {
	var seen sightings
	if !seen.see(v, time.Now()) {
		return v, nil
	}
	select {
	case <-time.After(betweenSights):
	case <-ctx.Done():
		return nil, interrupted()
	}
	now, err := s.lookAgain(ctx, v.plan)
	if err == nil {
		seen.see(now, time.Now())
	}
	return now, err
}
