package simulationtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// In a case of superseding, changes of the plan come in a burst, one over another, while hooks are
// slow and agents are killed in them. What has not begun runs as in the newest; what has is
// finished; and at rest all rules for roles that follow each other hold.

// NewSuperseding creates the case of a seed in which changes overtake changes.
func NewSuperseding(seed uint64) Case {
	c := NewFollowing(seed)
	r := rand.New(rand.NewPCG(seed, 40))
	g := mishaps{r}
	c.Program.Slow = true
	c.Faults.Destroy = 0
	if c.Faults.Updates == nil {
		c.Faults.Updates = Updates{{At: max(c.Faults.Apply, c.Faults.Again) + 60*time.Second}}
	}
	last := c.Faults.Updates[len(c.Faults.Updates)-1]
	at := max(last.At, last.Again)
	for range 2 + r.IntN(4) {
		u := Update{At: at + g.within(8*time.Second)}
		if at = u.At; g.perhaps(0.2) {
			u.Cut, u.Again = 1+r.IntN(30), u.At+g.within(5*time.Second)
			at = u.Again
		}
		c.Faults.Updates = append(c.Faults.Updates, u)
	}
	c.Faults.name()
	return c
}

// workOf is how long a hook works.
func (w *world) workOf(key contract.RoleKey, version int) time.Duration {
	most := 10 * time.Second
	if w.program.Slow {
		most = time.Minute
	}
	return time.Duration(w.dice.roll("work", string(key), fmt.Sprint(version)) % uint64(most))
}

// published records that a version of the plan is published, as far as it concerns each role.
func (w *world) published(p *contract.Plan) {
	now := w.cluster.now()
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	for _, s := range p.Servers {
		for _, r := range s.Roles {
			var of made
			_ = json.Unmarshal(r.Source, &of)
			key := s.Path.Role(r.Name)
			w.history.newest[key] = append(w.history.newest[key], standsSince{of.Version, now})
		}
	}
}

// offer records that an operator begins to publish a plan. An agent may answer to it, without a run, before it
// is replaced.
func (h *history) offer(p *contract.Plan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for server, role := range p.EachRole() {
		var of made
		_ = json.Unmarshal(role.Source, &of)
		h.offered[server.Path.Role(role.Name)] = of.Version
		for machine := range h.tried {
			if strings.HasSuffix(machine, " "+role.Name) && strings.HasPrefix(machine, string(server.Path)+"#") {
				h.tried[machine] = append(h.tried[machine], of.Version)
			}
		}
	}
}

// standsSince is a version of a role, and since when it was surely published.
type standsSince struct {
	version int
	since   time.Duration
}

// superseded records that a hook starts for an outdated version. It may, as long as its agent
// cannot know: a session's replica is behind, and a machine cut off, for so long at most.
func (h *history) superseded(p *process, key contract.RoleKey, version int) {
	h.mu.Lock()
	all := slices.Clone(h.newest[key])
	h.mu.Unlock()
	now := h.world.cluster.now()
	own := -1
	for i, x := range all {
		if x.version == version {
			own = i
		}
	}
	if own < 0 || own == len(all)-1 {
		return // its change is still being published, or is the last
	}
	if h.count("hooks that start for what is superseded"); now-all[own+1].since > unknown {
		h.violate("the hook of %s of %v starts for a change that was superseded %v ago", key, p, now-all[own+1].since)
	}
}

// overtaken counts hooks that end after their version was superseded.
func (h *history) overtaken(key contract.RoleKey, version int) {
	h.mu.Lock()
	all := h.newest[key]
	is := len(all) > 0 && all[len(all)-1].version != version
	h.mu.Unlock()
	if is {
		h.count("hooks that were superseded while they ran")
	}
}

// unknown is how long an agent may be unaware of a change.
const unknown = 2 * time.Minute
