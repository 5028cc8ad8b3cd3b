package waits

import (
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/rings"
)

// Verdict is how certain a deadlock is.
type Verdict uint8

// The verdicts.
const (
	// Certain: no order of steps and no way of any fork avoids it.
	Certain Verdict = iota
	// Conditional: it is certain where one condition holds.
	Conditional
	// Possible: some ways of the forks avoid it, others do not.
	Possible
	// Timed: a read of the cycle times out, so that its process fails.
	Timed
)

func (v Verdict) String() string {
	return [...]string{"certain", "conditional", "possible", "timed"}[v]
}

// Deadlock is a cycle of processes that wait for each other.
type Deadlock struct {
	Verdict Verdict
	Cycle   []Wait
	// Key and Way are the choice that makes a conditional deadlock certain.
	Key string
	Way int
	// Processes are all that wait for each other, the cycle's included.
	Processes []int
	// Behind is how many further processes wait for one of them.
	Behind int
}

// Decide finds the deadlocks of a net: one for each group of processes that wait for
// each other, with its shortest cycle.
func Decide(n *Net) []Deadlock {
	first := execute(n, earliest(n), nothing, false)
	if !first.anyHung() {
		return nil
	}
	d := &decider{net: n, broken: make([]bool, len(n.Cells))}
	program := latest(n)
	d.certain(mayFail(n, program, true).relaxed(), Certain)
	d.certain(mayFail(n, program, false).relaxed(), Timed)
	d.rest()
	return d.found
}

type decider struct {
	net   *Net
	found []Deadlock
	// broken are the cells of processes whose deadlock is found: assumed to be written,
	// to find other deadlocks.
	broken []bool
	// whole and owner are of the whole net, built when needed.
	whole *failable
	owner map[CellID]int
}

func (d *decider) outside(c CellID) bool { return d.broken[c] }

func (d *decider) breakOpen(processes []int) {
	for _, p := range processes {
		for _, cell := range d.net.Processes[p].owns() {
			d.broken[cell] = true
		}
	}
}

// certain reports the knots of a program that blocks less than any other.
func (d *decider) certain(program straight, verdict Verdict) {
	r := execute(d.net, program, d.outside, false)
	if !r.anyHung() {
		return
	}
	t := newTangle(r)
	var open []int
	first := len(d.found)
	for _, knot := range t.knots() {
		found := Deadlock{Verdict: verdict, Cycle: t.waits(t.shortest(knot)), Processes: t.processesOf(knot)}
		if verdict == Timed && !isTimed(found.Cycle) {
			found.Verdict = Possible // another read may time out first
		}
		d.found = append(d.found, found)
		open = append(open, found.Processes...)
	}
	d.breakOpen(open)
	if len(d.found) > first {
		d.found[first].Behind = r.behindThem(open)
	}
}

// behindThem counts the other processes that hang.
func (r *run) behindThem(those []int) int {
	is := lists.Set(those)
	count := 0
	for p := range r.program {
		if r.hung(p) && !is[p] {
			count++
		}
	}
	return count
}

func (t *tangle) processesOf(knot []int32) []int {
	return sorted(lists.Map(knot, func(n int32) int { return int(t.process[n]) }))
}

// rest decides what the two bounds leave open.
func (d *decider) rest() {
	r := execute(d.net, earliest(d.net), d.outside, false)
	if !r.anyHung() {
		return
	}
	t := newTangle(r)
	for _, group := range d.groups(t, t.knots()) {
		ways := d.region(group.processes)
		verdict := ways.decide()
		if verdict == nil { // too many ways to try
			w := t.waits(t.shortest(group.knot))
			verdict = &Deadlock{Verdict: Possible, Cycle: w}
			if isTimed(w) {
				verdict.Verdict = Timed
			}
		}
		if verdict.Cycle != nil {
			verdict.Processes = group.processes
			d.found = append(d.found, *verdict)
		}
	}
}

// group are knots that must be decided together.
type group struct {
	processes []int
	knot      []int32 // the first one
}

// groups joins knots that share a process or a condition.
func (d *decider) groups(t *tangle, knots [][]int32) (groups []group) {
	all, shares := make([][]int, len(knots)), map[any][]any{} // knots have numbers below zero
	for i, knot := range knots {
		all[i] = d.withFailing(t.processesOf(knot))
		join := func(with any) { shares[-i-1], shares[with] = append(shares[-i-1], with), append(shares[with], -i-1) }
		for _, p := range all[i] {
			join(p)
			for _, key := range d.keysOf(p) {
				join(key)
			}
		}
	}
	ring := rings.Of(slices.Collect(maps.Keys(shares)), func(x any) []any { return shares[x] })
	index := map[int]int{}
	for i, knot := range knots {
		at, known := index[ring[-i-1]]
		if !known {
			at = len(groups)
			index[ring[-i-1]] = at
			groups = append(groups, group{knot: knot})
		}
		groups[at].processes = sorted(append(groups[at].processes, all[i]...))
	}
	return groups
}

// maxProcesses bounds how many processes are analysed together to learn whether what
// they wait for may fail.
const maxProcesses = 64

// withFailing adds to processes those whose failure reaches them: it decides whether they
// block.
func (d *decider) withFailing(processes []int) []int {
	if d.whole == nil {
		d.whole = mayFail(d.net, latest(d.net), true)
		d.owner = d.net.Owners()
	}
	in := lists.Set(processes)
	all := append([]int{}, processes...)
	for i := 0; i < len(all) && len(all) <= maxProcesses; i++ {
		for _, t := range d.net.Processes[all[i]].Tasks {
			walk(t.Body, func(s *Step) {
				if s.Op != Read || s.Tolerant || !d.whole.cells[s.Cell] || d.broken[s.Cell] {
					return
				}
				if p, known := d.owner[s.Cell]; known && !in[p] {
					in[p] = true
					all = append(all, p)
				}
			})
		}
	}
	return sorted(all)
}

// sorted puts processes in order, each once.
func sorted(processes []int) []int {
	slices.Sort(processes)
	return slices.Compact(processes)
}

// keysOf are the conditions that decide choices of a process.
func (d *decider) keysOf(process int) (keys []string) {
	for _, t := range d.net.Processes[process].Tasks {
		walk(t.Body, func(s *Step) {
			if s.Key != "" {
				keys = append(keys, s.Key)
			}
		})
	}
	return keys
}
