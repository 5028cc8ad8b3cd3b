package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A dependency cycle at run time: roles that wait for each other, so that none of them can proceed.
// It is found in what the agents report. One snapshot may mix several moments: a value that has
// just been written is not seen yet, while a role already reads the next one. So a cycle counts
// when a second snapshot, a moment later, has the same waits.

// Step is one wait of a cycle.
type Step struct {
	Role *Role         // that waits
	Wait protocol.Wait // for which value; without a cell, for its turn on its server
	On   *Role         // that has to write it, or to end
}

// Cycle is a dependency cycle: each step is for the role of the next, the last for the first's.
type Cycle []Step

// Deadlocks are the dependency cycles of a snapshot. A role is in one only if each of its reads
// waits for a role that cannot proceed either: another read might still let it write what is
// awaited. A read with a timeout ends by itself.
func Deadlocks(v *Status) []Cycle {
	waits := map[*Role][]Step{}
	readers := map[*Role][]*Role{}
	var order, free []*Role
	for r := range v.Roles() {
		order = append(order, r)
		steps, stuck := waitsOf(v, r)
		if !stuck {
			free = append(free, r)
			continue
		}
		waits[r] = steps
		for _, step := range steps {
			readers[step.On] = append(readers[step.On], r)
		}
	}
	for len(free) > 0 { // roles that wait for one that can proceed can proceed
		r := free[len(free)-1]
		free = free[:len(free)-1]
		for _, reader := range readers[r] {
			if _, stuck := waits[reader]; stuck {
				delete(waits, reader)
				free = append(free, reader)
			}
		}
	}
	var cycles []Cycle
	seen := map[*Role]int{} // the walk in which a role was met
	for n, r := range order {
		var walk Cycle
		for waits[r] != nil && seen[r] == 0 {
			seen[r] = n + 1
			walk = append(walk, waits[r][0])
			r = waits[r][0].On
		}
		if len(walk) > 0 && seen[r] == n+1 {
			at := slices.IndexFunc(walk, func(s Step) bool { return s.Role == r })
			cycles = append(cycles, walk[at:])
		}
	}
	return cycles
}

// waitsOf are the waits of a role; stuck says that it does nothing but wait for roles.
func waitsOf(v *Status, r *Role) (steps []Step, stuck bool) {
	if !r.Server.Came() || !r.Server.Alive {
		return nil, false
	}
	if r.Status == protocol.RolePending && !r.IsBlocked() {
		for _, earlier := range r.Server.Roles[:r.Index] {
			if earlier.Status != protocol.RoleDone {
				return []Step{{Role: r, On: earlier}}, true
			}
		}
	}
	if !r.IsBlocked() {
		return nil, false
	}
	inputs := r.Plan.Inputs
	for _, w := range r.Blocked {
		c := v.Cells[w.Cell]
		on := v.Role(c.Server, c.Role)
		timed := slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.Name == w.Input && in.Timeout > 0 })
		if on == nil || timed || v.Cell(w.Cell).State == protocol.Valued || v.Cell(w.Cell).State == protocol.Failed {
			return nil, false
		}
		steps = append(steps, Step{r, w, on})
	}
	return steps, true
}

// BetweenLooks is the time between the first snapshot and the second.
const BetweenLooks = time.Second

// confirmed are the cycles that were in an earlier snapshot, too.
func confirmed(before, now []Cycle) []Cycle {
	known := lists.Set(lists.Map(before, Cycle.Identity))
	return slices.DeleteFunc(slices.Clone(now), func(c Cycle) bool { return !known[c.Identity()] })
}

// Identity is the same for the same waits of the same runs of the roles.
func (c Cycle) Identity() string {
	var b strings.Builder
	for _, s := range c {
		fmt.Fprintf(&b, "%s %d %d %s %d\n", s.Role.Key(), s.Role.Server.Incarnation.Number, s.Role.Attempt, s.Wait.Cell, s.Wait.Since.UnixNano())
	}
	return b.String()
}

// subjects are the roles of a cycle.
func (c Cycle) subjects() []string {
	return lists.Map(c, func(s Step) string { return string(s.Role.Key()) })
}

// String describes all steps of a cycle.
func (c Cycle) String() string { return strings.Join(lists.Map(c, Step.String), ", ") }

func (s Step) String() string {
	if s.Wait.Cell == "" {
		return fmt.Sprintf("%s comes after %s on its server", s.Role.Key(), s.On.Key())
	}
	return fmt.Sprintf("%s waits for %s", s.Role.Key(), Dependence{Cell: s.Wait.Cell, Input: s.Wait.Input, At: s.Wait.At})
}

// Subjects are the roles of cycles, for JSON.
func Subjects(cycles []Cycle) [][]string {
	return lists.Map(cycles, Cycle.subjects)
}

// Looks are the cycles found in a deployment's snapshots so far.
type Looks struct {
	before, sure []Cycle
	at           time.Time // of the snapshot of before
}

// See sets v.Cycles to the cycles that were in an earlier snapshot, too. again says that there are
// more, for another snapshot to confirm.
func (x *Looks) See(v *Status, now time.Time) (again bool) {
	found := Deadlocks(v)
	if now.Sub(x.at) >= BetweenLooks {
		x.sure = confirmed(x.before, found)
		x.before, x.at = found, now
	} else {
		x.sure = confirmed(x.sure, found)
	}
	v.Cycles = x.sure
	return len(found) > len(x.sure)
}
