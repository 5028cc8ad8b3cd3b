package simulationtest

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// In a case of kills, agents and relays are killed at writes: before one, or when it was done but
// not yet acknowledged; an agent at those to the coordinator and to its journal alike. What changes
// meanwhile is what another case changes, so all that holds there has to hold.

// NewKills creates the case of a seed in which agents and relays are killed at their writes.
func NewKills(seed uint64) Case {
	c := newChanging(seed, NewJoining)
	g := mishaps{rand.New(rand.NewPCG(seed, 80))}
	for i := range c.Faults.Machines {
		m := &c.Faults.Machines[i]
		m.Ends = nil
		for g.perhaps(0.8) && len(m.Ends) < 6 {
			m.Ends = append(m.Ends, g.atWrite())
		}
	}
	if j := c.Program.Joining; j != nil {
		for g.perhaps(0.9) && len(j.Kills) < 8 {
			j.Kills = append(j.Kills, 1+g.IntN(40))
		}
	}
	return c
}

// newChanging creates a case of one of four kinds, in which something changes.
func newChanging(seed uint64, fourth func(uint64) Case) Case {
	return [...]func(uint64) Case{NewTogether, NewFollowing, NewSuperseding, fourth}[seed%4](seed)
}

// atWrite ends a process at a write: often an early one, so that the next process begins with what
// is half done.
func (g mishaps) atWrite() End {
	most := 60
	if g.perhaps(0.5) {
		most = 12
	}
	return End{Write: 1 + g.IntN(most), Taken: g.perhaps(0.5), Power: g.perhaps(0.5), Down: g.within(5 * time.Second)}
}

// write performs a process's write, unless the process ends there, before or after.
func (p *process) write(what func() error) error {
	p.mu.Lock()
	p.writes++
	last := p.writes == p.end.Write
	p.mu.Unlock()
	if last && !p.end.Taken {
		p.stop()
	}
	if isClosed(p.dead) {
		return errDead
	}
	err := what()
	if last && p.end.Taken {
		p.stop()
	}
	if isClosed(p.dead) {
		return errDead
	}
	return err
}

// wentBackLately reports whether Heat has gone back to a server's machine so recently that an
// answer from before, arriving late, may have been the last one.
func (w *world) wentBackLately(server contract.ServerPath, at time.Duration) bool {
	return slices.ContainsFunc(w.Faults.Machines, func(m Machine) bool {
		return m.Server == server && m.Undone > 0 && m.Undone <= at && at-m.Undone < latestAnswer+latestWrite
	})
}

// judgeRelays checks all that relays have written of members and values: no member is gone that
// Heat has, and no value goes back to one that Heat supplied before.
func (w *world) judgeRelays() {
	if w.program.Joining == nil {
		return
	}
	c := w.cluster
	c.mu.Lock()
	members, values := c.nodes[deployment.Members(groupName)], c.nodes[deployment.HeatValues(follower)]
	c.mu.Unlock()
	for _, x := range members {
		var said protocol.MembersRecord
		_ = json.Unmarshal(x.data, &said)
		at := w.cluster.at(x)
		for n := range w.program.Joining.Members {
			path := memberPath(n)
			if is := w.newestInHeat(path, at); is != nil && is.Undone == 0 && (is.Gone == 0 || is.Gone > at) && said.Gone[path] > 0 && said.Gone[path] == w.numberOf(is) && !w.wentBackLately(path, at) {
				w.history.violate("at %v a relay says that %v is gone, and Heat has it", at, is)
			}
		}
	}
	last, before := 0, protocol.HeatValues{}
	for _, x := range values {
		var said protocol.HeatValues
		_ = json.Unmarshal(x.data, &said)
		if said.Values == nil {
			continue
		}
		if said.Number < before.Number {
			w.history.violate("a relay writes what Heat gives with number %d after %d", said.Number, before.Number)
		}
		at := w.cluster.at(x)
		for before = said; string(w.program.Joining.levelOf(last)) != string(said.Values["level"]); last++ {
			if last >= len(w.program.Joining.Levels) || w.program.Joining.Levels[last] > at {
				w.history.violate("at %v a relay writes level %s, which Heat does not give any more", at, said.Values["level"])
				return
			}
		}
		w.history.count("values that relays have carried")
	}
}

// at is when a node was changed.
func (c *cluster) at(x change) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.commits[x.commit].at.Sub(c.begin)
}

// numberOf is the incarnation of a machine of the plan; 0 is none.
func (w *world) numberOf(of *Machine) int {
	for _, m := range w.machines {
		if m.Machine == of {
			return w.history.number(m)
		}
	}
	return 0
}
