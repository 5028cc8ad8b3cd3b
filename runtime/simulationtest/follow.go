package simulationtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// In a case of following, roles follow what they read, changes of the plan change what they write,
// and a value records what it was computed from. So it shows whether, at rest, all is computed from
// what is newest, and whether a run mixed two changes.

// origin is what a value was computed from, of what was followed: a version of a role, on a
// machine.
type origin struct {
	Cell contract.CellName          `json:"cell"`
	Of   map[contract.Source]string `json:"of"`
}

// NewFollowing creates the case of a seed in which roles follow each other.
func NewFollowing(seed uint64) Case {
	r := rand.New(rand.NewPCG(seed, 1))
	c := Case{Seed: seed, Program: Generate(r, Options{Timed: true})}
	c.Program.addWatches(rand.New(rand.NewPCG(seed, 5)))
	c.Faults = GenerateFaults(r, c.Program, false)
	for u := uint64(0); c.Faults.Updates == nil && c.Faults.Destroy == 0 && u < 20; u++ {
		c.Faults.addUpdates(rand.New(rand.NewPCG(seed, 6+u)))
	}
	c.Faults.addFull(rand.New(rand.NewPCG(seed, 9)))
	c.Faults.addRebuilds(rand.New(rand.NewPCG(seed, 10)))
	c.addSealed(rand.New(rand.NewPCG(seed, 4)))
	c.Faults.name()
	return c
}

// addWatches makes roles follow most of what earlier ones write.
func (p *Program) addWatches(r *rand.Rand) {
	p.Follow = true
	g := &generator{Rand: r, program: p}
	writers := map[contract.CellName]contract.RoleKey{}
	for i := range p.Plan.Servers {
		s := &p.Plan.Servers[i]
		for k := range s.Roles {
			role := &s.Roles[k]
			g.link(s, role)
			for n := range role.Inputs {
				in := &role.Inputs[n]
				known := !slices.ContainsFunc(in.Reads, func(c contract.CellName) bool { return writers[c] == "" })
				in.Watch = known && g.perhaps(0.8)
			}
			behaviour := p.Roles[s.Path.Role(role.Name)]
			// A value records all that its role followed: the reads come first.
			slices.SortStableFunc(behaviour.Steps, func(a, b Step) int { return rank(a) - rank(b) })
			behaviour.Steps = slices.DeleteFunc(behaviour.Steps, func(s Step) bool { return s.Op == Other })
			for _, o := range role.Outputs {
				writers[o.Cell] = s.Path.Role(role.Name)
				g.cells = append(g.cells, contract.CellRef{Cell: o.Cell, Server: s.Path})
			}
		}
	}
	p.Plan = withRoles(p.Plan, func(*contract.Server, *contract.Role) {})
	follow(&p.Plan, writers)
}

// link makes a role write something, read more of what earlier ones write, and mostly succeed: so
// there are many paths from one to another.
func (g *generator) link(s *contract.Server, r *contract.Role) {
	behaviour := g.program.Roles[s.Path.Role(r.Name)]
	if g.perhaps(0.8) {
		behaviour.Exit, behaviour.Stubborn = 0, false
		behaviour.Steps = slices.DeleteFunc(behaviour.Steps, func(s Step) bool { return s.Op == Hang })
		for _, o := range r.Outputs {
			behaviour.Steps = append(behaviour.Steps, Step{Op: Write, Name: o.Name})
		}
	}
	if len(r.Outputs) == 0 && g.perhaps(0.8) {
		cell := contract.CellName(s.Path.Role(r.Name) + ":o0")
		r.Outputs = append(r.Outputs, contract.Output{Name: "o0", Cell: cell, Type: contract.String, At: r.At})
		g.program.Plan.Cells = append(g.program.Plan.Cells, contract.Cell{Name: cell, Server: s.Path, Role: r.Name})
		behaviour.Steps = append(behaviour.Steps, Step{Op: Write, Name: "o0"})
	}
	for n := range g.IntN(4) {
		if len(g.cells) == 0 {
			break
		}
		c, name := g.cells[g.IntN(len(g.cells))], fmt.Sprintf("more%d", n)
		r.Inputs = append(r.Inputs, contract.Input{Name: name, Time: contract.Run, At: map[string]contract.Position{"": r.At}, IfDown: float64(5 + g.IntN(40)),
			Reads: []contract.CellName{c.Cell}, Expr: json.RawMessage(fmt.Sprintf(`{"$cell":%q}`, c.Cell))})
		behaviour.Steps = append(behaviour.Steps, Step{Op: Read, Name: name})
	}
	g.finish()
}

func rank(s Step) int {
	switch {
	case s.Eager:
		return 0
	case s.Op == Read || s.Op == Both:
		return 1
	}
	return 2
}

