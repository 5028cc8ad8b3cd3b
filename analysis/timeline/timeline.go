// Package timeline predicts how a deployment will run: a discrete-event simulation of
// its net (analysis/waits) with the durations of boots and of each role's own work. A
// role's reads and writes are spread over its work according to their position in its
// source, so that an early write is an early value.
//
// Where the order of steps is unknown the simulation uses the earliest bound, which
// waits most; if only that one would hang, the latest. The critical path is traced
// back from what ended last: to the previous step, or to the write that a read waited
// for, whichever was later.
package timeline

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/lists"
)

// Durations are how long things take, in seconds.
type Durations struct {
	Boot     float64 // of a server that is not in Of
	Role     float64 // of a role's own work
	Resource float64 // of another resource
	// Of are individual durations: of SERVER, SERVER.ROLE or a resource's name.
	Of map[string]Duration
}

// The default durations, in seconds.
const (
	UsualBoot     = 45
	UsualRole     = 30
	UsualResource = 5
)

// Duration is the duration of one task.
type Duration struct {
	Seconds float64 `yaml:"seconds"`
	// Worst is the duration in the worst case, 0 if unknown; Retries is the number of
	// retries in the worst case.
	Worst   float64 `yaml:"worst"`
	Retries int     `yaml:"retries"`
}

// Run is a predicted run.
type Run struct {
	Processes []Process `json:"servers"`
	Makespan  float64   `json:"makespan"`
	// Hung says that it never ends: the processes in it wait for each other.
	Hung bool `json:"hung,omitempty"`
	// Failed says that a wait or a role times out.
	Failed   bool   `json:"failed,omitempty"`
	Critical []Link `json:"critical_path"`
}

// Process is a server or another resource.
type Process struct {
	Name  string `json:"name"`
	Tasks []Task `json:"tasks"`
}

// Task is a role, or the creation of a resource by Heat.
type Task struct {
	Name  string  `json:"name"`
	Heat  bool    `json:"heat,omitempty"`
	Start float64 `json:"start"`
	End   float64 `json:"end"` // -1 if never
	Waits []Wait  `json:"waits,omitempty"`
	// Blocked is the sum of the waits.
	Blocked float64 `json:"blocked"`
	// Failed is why the task fails, or never begins; "" if it completes.
	Failed string `json:"failed,omitempty"`

	began float64 // the start of its own work, after its initial waits
}

// Wait is a read that blocked.
type Wait struct {
	Cell string  `json:"cell"`
	What string  `json:"what"`
	By   string  `json:"written_by"`
	From float64 `json:"from"`
	To   float64 `json:"to"` // -1 if forever
}

