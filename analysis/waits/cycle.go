package waits

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/rings"
)

// Wait is one link of a cycle: a process that reads a cell that the next one writes only
// after a read of its own.
type Wait struct {
	Process int
	Task    int
	Read    *Step
	Cell    CellID
	// Write is the step that writes the cell in the next process, WriteTask its task.
	Write     *Step // nil if no statement writes the cell
	WriteTask int
}

// tangle is the rest of a run that hangs, as a graph: each operation has an edge to the
// operation before it and, if it is a read, to the write that it waits for.
type tangle struct {
	run     *run
	start   []int // number of a process's first pending operation
	process []int32
	index   []int32
	writer  []int32 // of a read, the number of its write; -1
}

func newTangle(r *run) *tangle {
	t := &tangle{run: r, start: make([]int, len(r.program))}
	writers := map[CellID]int32{}
	for p, ops := range r.program {
		t.start[p] = len(t.process)
		for i := r.at[p]; i < len(ops); i++ {
			n := int32(len(t.process))
			t.process, t.index, t.writer = append(t.process, int32(p)), append(t.index, int32(i)), append(t.writer, -1)
			note := func(cell CellID) {
				if _, have := writers[cell]; !have && r.cells[cell] == empty {
					writers[cell] = n
				}
			}
			switch ops[i].op {
			case Write:
				note(ops[i].cell)
			case taskEnd:
				for _, cell := range r.net.Processes[p].Tasks[ops[i].task].Owns {
					note(cell)
				}
			}
		}
	}
	for n := range t.process {
		if o := t.operation(int32(n)); o.op == Read && r.cells[o.cell] == empty {
			if w, ok := writers[o.cell]; ok {
				t.writer[n] = w
			}
		}
	}
	return t
}

func (t *tangle) operation(n int32) *operation {
	return &t.run.program[t.process[n]][t.index[n]]
}

// next are the operations that an operation waits for.
func (t *tangle) next(n int32) (before, writer int32) {
	before = n - 1
	if int(n) == t.start[t.process[n]] {
		before = -1
	}
	return before, t.writer[n]
}

// knots are the parts of a tangle whose operations all wait for each other, in a fixed order.
func (t *tangle) knots() (knots [][]int32) {
	all := make([]int32, len(t.process))
	for n := range all {
		all[n] = int32(n)
	}
	ring := rings.Of(all, func(n int32) []int32 {
		before, writer := t.next(n)
		return lists.Only([]int32{before, writer}, func(n int32) bool { return n >= 0 })
	})
	of := map[int][]int32{}
	for _, n := range all {
		of[ring[n]] = append(of[ring[n]], n)
	}
	for _, n := range all {
		if knot := of[ring[n]]; len(knot) > 1 && knot[0] == n {
			knots = append(knots, knot)
		}
	}
	return knots
}

// maxVisited bounds how many operations the search for a shortest cycle visits.
const maxVisited = 4 << 20

// shortest is the cycle of a knot with the fewest waits, as numbers of its reads.
func (t *tangle) shortest(knot []int32) []int32 {
	in := lists.Set(knot)
	var best []int32
	left := maxVisited
	for _, n := range knot {
		if left <= 0 || t.writer[n] < 0 || !in[t.writer[n]] {
			continue
		}
		if cycle := t.cycleFrom(n, in, &left); cycle != nil && (best == nil || len(cycle) < len(best)) {
			best = cycle
		}
		if len(best) == 1 {
			break
		}
	}
	return best
}

// cycleFrom searches breadth first, by waits, for the path from a read back to itself.
func (t *tangle) cycleFrom(start int32, in map[int32]bool, left *int) []int32 {
	from := map[int32]int32{} // the read that led to a read
	seen := map[int32]bool{}
	queue := []int32{start}
	for len(queue) > 0 && *left > 0 {
		read := queue[0]
		queue = queue[1:]
		for n := t.writer[read]; n >= 0 && in[n] && !seen[n]; n, _ = t.next(n) {
			seen[n] = true
			*left--
			if n == start {
				cycle := []int32{}
				for at := read; at != start; at = from[at] {
					cycle = append(cycle, at)
				}
				cycle = append(cycle, start)
				slices.Reverse(cycle)
				return cycle
			}
			if w := t.writer[n]; w >= 0 && in[w] {
				from[n] = read
				queue = append(queue, n)
			}
		}
	}
	return nil
}

// waits converts a cycle of operations to one of processes.
func (t *tangle) waits(cycle []int32) []Wait {
	out := make([]Wait, len(cycle))
	for i, n := range cycle {
		o, w := t.operation(n), t.operation(t.writer[n])
		out[i] = Wait{Process: int(t.process[n]), Task: int(o.task), Read: o.step, Cell: o.cell, WriteTask: int(w.task)}
		if w.op == Write {
			out[i].Write = w.step
		}
	}
	return out
}