// follow writes into a plan what its roles follow, as the compiler does (analysis/follow), by
// another algorithm: sources are found from each role's inputs, again and again.
func follow(p *contract.Plan, writers map[contract.CellName]contract.RoleKey) {
	sources := map[contract.RoleKey]map[contract.Source]bool{}
	of := func(c contract.CellName) map[contract.Source]bool { return sources[writers[c]] }
	carries := map[contract.RoleKey]map[contract.Source]bool{}
	for i := range p.Servers {
		s := &p.Servers[i]
		for k := range s.Roles {
			r, key := &s.Roles[k], s.Path.Role(s.Roles[k].Name)
			sources[key], carries[key] = map[contract.Source]bool{contract.Source(key): true}, map[contract.Source]bool{}
			watched, needed, count := map[contract.CellName]bool{}, map[contract.CellName]bool{}, map[contract.Source][]contract.CellName{}
			var cells []contract.CellName
			for _, in := range r.Inputs {
				for _, c := range in.Reads {
					if !slices.Contains(cells, c) {
						cells = append(cells, c)
						for source := range of(c) {
							count[source] = append(count[source], c)
						}
					}
					watched[c] = watched[c] || in.Watch
					needed[c] = needed[c] || in.Default == nil && !in.Optional
					if in.Watch {
						maps.Copy(sources[key], of(c))
					}
				}
			}
			for _, c := range cells {
				f := contract.Follow{Cell: c, Watch: watched[c], Optional: !needed[c]}
				for source, from := range count {
					if len(from) > 1 && slices.Contains(from, c) && slices.ContainsFunc(from, func(c contract.CellName) bool { return watched[c] }) {
						f.Sources = append(f.Sources, source)
						carries[writers[c]][source] = true
					}
				}
				if slices.Sort(f.Sources); f.Watch || f.Sources != nil {
					r.Follows = append(r.Follows, f)
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, s := range p.Servers {
			for _, r := range s.Roles {
				for source := range carries[s.Path.Role(r.Name)] {
					for _, f := range r.Follows {
						if from := writers[f.Cell]; f.Watch && of(f.Cell)[source] && !carries[from][source] {
							carries[from][source], changed = true, true
						}
					}
				}
			}
		}
	}
	for i := range p.Servers {
		s := &p.Servers[i]
		for k := range s.Roles {
			s.Roles[k].Carries = slices.Sorted(maps.Keys(carries[s.Path.Role(s.Roles[k].Name)]))
		}
	}
}

// made is the value of an output, as a run computes it from what it has read.
func (r *run) made(cell contract.CellName) string {
	if !r.process.world.program.Follow {
		return r.process.machine.value(cell)
	}
	o := origin{Cell: cell, Of: map[contract.Source]string{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := fmt.Sprintf("%d on %v", r.of.Version, r.process.machine)
	for _, in := range r.job.Role.Inputs {
		if in.Watch {
			for _, read := range origins(r.read[in.Name]) {
				for source, version := range read.Of {
					if before := o.Of[source]; before != "" && before != version && !r.again {
						r.process.world.history.hasHalf(source, r.key, own)
					}
					o.Of[source] = version
				}
			}
		}
	}
	o.Of[contract.Source(r.key)] = own
	text, _ := json.Marshal(o)
	return string(text)
}

// origins are the values of an input.
func origins(value string) []origin {
	var texts []string
	if json.Unmarshal([]byte(value), &texts) != nil {
		var text string
		if json.Unmarshal([]byte(value), &text) != nil {
			return nil
		}
		texts = []string{text}
	}
	var all []origin
	for _, text := range texts {
		var o origin
		if json.Unmarshal([]byte(text), &o) == nil && o.Of != nil {
			all = append(all, o)
		}
	}
	return all
}

// renew plays a run that brings a role up to date: it reads all and writes all.
func (t tool) renew(ctx context.Context, job *driver.Job, key contract.RoleKey, of made) error {
	r := &run{process: t.process, job: job, key: key, role: t.process.world.program.Roles[key], of: of, again: true, read: map[string]string{}}
	for _, in := range job.Role.Inputs {
		value, err := job.Values.Read(ctx, in.Name)
		if err != nil {
			return err
		}
		r.read[in.Name] = string(value)
	}
	t.process.world.history.renewed(r)
	for _, o := range job.Role.Outputs {
		text, err := json.Marshal(r.made(o.Cell))
		if err == nil {
			err = job.Values.Write(ctx, o.Name, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// saw records what a role has read. The run's mutex is held.
func (h *history) saw(r *run, input string) {
	key := fmt.Sprintf("%v %s", r.process.machine, r.job.Role.Name)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inputs[key] == nil {
		h.inputs[key] = map[string]string{}
	}
	h.inputs[key][input] = r.read[input]
}

// renewed records with what a role was brought up to date: never with parts of a change, and never
// twice with the same.
func (h *history) renewed(r *run) {
	seen := map[contract.Source]origin{}
	state := fmt.Sprint(r.of.Version)
	for _, in := range r.job.Role.Inputs {
		counts := slices.ContainsFunc(r.job.Role.Follows, func(f contract.Follow) bool { return slices.Contains(in.Reads, f.Cell) })
		if !counts {
			continue
		}
		state += " " + r.read[in.Name]
		for _, o := range origins(r.read[in.Name]) {
			for source, version := range o.Of {
				joined := slices.ContainsFunc(r.job.Role.Follows, func(f contract.Follow) bool { return f.Cell == o.Cell && slices.Contains(f.Sources, source) })
				before, had := seen[source]
				if joined && had && before.Of[source] != version && !h.isHalf(source, before) && !h.isHalf(source, o) {
					h.mixed(r, source, before.Of[source], version)
				}
				if joined {
					seen[source] = o
				}
			}
		}
	}
	h.count("runs for what is followed, or for a change")
	key := fmt.Sprintf("%v %s", r.process.machine, r.key)
	h.mu.Lock()
	before := h.states[key]
	h.states[key] = state
	h.tried[fmt.Sprintf("%v %s", r.process.machine, r.job.Role.Name)] = []int{r.of.Version, h.offered[r.key]}
	h.mu.Unlock()
	if before == state && !r.job.Role.Idempotent && !h.world.program.returns(h.world.Faults) {
		h.violate("%s of %v is brought up to date twice for %s", r.key, r.process, state)
	}
	for _, in := range r.job.Role.Inputs {
		h.saw(r, in.Name)
	}
}

// hasHalf records that a role has read two versions of a source in its first run: that does not wait
// for the rest of a change.
func (h *history) hasHalf(source contract.Source, of contract.RoleKey, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.halves[fmt.Sprintf("%s in %s %s", source, of, version)] = true
}

// isHalf reports whether a value was made, directly or not, by a first run that had two versions of a source.
func (h *history) isHalf(source contract.Source, value origin) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for of, version := range value.Of {
		if h.halves[fmt.Sprintf("%s in %s %s", source, of, version)] {
			return true
		}
	}
	return false
}

// mixed records a run that had two versions of one source. That is allowed while something that the
// role follows has failed: to a run that has another cause, an operator's change or a value that has
// nothing to do with the source, and to those after it.
func (h *history) mixed(r *run, source contract.Source, a, b string) {
	other, failed := h.unrelated(r, source), h.aFailure(r, source)
	h.mu.Lock()
	key := fmt.Sprintf("%v %s", r.process.machine, r.job.Role.Name)
	these := fmt.Sprintf("%s has %s and %s of %s", key, a, b, source)
	another := slices.ContainsFunc(h.tried[key], func(version int) bool { return version != r.of.Version })
	if failed && (other || another) {
		h.mixes[these] = true
	}
	allowed := h.mixes[these]
	h.mu.Unlock()
	if allowed {
		return
	}
	h.violate("%s of %v has two versions of %s: %s and %s", r.key, r.process, source, a, b)
}

// aFailure reports whether what a role follows of a source is not all of it, since a run has failed: one of what it
// follows, or of what that was made from, that derives from the source.
func (h *history) aFailure(r *run, source contract.Source) bool {
	writers := map[contract.RoleKey]*contract.Role{}
	for server, role := range h.world.lastPlan().EachRole() {
		writers[server.Path.Role(role.Name)] = role
	}
	c := h.world.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[contract.CellName]bool{}
	var look func(f contract.Follow) (derives, failed bool)
	look = func(f contract.Follow) (derives, failed bool) {
		writer, _, _ := strings.Cut(string(f.Cell), ":")
		of := writers[contract.RoleKey(writer)]
		derives = contract.Source(writer) == source || contract.Source(f.Cell) == source
		if !seen[f.Cell] && of != nil {
			seen[f.Cell] = true
			for _, up := range of.Follows {
				d, broken := look(up)
				derives, failed = derives || d, failed || broken
			}
			seen[f.Cell] = false
		}
		now := cell(c.state(deployment.Cell(contract.CellRef{Cell: f.Cell, Server: h.serverOf(f.Cell)}), len(c.commits)).data)
		return derives, failed || derives && now.Cause != nil
	}
	return slices.ContainsFunc(r.job.Role.Follows, func(f contract.Follow) bool {
		_, failed := look(f)
		return slices.Contains(f.Sources, source) && failed
	})
}

// unrelated reports whether a run has another value of something that it watches, which has no source
// in common with what derives from this one.
func (h *history) unrelated(r *run, source contract.Source) bool {
	role := &r.job.Role
	related := map[contract.Source]bool{}
	for _, f := range role.Follows {
		if slices.Contains(f.Sources, source) {
			for _, s := range f.Sources {
				related[s] = true
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.inputs[fmt.Sprintf("%v %s", r.process.machine, role.Name)]
	return slices.ContainsFunc(role.Inputs, func(in contract.Input) bool {
		was, had := before[in.Name]
		return in.Watch && had && was != r.read[in.Name] && !slices.ContainsFunc(role.Follows, func(f contract.Follow) bool {
			return slices.Contains(in.Reads, f.Cell) && slices.ContainsFunc(f.Sources, func(s contract.Source) bool { return related[s] })
		})
	})
}

// returns reports whether a change goes back to the previous plan, or to that of another operator:
// then a value may return, too.
func (p *Program) returns(f *Faults) bool {
	return len(f.Rivals) > 0 || slices.ContainsFunc(f.Updates, func(u Update) bool { return u.Back })
}
