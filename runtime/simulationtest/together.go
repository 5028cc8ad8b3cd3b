package simulationtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// In a case of changes together, each change of the plan changes many roles at once, of which some
// follow others, and the next one comes at rest. Nothing fails but roles. So each role runs at most
// once for each change.

// apart is the time between such changes: longer than all that one causes takes.
const apart = 20 * time.Minute

// NewTogether creates the case of a seed in which changes come one by one.
func NewTogether(seed uint64) Case {
	c := NewFollowing(seed)
	grows := len(c.Faults.Updates) > 0 && c.Faults.Updates[0].Grows
	r := rand.New(rand.NewPCG(seed, 70))
	c.Faults = GenerateFaults(r, c.Program, true)
	c.Faults.Token = time.Hour
	for n := range 2 + r.IntN(3) {
		c.Faults.Updates = append(c.Faults.Updates, Update{At: c.Faults.Apply + time.Duration(n+1)*apart})
	}
	c.Faults.Updates[0].Grows = grows
	c.addSecrets(rand.New(rand.NewPCG(seed, 90)))
	c.Faults.name()
	c.Program.OneByOne = true
	return c
}

// runsOnce records a run for a change: it is the role's only one, except after its agent was
// killed.
func (h *history) runsOnce(p *process, role contract.RoleKey, again bool) {
	if !h.world.program.OneByOne {
		return
	}
	change, now := 0, h.world.cluster.now()
	for _, u := range h.world.Faults.Updates {
		if u.At <= now {
			change++
		}
	}
	key := fmt.Sprintf("%s for change %d", role, change)
	h.mu.Lock()
	h.runs[key]++
	n := h.runs[key]
	h.mu.Unlock()
	if n > 1 && !(again && p.number > 0) {
		h.violate("%v runs %s for the %d. time", p, key, n)
	}
}
