package waits

// FixKind is a change that breaks a deadlock.
type FixKind uint8

// The changes.
const (
	// PublishFirst: write the cell before the read, in the same task.
	PublishFirst FixKind = iota
	// Swap: run the task that writes before the one that reads.
	Swap
	// Split: end the task before the read; what others wait for is then done.
	Split
)

// Fix is a change at one link of a deadlock's cycle: the process that reads at
// Cycle[Link] writes what the link before it waits for.
type Fix struct {
	Kind FixKind
	Link int
}

// Fixes are changes that were tried and break a deadlock, the first ones of its cycle.
func (n *Net) Fixes(d Deadlock, most int) []Fix {
	w := (&decider{net: n, broken: make([]bool, len(n.Cells))}).region(d.Processes)
	var program straight
	if d.Verdict == Certain {
		program = latest(w.net)
	} else {
		program = earliest(w.net)
	}
	local := map[int]int{}
	for i, p := range d.Processes {
		local[p] = i
	}
	var out []Fix
	for i, link := range d.Cycle {
		if len(out) == most {
			break
		}
		before := d.Cycle[(i+len(d.Cycle)-1)%len(d.Cycle)]
		p := local[link.Process]
		tasks := w.net.Processes[p].Tasks
		if tasks[link.Task].Heat || tasks[before.WriteTask].Heat {
			continue
		}
		cell := w.local(before.Cell)
		fix := Fix{Kind: PublishFirst, Link: i}
		var changed []operation
		switch {
		case link.Task != before.WriteTask:
			fix.Kind = Swap
			changed = swapped(program[p], int32(link.Task), int32(before.WriteTask))
		case link.Read.Start:
			continue
		default:
			if cell == tasks[link.Task].Completion {
				fix.Kind = Split
			}
			changed = moved(program[p], cell, w.local(link.Cell))
		}
		whole := program[p]
		program[p] = changed
		if !execute(w.net, program, func(c CellID) bool { return c == 0 }, false).anyHung() {
			out = append(out, fix)
		}
		program[p] = whole
	}
	return out
}

// local is the number of a cell among those of a region.
func (w *ways) local(cell CellID) CellID {
	for i, c := range w.cells {
		if c == cell {
			return CellID(i)
		}
	}
	return 0
}

// swapped runs a later task before an earlier one.
func swapped(ops []operation, earlier, later int32) []operation {
	var out []operation
	for _, o := range ops {
		if o.task < earlier {
			out = append(out, o)
		}
	}
	for _, o := range ops {
		if o.task == later {
			out = append(out, o)
		}
	}
	for _, o := range ops {
		if o.task >= earlier && o.task != later {
			out = append(out, o)
		}
	}
	return out
}

// moved writes a cell before another is read.
func moved(ops []operation, cell, read CellID) []operation {
	var out []operation
	for _, o := range ops {
		if o.op == Read && o.cell == read {
			out = append(out, operation{op: Write, cell: cell, task: o.task})
		}
		out = append(out, o)
	}
	return out
}
