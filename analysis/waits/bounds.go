package waits

import "slices"

// operation is a step of a straight program.
type operation struct {
	op   Op
	cell CellID
	task int32
	step *Step // nil if it has no statement
	fork bool  // it is in a choice
}

// The operations of a straight program besides Read and Write.
const (
	taskEnd Op = 100 + iota // what the task owns must be written by now
	release                 // the process may have failed: nothing waits for it any more
	glance                  // a read on some ways only: it does not block, but may fail
)

// straight are programs without choices, one for each process.
type straight [][]operation

// bound derives a straight program from a net. It replaces a choice by what fork makes of
// each step of the ways, and by what every way reads or writes, as common selects.
type bound struct {
	fork   func(op Op) (becomes Op, kept bool)
	common Op
}

// earliest is the bound that blocks most.
func earliest(n *Net) straight {
	return bound{common: Write, fork: func(op Op) (Op, bool) { return Read, op == Read }}.of(n)
}

// latest is the bound that blocks least, except for failures.
func latest(n *Net) straight {
	return bound{common: Read, fork: func(op Op) (Op, bool) {
		if op == Read {
			return glance, true
		}
		return Write, op == Write
	}}.of(n)
}

func (b bound) of(n *Net) straight {
	out := make(straight, len(n.Processes))
	for i := range n.Processes {
		tasks := n.Processes[i].Tasks
		size := 0
		for t := range tasks {
			size += len(tasks[t].Body) + 1
		}
		ops := make([]operation, 0, size)
		for t := range tasks {
			ops = b.steps(ops, tasks[t].Body, int32(t))
			ops = append(ops, operation{op: taskEnd, task: int32(t)})
		}
		out[i] = ops
	}
	return out
}

func (b bound) steps(ops []operation, body []Step, task int32) []operation {
	for i := range body {
		s := &body[i]
		if s.Op != Choice {
			ops = append(ops, operation{op: s.Op, cell: s.Cell, task: task, step: s})
			continue
		}
		for _, way := range s.Ways {
			walk(way, func(x *Step) {
				if op, kept := b.fork(x.Op); kept {
					ops = append(ops, operation{op: op, cell: x.Cell, task: task, step: x, fork: true})
				}
			})
		}
		ops = append(ops, common(s, b.common, task)...)
	}
	return ops
}

// common are the reads, or writes, in every way of a choice.
func common(choice *Step, op Op, task int32) []operation {
	if len(choice.Ways) == 0 {
		return nil
	}
	count := map[CellID]int{}
	for _, way := range choice.Ways {
		for cell := range certain(way, op) {
			count[cell]++
		}
	}
	var out []operation
	walk(choice.Ways[0], func(x *Step) {
		if x.Op == op && count[x.Cell] == len(choice.Ways) {
			count[x.Cell] = 0
			out = append(out, operation{op: op, cell: x.Cell, task: task, step: x, fork: true})
		}
	})
	return out
}

// certain are the cells that steps read, or write, on every way.
func certain(steps []Step, op Op) map[CellID]bool {
	out := map[CellID]bool{}
	for i := range steps {
		switch s := &steps[i]; s.Op {
		case op:
			out[s.Cell] = true
		case Choice:
			for _, o := range common(s, op, 0) {
				out[o.cell] = true
			}
		}
	}
	return out
}

// walk visits all steps, in order: those of a choice's ways after the choice.
func walk(steps []Step, visit func(*Step)) {
	for i := range steps {
		visit(&steps[i])
		for _, way := range steps[i].Ways {
			walk(way, visit)
		}
	}
}

// failable finds what may fail: processes from which operation on, and cells.
type failable struct {
	net     *Net
	program straight
	timed   bool // timed reads may fail too
	// from is the first operation of a process at which it may fail; the length of
	// its program if it cannot.
	from    []int
	cells   []bool
	readers map[CellID][]position
	next    []CellID
}

type position struct{ process, index int }