// Link is a segment of the critical path.
type Link struct {
	Task string  `json:"task"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Cell is what the next link waited for.
	Cell string `json:"cell,omitempty"`
}

// moment is an operation in a run, for the critical path.
type moment struct {
	process, task, step int
	at                  float64
}

type simulation struct {
	net       *waits.Net
	programs  [][][]waits.Step
	durations Durations
	worst     bool
	cells     []settled
	blocked   map[waits.CellID][]int
	now       []float64
	task      []int
	step      []int
	worked    []bool // the work before the current step is done
	run       *Run
	// waitedFor maps reads that waited to the cells that they waited for.
	waitedFor map[[3]int]waits.CellID
}

// settled is the final state of a cell, and its cause.
type settled struct {
	known  bool
	failed bool
	by     moment
}

// Simulate runs a net as it is expected to run.
func Simulate(n *waits.Net, d Durations) *Run { return bounded(n, d, false) }

// AtWorst runs a net with everything as slow as possible: a task with a timeout takes
// all of it and publishes last, and retries are used up.
func AtWorst(n *waits.Net, d Durations) *Run { return bounded(n, d, true) }

func bounded(n *waits.Net, d Durations, worst bool) *Run {
	early, late := n.Bounds()
	r := simulate(n, early, d, worst)
	if r.Hung {
		if other := simulate(n, late, d, worst); !other.Hung {
			return other
		}
	}
	return r
}

func simulate(n *waits.Net, programs [][][]waits.Step, d Durations, worst bool) *Run {
	size := len(n.Processes)
	s := &simulation{net: n, programs: programs, durations: d, worst: worst, cells: make([]settled, len(n.Cells)),
		blocked: map[waits.CellID][]int{}, now: make([]float64, size), task: make([]int, size), step: make([]int, size), worked: make([]bool, size),
		run: &Run{Processes: make([]Process, size)}, waitedFor: map[[3]int]waits.CellID{}}
	ready := make([]int, size)
	for p := range n.Processes {
		ready[p] = size - 1 - p
		tasks := lists.Map(n.Processes[p].Tasks, func(t waits.Task) Task { return Task{Name: t.Name, Heat: t.Heat, Start: -1, End: -1} })
		s.run.Processes[p] = Process{Name: n.Processes[p].Name, Tasks: tasks}
	}
	// A process runs ahead as far as it can: a cell is written once, so the time of
	// a read depends only on that of the write and not on which process ran first. Only
	// when no process can continue does the next timeout end a wait.
	for {
		for len(ready) > 0 {
			p := ready[len(ready)-1]
			ready = append(ready[:len(ready)-1], s.advance(p)...)
		}
		p := s.nextTimeout()
		if p < 0 {
			break
		}
		ready = s.timeOut(p)
	}
	s.finish()
	return s.run
}

// advance runs a process until it blocks; it returns the processes that this wakes.
func (s *simulation) advance(p int) []int {
	var woken []int
	for s.task[p] < len(s.programs[p]) {
		t := s.task[p]
		steps := s.programs[p][t]
		out := &s.run.Processes[p].Tasks[t]
		if out.Start < 0 {
			out.Start, out.began = s.now[p], s.now[p]
		}
		for ; s.step[p] < len(steps); s.step[p]++ {
			i := s.step[p]
			step := &steps[i]
			switch {
			case !s.work(p, t, i):
				return append(woken, s.fail(p)...)
			case step.Op != waits.Read:
				woken = append(woken, s.settle(step.Cell, settled{known: true, by: moment{p, t, i, s.now[p]}})...)
			case !s.cells[step.Cell].known:
				s.blocked[step.Cell] = append(s.blocked[step.Cell], p)
				return woken
			case !s.read(p, t, i, step):
				return append(woken, s.fail(p)...)
			}
			s.worked[p] = false
		}
		if !s.work(p, t, len(steps)) {
			return append(woken, s.fail(p)...)
		}
		out.End = s.now[p]
		s.task[p], s.step[p], s.worked[p] = t+1, 0, false
	}
	return woken
}

// work does a task's own work before a step, once; false if it times out.
func (s *simulation) work(p, t, i int) bool {
	if s.worked[p] {
		return true
	}
	s.worked[p] = true
	s.now[p] += share(s.programs[p][t], i) * s.length(p, t)
	limit := s.deadline(p, t)
	if limit == 0 || s.now[p] <= limit {
		return true
	}
	s.now[p] = limit
	s.run.Processes[p].Tasks[t].Failed = "it timed out"
	return false
}

// share is the part of a task's own work between a step and the one before; after the
// last step, the rest.
func share(steps []waits.Step, i int) float64 {
	if i == len(steps) {
		return 1 - progress(steps, i-1)
	}
	return max(0, progress(steps, i)-progress(steps, i-1))
}

func (s *simulation) settle(cell waits.CellID, to settled) (woken []int) {
	if s.cells[cell].known {
		return nil
	}
	s.cells[cell] = to
	woken = s.blocked[cell]
	delete(s.blocked, cell)
	return woken
}

// read waits for a cell; false if the wait ends in failure.
func (s *simulation) read(p, t, i int, step *waits.Step) bool {
	out := &s.run.Processes[p].Tasks[t]
	cell := s.cells[step.Cell]
	until := max(s.now[p], cell.by.at)
	end, timed := s.readDeadline(p, t, step)
	if timed && end < until {
		s.wait(p, t, i, step, end)
		out.Failed = late(step)
		return false
	}
	s.wait(p, t, i, step, until)
	if step.Start {
		out.began = s.now[p]
	}
	if cell.failed && !step.Tolerant {
		out.Failed = fmt.Sprintf("%s failed", s.name(cell.by.process, cell.by.task))
		return false
	}
	return true
}

func (s *simulation) wait(p, t, i int, step *waits.Step, until float64) {
	if until <= s.now[p] {
		return
	}
	out := &s.run.Processes[p].Tasks[t]
	w := Wait{Cell: s.net.Cells[step.Cell], What: step.What, From: s.now[p], To: until}
	if cell := s.cells[step.Cell]; cell.known {
		w.By = s.name(cell.by.process, cell.by.task)
		if cell.by.at == until {
			s.waitedFor[[3]int{p, t, i}] = step.Cell
		}
	}
	out.Waits = append(out.Waits, w)
	out.Blocked += until - s.now[p]
	s.now[p] = until
}

// name is a task's name: SERVER, or SERVER.ROLE.
func (s *simulation) name(p, t int) string {
	process := &s.net.Processes[p]
	if process.Tasks[t].Heat {
		return process.Name
	}
	return process.Name + "." + process.Tasks[t].Name
}

// finish records what hangs and traces the critical path back.
func (s *simulation) finish() {
	last := -1
	for p := range s.net.Processes {
		for t := range s.run.Processes[p].Tasks {
			s.run.Failed = s.run.Failed || s.run.Processes[p].Tasks[t].Failed != ""
		}
		if s.task[p] < len(s.programs[p]) {
			s.run.Hung = true
			t := s.task[p]
			step := &s.programs[p][t][s.step[p]]
			out := &s.run.Processes[p].Tasks[t]
			out.Waits = append(out.Waits, Wait{Cell: s.net.Cells[step.Cell], What: step.What, From: s.now[p], To: -1})
		}
		if last < 0 || s.now[p] > s.now[last] {
			last = p
		}
	}
	if last < 0 {
		return
	}
	s.run.Makespan = s.now[last]
	if s.run.Hung {
		s.run.Makespan = -1
		return
	}
	t := len(s.programs[last]) - 1
	for t > 0 && s.run.Processes[last].Tasks[t].End < 0 { // never begun, after a failure
		t--
	}
	at := moment{last, t, len(s.programs[last][t]) - 1, s.now[last]}
	cell := ""
	for {
		from, next, waited := s.back(at)
		s.run.Critical = append(s.run.Critical, Link{Task: s.name(at.process, at.task), From: from, To: at.at, Cell: cell})
		if next == nil {
			break
		}
		cell, at = waited, *next
	}
	slices.Reverse(s.run.Critical)
}

// back goes from a moment to the last wait in its task, or to the task's beginning, and
// returns what preceded it.
func (s *simulation) back(at moment) (from float64, next *moment, cell string) {
	for i := at.step; i >= 0; i-- {
		if c, waited := s.waitedFor[[3]int{at.process, at.task, i}]; waited {
			w := s.cells[c].by
			return w.at, &w, s.net.Cells[c]
		}
	}
	start := s.run.Processes[at.process].Tasks[at.task].Start
	if at.task == 0 {
		return start, nil, ""
	}
	steps := s.programs[at.process][at.task-1]
	return start, &moment{at.process, at.task - 1, len(steps) - 1, start}, ""
}
