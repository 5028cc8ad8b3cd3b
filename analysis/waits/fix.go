package waits

import "slices"

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

// maxTries bounds how many changes are tried for one deadlock.
const maxTries = 32

// Fixes are changes that break a deadlock when tried, the first ones along its cycle.
func (n *Net) Fixes(d Deadlock, most int) []Fix {
	w := (&decider{net: n, broken: make([]bool, len(n.Cells))}).region(d.Processes)
	program := earliest(w.net)
	if d.Verdict == Certain {
		program = latest(w.net)
	}
	var out []Fix
	tries := 0
	for i, link := range d.Cycle {
		if len(out) == most || tries == maxTries {
			break
		}
		before := d.Cycle[(i+len(d.Cycle)-1)%len(d.Cycle)]
		p := slices.Index(d.Processes, link.Process)
		tasks := w.net.Processes[p].Tasks
		if tasks[link.Task].Heat || tasks[before.WriteTask].Heat {
			continue
		}
		fix := Fix{Kind: PublishFirst, Link: i}
		switch {
		case link.Task != before.WriteTask:
			fix.Kind = Swap
		case link.Read.Start:
			continue
		case w.local(before.Cell) == tasks[link.Task].Completion:
			fix.Kind = Split
		}
		changed := append(straight{}, program...)
		owned := slices.Index(tasks[before.WriteTask].Owns, w.local(before.Cell))
		if owned < 0 && fix.Kind != Swap {
			continue
		}
		tries++
		for _, q := range w.alike(p, link.Task) {
			if fix.Kind == Swap {
				changed[q] = swapped(program[q], int32(link.Task), int32(before.WriteTask))
			} else {
				changed[q] = moved(program[q], w.net.Processes[q].Tasks[link.Task].Owns[owned], link.Read)
			}
		}
		if !execute(w.net, changed, func(c CellID) bool { return c == 0 }, false).anyHung() {
			out = append(out, fix)
		}
	}
	return out
}

// alike are the processes whose task has the same source: a change applies to all members
// of a group.
func (w *ways) alike(p, task int) []int {
	own := &w.net.Processes[p].Tasks[task]
	out := []int{p}
	for q := range w.net.Processes {
		if tasks := w.net.Processes[q].Tasks; q != p && own.At.Known() && task < len(tasks) && tasks[task].At == own.At && len(tasks[task].Owns) == len(own.Owns) {
			out = append(out, q)
		}
	}
	return out
}

// local is the number of a cell among those of a region.
func (w *ways) local(cell CellID) CellID { return CellID(max(0, slices.Index(w.cells, cell))) }

// swapped runs a later task before an earlier one.
func swapped(ops []operation, earlier, later int32) []operation {
	turn := func(o operation) int {
		switch {
		case o.task < earlier:
			return 0
		case o.task == later:
			return 1
		}
		return 2
	}
	return slices.SortedStableFunc(slices.Values(ops), func(a, b operation) int { return turn(a) - turn(b) })
}

// moved writes a cell before a read.
func moved(ops []operation, cell CellID, read *Step) []operation {
	var out []operation
	for _, o := range ops {
		if o.op == Read && o.step != nil && o.step.At.Span == read.At.Span && o.step.What == read.What {
			out = append(out, operation{op: Write, cell: cell, task: o.task})
		}
		out = append(out, o)
	}
	return out
}