// mayFail finds what may fail in a latest program. Timed reads count if timed.
func mayFail(n *Net, program straight, timed bool) *failable {
	f := &failable{net: n, program: program, timed: timed, from: make([]int, len(program)), cells: make([]bool, len(n.Cells)), readers: map[CellID][]position{}}
	for p, ops := range program {
		f.from[p] = len(ops)
	}
	for p, ops := range program {
		for i, o := range ops {
			switch {
			case o.op == Read || o.op == glance:
				if !o.step.Tolerant {
					f.readers[o.cell] = append(f.readers[o.cell], position{p, i})
				}
				if timed && o.step.Timeout > 0 {
					f.fails(p, i)
				}
			case o.op == fail:
				f.fails(p, i)
			case o.op == taskEnd && f.mayMiss(p, int(o.task)):
				f.fails(p, i)
			}
		}
	}
	for len(f.next) > 0 {
		cell := f.next[len(f.next)-1]
		f.next = f.next[:len(f.next)-1]
		for _, r := range f.readers[cell] {
			f.fails(r.process, r.index)
		}
	}
	return f
}

// mayMiss says whether a task may end without having written everything it owns.
func (f *failable) mayMiss(process, task int) bool {
	t := &f.net.Processes[process].Tasks[task]
	seen := certain(t.Body, Write)
	return slices.ContainsFunc(t.Owns, func(cell CellID) bool { return !seen[cell] })
}

// fails notes that a process may fail at an operation: what it writes from there
// on, and in its task as a whole, may be missing.
func (f *failable) fails(process, index int) {
	if index >= f.from[process] {
		return
	}
	last := f.from[process]
	f.from[process] = index
	tasks := f.net.Processes[process].Tasks
	before := f.writtenBefore(process, index)
	for t, until := int(f.program[process][index].task), f.taskAt(process, last); t <= until; t++ {
		for _, cell := range tasks[t].Owns {
			if !f.cells[cell] && !before[cell] {
				f.cells[cell] = true
				f.next = append(f.next, cell)
			}
		}
	}
}

// writtenBefore are the cells that a task has certainly written before an operation.
func (f *failable) writtenBefore(process, index int) map[CellID]bool {
	out := map[CellID]bool{}
	ops := f.program[process]
	for i := index - 1; i >= 0 && ops[i].task == ops[index].task; i-- {
		if ops[i].op == Write && !ops[i].fork {
			out[ops[i].cell] = true
		}
	}
	return out
}

func (f *failable) taskAt(process, index int) int {
	if index == len(f.program[process]) {
		return len(f.net.Processes[process].Tasks) - 1
	}
	return int(f.program[process][index].task)
}

// relaxed is a latest program in which a process that may fail releases everything it
// owns. A read that may time out does not block.
func (f *failable) relaxed() straight {
	out := make(straight, len(f.program))
	for p, ops := range f.program {
		i := f.from[p]
		if i == len(ops) {
			out[p] = ops
			continue
		}
		out[p] = append([]operation{}, ops[:i]...)
		if o := ops[i]; o.op == Read && !(f.timed && o.step.Timeout > 0) {
			out[p] = append(out[p], o)
		}
		out[p] = append(out[p], operation{op: release, task: ops[i].task})
	}
	return out
}

// Bounds are the steps of each process and task in the earliest and in the latest
// bound, without choices; a task's end writes the cells that it owns and no step writes.
func (n *Net) Bounds() (early, late [][][]Step) {
	return n.split(earliest(n)), n.split(latest(n))
}

func (n *Net) split(program straight) [][][]Step {
	out := make([][][]Step, len(program))
	for p, ops := range program {
		tasks := n.Processes[p].Tasks
		out[p] = make([][]Step, len(tasks))
		written := map[CellID]bool{}
		for _, o := range ops {
			steps := &out[p][o.task]
			switch o.op {
			case Read, Write:
				written[o.cell] = written[o.cell] || o.op == Write
				*steps = append(*steps, *o.step)
			case taskEnd:
				for _, cell := range tasks[o.task].Owns {
					if !written[cell] {
						*steps = append(*steps, Step{Op: Write, Cell: cell, At: tasks[o.task].At, Progress: 1})
					}
				}
			}
		}
	}
	return out
}
