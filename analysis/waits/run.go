package waits

// state is the state of a cell in a run.
type state uint8

const (
	empty state = iota
	written
	failed
)

// run is one run of a straight program to its end, or until nothing moves.
type run struct {
	net     *Net
	program straight
	cells   []state
	at      []int // next operation of each process
	// blocked and behind are linked lists of the processes that wait for a cell: the
	// first, and for each process the next one, both plus 1; 0 is the end.
	blocked []int32
	behind  []int32
	ready   []int
	// failing says that missing cells fail their readers; otherwise they count as written.
	failing bool
}

// settledAlready says which cells are written before a run starts.
type settledAlready func(CellID) bool

func nothing(CellID) bool { return false }

// execute runs a straight program. The order of processes makes no difference.
func execute(n *Net, program straight, outside settledAlready, failing bool) *run {
	r := &run{net: n, program: program, cells: make([]state, len(n.Cells)), at: make([]int, len(program)), blocked: make([]int32, len(n.Cells)),
		behind: make([]int32, len(program)), ready: make([]int, len(program)), failing: failing}
	for c := range r.cells {
		if outside(CellID(c)) {
			r.cells[c] = written
		}
	}
	for p := range program {
		r.ready[p] = len(program) - 1 - p
	}
	for len(r.ready) > 0 {
		p := r.ready[len(r.ready)-1]
		r.ready = r.ready[:len(r.ready)-1]
		r.process(p)
	}
	return r
}

func (r *run) process(p int) {
	ops := r.program[p]
	for r.at[p] < len(ops) {
		o := &ops[r.at[p]]
		switch o.op {
		case Read:
			if r.cells[o.cell] == empty {
				r.behind[p] = r.blocked[o.cell]
				r.blocked[o.cell] = int32(p + 1)
				return
			}
			if r.failing && r.cells[o.cell] == failed && !o.step.Tolerant {
				r.end(p, o.task)
				return
			}
		case Write:
			r.settle(o.cell, written)
		case fail, release:
			r.end(p, o.task)
			return
		case taskEnd:
			if !r.finish(p, o.task) {
				return
			}
		}
		r.at[p]++
	}
}

// finish ends a task; false if it fails.
func (r *run) finish(p int, task int32) bool {
	for _, cell := range r.net.Processes[p].Tasks[task].Owns {
		if r.cells[cell] != empty {
			continue
		}
		if r.failing {
			r.end(p, task)
			return false
		}
		r.settle(cell, written)
	}
	return true
}

// end settles everything that a process has not written, from a task on.
func (r *run) end(p int, task int32) {
	r.at[p] = len(r.program[p])
	for _, t := range r.net.Processes[p].Tasks[task:] {
		for _, cell := range t.Owns {
			r.settle(cell, failed)
		}
	}
}

func (r *run) settle(cell CellID, s state) {
	if r.cells[cell] != empty {
		return
	}
	r.cells[cell] = s
	waiting := r.blocked[cell]
	r.blocked[cell] = 0
	for waiting > 0 {
		p := int(waiting - 1)
		waiting = r.behind[p]
		r.ready = append(r.ready, p)
	}
}

// hung says whether a process waits forever.
func (r *run) hung(p int) bool { return r.at[p] < len(r.program[p]) }

func (r *run) anyHung() bool {
	for p := range r.program {
		if r.hung(p) {
			return true
		}
	}
	return false
}
