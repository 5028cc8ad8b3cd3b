// Package waits decides which programs of waiting processes block forever.
//
// A net is a deployment reduced to its waits: processes (servers, and other
// resources that Heat creates), each a sequence of tasks (roles), each a sequence
// of steps that read and write cells. A cell is written once, a read blocks until
// then, and a process does one step at a time: a Kahn network. Its outcome does not
// depend on the schedule, so one run, in any order, decides whether it blocks
// forever, in linear time.
//
// That holds where the order of steps is known. Where it forks (an if in a script,
// a tool whose order is unknown) two straight programs bound it: the latest one
// reads only what every way reads, after everything that any way writes; the
// earliest one reads everything that any way reads, before everything that not every
// way writes. If the latest blocks forever, every way does; if the earliest does not,
// none does. Cases in between are decided by trying all ways of the processes that
// wait for each other, as long as they are few.
//
// A task that ends without having written a cell it owns has failed, and so has
// one that reads a cell which will never be written. Its process ends there, and
// the rest of its cells are settled as failed: nothing blocks on them. A timed read
// may end that way too.
package waits

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
)

// CellID numbers the cells of a net.
type CellID int32

// Net is a set of processes that wait for each other's cells.
type Net struct {
	Processes []Process
	// Cells are the names of values that are written once.
	Cells []string
}

// Process does one step after another: a server, a resource.
type Process struct {
	Name   string
	Server bool
	// Condition is a wait condition of Heat's: it takes no time of its own.
	Condition bool
	Tasks     []Task
}

// owns are the cells that a process must write.
func (p *Process) owns() []CellID {
	return lists.Flat(p.Tasks, func(t Task) []CellID { return t.Owns })
}

// Task is a part of a process that must write all cells it owns.
type Task struct {
	Name string
	At   source.Place
	Body []Step
	Owns []CellID
	// Completion is the cell that says that the task is done, the last that it
	// writes; -1 for a task that nothing can wait for.
	Completion CellID
	// Heat says that this is Heat's work: it cannot be swapped or split.
	Heat bool
	// Timeout ends the task, in failure, so many seconds after its own work began; 0 is
	// never.
	Timeout float64
}

// Step is a read, a write or a choice.
type Step struct {
	Op   Op
	Cell CellID
	At   source.Place
	// What describes what is read or written: `input "url"`.
	What string
	// Why says why there is this read, if the place does not: Heat adds it by itself.
	Why string
	// Timeout ends a read after so many seconds; 0 is never.
	Timeout float64
	// Tolerant is a read that goes on if the cell will never be written.
	Tolerant bool
	// Start is a read before the task's own work begins: nothing can come before it.
	Start bool
	// Guess says that the step's place in the order is unknown.
	Guess bool
	// Ways are the alternatives of a choice; Key names the condition that decides it,
	// in the same way for all choices with that key.
	Ways [][]Step
	Key  string
	// Progress is the step's position in its task's own work, from 0 to 1.
	Progress float64
}

// Op is what a step does.
type Op uint8

// The steps.
const (
	Read Op = iota
	Write
	Choice
	fail // the process ends here, as if it had failed
)

// Without is the net without a process: it reads and writes nothing.
func (n *Net) Without(process int) *Net {
	processes := slices.Clone(n.Processes)
	p := &processes[process]
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		p.Tasks[i].Body = nil
	}
	return &Net{processes, n.Cells}
}

// Owners maps cells to the processes that must write them.
func (n *Net) Owners() map[CellID]int {
	owner := map[CellID]int{}
	for p := range n.Processes {
		for _, cell := range n.Processes[p].owns() {
			owner[cell] = p
		}
	}
	return owner
}

// AddCell adds a cell.
func (n *Net) AddCell(name string) CellID {
	n.Cells = append(n.Cells, name)
	return CellID(len(n.Cells) - 1)
}

// Unordered are reads and writes that all happen, in an order that is not known:
// all writes first, or all reads.
func Unordered(steps []Step) []Step {
	var reads, writes []Step
	for _, s := range steps {
		if s.Op == Read {
			reads = append(reads, s)
		} else {
			writes = append(writes, s)
		}
	}
	if len(reads) == 0 || len(writes) == 0 { // the order does not matter
		return append(reads, writes...)
	}
	for _, side := range [][]Step{reads, writes} {
		for i := range side {
			side[i].Guess = true
		}
	}
	return AnyTime(reads, writes, reads)
}

// AnyTime is a body with steps that may occur before, within or after it: the writes
// certainly, the reads possibly.
func AnyTime(reads, writes, body []Step) []Step {
	if len(reads) == 0 && len(writes) == 0 {
		return body
	}
	out := []Step{{Op: Choice, Ways: [][]Step{writes, reads}}}
	return append(append(out, body...), writes...)
}
