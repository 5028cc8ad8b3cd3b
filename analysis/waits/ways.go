package waits

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/lists"
)

// ways tries all outcomes of the forks of a few processes.
type ways struct {
	net *Net // of these processes only
	// processes are their numbers in the whole net.
	processes []int
	// cells are the numbers of these cells in the whole net; the first represents all
	// that other processes write.
	cells   []CellID
	choices []choice
	index   map[*Step]int
	total   int
	size    int
}

// choice is a fork, or all forks of one key.
type choice struct {
	ways int
	key  string
}

// maxWork bounds how many steps are run to decide one group.
const maxWork = 1 << 20

// region cuts processes out of a net. Cells of others are already written; where they may
// be missing, a reader may fail.
func (d *decider) region(processes []int) *ways {
	w := &ways{net: &Net{}, processes: processes, cells: []CellID{-1}, index: map[*Step]int{}, total: 1}
	c := cutter{ways: w, inside: map[CellID]CellID{}}
	for _, p := range processes {
		for _, cell := range d.net.Processes[p].owns() {
			c.inside[cell] = CellID(len(w.cells))
			w.cells = append(w.cells, cell)
		}
	}
	if d.whole != nil {
		c.mayFail = d.whole.cells
	}
	w.net.Cells = make([]string, len(w.cells))
	keys := map[string]int{}
	for _, p := range processes {
		process := d.net.Processes[p]
		tasks := make([]Task, len(process.Tasks))
		for i, t := range process.Tasks {
			t.Body = c.steps(t.Body)
			t.Owns = c.owned(t.Owns)
			w.count(t.Body, keys)
			t.Completion = c.inside[t.Completion]
			tasks[i] = t
		}
		process.Tasks = tasks
		w.net.Processes = append(w.net.Processes, process)
	}
	return w
}

// cutter copies steps into a smaller net.
type cutter struct {
	*ways
	mayFail []bool // of the whole net's cells; nil if it does not matter
	inside  map[CellID]CellID
}

func (c *cutter) owned(cells []CellID) []CellID {
	return lists.Map(cells, func(cell CellID) CellID { return c.inside[cell] })
}

// steps turns each read that may fail by itself into a fork.
func (c *cutter) steps(steps []Step) []Step {
	out := make([]Step, 0, len(steps))
	for _, s := range steps {
		whole := s.Cell
		s.Cell = c.inside[whole]
		switch {
		case s.Op == Choice:
			s.Ways = lists.Map(s.Ways, c.steps)
		case s.Op == Read && s.Timeout > 0:
			s = Step{Op: Choice, At: s.At, Timeout: s.Timeout, Ways: [][]Step{{s}, {{Op: fail}}}}
		case s.Op == Read && s.Cell == 0 && !s.Tolerant && c.mayFail != nil && c.mayFail[whole]:
			s = Step{Op: Choice, At: s.At, Ways: [][]Step{{s}, {{Op: fail}}}}
		}
		out = append(out, s)
		c.size++
	}
	return out
}

func (w *ways) count(steps []Step, keys map[string]int) {
	for i := range steps {
		s := &steps[i]
		if s.Op != Choice {
			continue
		}
		if at, known := keys[s.Key]; s.Key != "" && known {
			w.index[s] = at
		} else {
			w.index[s] = len(w.choices)
			if s.Key != "" {
				keys[s.Key] = len(w.choices)
			}
			w.choices = append(w.choices, choice{ways: len(s.Ways), key: s.Key})
			if w.total *= len(s.Ways); w.total*max(1, w.size) > maxWork {
				w.total = maxWork
			}
		}
		for _, way := range s.Ways {
			w.count(way, keys)
		}
	}
}

// decide tries all outcomes; nil if they are too many, and a deadlock without a cycle if
// none blocks.
func (w *ways) decide() *Deadlock {
	if w.total*max(1, w.size) > maxWork {
		return nil
	}
	taken := make([]int, len(w.choices))
	hangs, passes := 0, 0
	var worst []Wait
	worstTimed := true
	passing := make([]map[int]bool, len(w.choices)) // ways of keyed choices that pass
	for i := range passing {
		passing[i] = map[int]bool{}
	}
	for {
		if cycle := w.outcome(taken); cycle != nil {
			hangs++
			timed := isTimed(cycle)
			if worst == nil || worstTimed && !timed || worstTimed == timed && len(cycle) < len(worst) {
				worst, worstTimed = cycle, timed
			}
		} else {
			passes++
			for i := range w.choices {
				passing[i][taken[i]] = true
			}
		}
		if !w.advance(taken) {
			break
		}
	}
	switch {
	case hangs == 0:
		return &Deadlock{}
	case passes == 0:
		return &Deadlock{Verdict: Certain, Cycle: worst}
	case worstTimed:
		return &Deadlock{Verdict: Timed, Cycle: worst}
	}
	for i, c := range w.choices {
		for way := range c.ways {
			if c.key != "" && !passing[i][way] {
				return &Deadlock{Verdict: Conditional, Cycle: worst, Key: c.key, Way: way}
			}
		}
	}
	return &Deadlock{Verdict: Possible, Cycle: worst}
}

func isTimed(cycle []Wait) bool {
	return slices.ContainsFunc(cycle, func(w Wait) bool { return w.Read.Timeout > 0 })
}

// advance selects the next outcome, like an odometer.
func (w *ways) advance(taken []int) bool {
	for i := range taken {
		if taken[i]++; taken[i] < w.choices[i].ways {
			return true
		}
		taken[i] = 0
	}
	return false
}

// outcome runs one outcome; nil if it terminates.
func (w *ways) outcome(taken []int) []Wait {
	program := make(straight, len(w.net.Processes))
	for p := range w.net.Processes {
		for t := range w.net.Processes[p].Tasks {
			program[p] = w.straighten(program[p], w.net.Processes[p].Tasks[t].Body, int32(t), taken)
			program[p] = append(program[p], operation{op: taskEnd, task: int32(t)})
		}
	}
	r := execute(w.net, program, func(c CellID) bool { return c == 0 }, true)
	if !r.anyHung() {
		return nil
	}
	t := newTangle(r)
	var best []int32
	for _, knot := range t.knots() {
		if cycle := t.shortest(knot); best == nil || len(cycle) < len(best) {
			best = cycle
		}
	}
	waits := t.waits(best)
	for i := range waits {
		waits[i].Process = w.processes[waits[i].Process]
		waits[i].Cell = w.cells[waits[i].Cell]
	}
	return waits
}

func (w *ways) straighten(ops []operation, steps []Step, task int32, taken []int) []operation {
	for i := range steps {
		s := &steps[i]
		if s.Op == Choice {
			if way := taken[w.index[s]]; way < len(s.Ways) {
				ops = w.straighten(ops, s.Ways[way], task, taken)
			}
			continue
		}
		ops = append(ops, operation{op: s.Op, cell: s.Cell, task: task, step: s})
	}
	return ops
}
