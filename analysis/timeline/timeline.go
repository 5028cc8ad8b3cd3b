// Package timeline predicts how a deployment will run: a discrete-event run of
// its net (analysis/waits) with the time that booting and each role's own work
// take. A role's reads and writes are spread over its work as they stand in its
// source, so that an early write is an early value.
//
// Where the order of steps is not known the run takes the earliest bound, which
// waits most; if only that one would hang, the latest. The critical path is
// followed back from what ended last: to the step before, or to the write that a
// read waited for, whichever came later.
package timeline

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/waits"
)

// Durations are how long things take, in seconds.
type Durations struct {
	Boot float64 // of a server, where Of says nothing
	Role float64 // of a role's own work
	Make float64 // of another resource
	// Of are those of single ones: SERVER, SERVER.ROLE or a resource's name.
	Of map[string]float64
}

// Run is a predicted run.
type Run struct {
	Processes []Process `json:"servers"`
	Makespan  float64   `json:"makespan"`
	// Hung says that it never ends: the processes in it wait for each other.
	Hung     bool   `json:"hung,omitempty"`
	Critical []Link `json:"critical_path"`
}

// Process is a server or another resource.
type Process struct {
	Name  string `json:"name"`
	Tasks []Task `json:"tasks"`
}

// Task is a role, or that Heat makes the resource.
type Task struct {
	Name  string  `json:"name"`
	Heat  bool    `json:"heat,omitempty"`
	Start float64 `json:"start"`
	End   float64 `json:"end"` // -1 if never
	Waits []Wait  `json:"waits,omitempty"`
	// Blocked is the sum of the waits.
	Blocked float64 `json:"blocked"`
}

// Wait is a read that blocked.
type Wait struct {
	Cell string  `json:"cell"`
	What string  `json:"what"`
	By   string  `json:"written_by"`
	From float64 `json:"from"`
	To   float64 `json:"to"` // -1 if for ever
}

// Link is a stretch of the critical path.
type Link struct {
	Task string  `json:"task"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Cell is what the next link waited for.
	Cell string `json:"cell,omitempty"`
}

// moment is an operation in a run, for the way back.
type moment struct {
	process, task, step int
	at                  float64
}

type simulation struct {
	net       *waits.Net
	programs  [][][]waits.Step
	durations Durations
	written   []float64 // -1 if not yet
	writer    []moment
	blocked   map[waits.CellID][]int
	now       []float64
	task      []int
	step      []int
	run       *Run
	// arrived is, for each process and task, the write that its last wait ended with.
	came map[[3]int]waits.CellID
}

// Simulate runs a net.
func Simulate(n *waits.Net, d Durations) *Run {
	early, late := n.Bounds()
	r := simulate(n, early, d)
	if r.Hung {
		if other := simulate(n, late, d); !other.Hung {
			return other
		}
	}
	return r
}

func simulate(n *waits.Net, programs [][][]waits.Step, d Durations) *Run {
	size := len(n.Processes)
	s := &simulation{net: n, programs: programs, durations: d, written: make([]float64, len(n.Cells)), writer: make([]moment, len(n.Cells)),
		blocked: map[waits.CellID][]int{}, now: make([]float64, size), task: make([]int, size), step: make([]int, size),
		run: &Run{Processes: make([]Process, size)}, came: map[[3]int]waits.CellID{}}
	for c := range s.written {
		s.written[c] = -1
	}
	ready := make([]int, size)
	for p := range n.Processes {
		ready[p] = size - 1 - p
		out := Process{Name: n.Processes[p].Name}
		for _, t := range n.Processes[p].Tasks {
			out.Tasks = append(out.Tasks, Task{Name: t.Name, Heat: t.Heat, Start: -1, End: -1})
		}
		s.run.Processes[p] = out
	}
	// A process runs ahead as far as it can: a cell is written once, so the time of
	// a read depends on that of the write alone and not on who ran first.
	for len(ready) > 0 {
		p := ready[len(ready)-1]
		ready = append(ready[:len(ready)-1], s.advance(p)...)
	}
	s.finish()
	return s.run
}

// length is how long a task works by itself.
func (s *simulation) length(p, t int) float64 {
	process := &s.net.Processes[p]
	key := process.Name
	if !process.Tasks[t].Heat {
		key += "." + process.Tasks[t].Name
	}
	if d, ok := s.durations.Of[key]; ok {
		return d
	}
	switch {
	case !process.Tasks[t].Heat:
		return s.durations.Role
	case process.Server:
		return s.durations.Boot
	case s.net.Processes[p].Condition:
		return 0
	}
	return s.durations.Make
}

// advance runs a process until it blocks; it returns who can go on by that.
func (s *simulation) advance(p int) []int {
	var woken []int
	for s.task[p] < len(s.programs[p]) {
		t := s.task[p]
		steps := s.programs[p][t]
		out := &s.run.Processes[p].Tasks[t]
		if out.Start < 0 {
			out.Start = s.now[p]
		}
		length := s.length(p, t)
		for s.step[p] < len(steps) {
			i := s.step[p]
			step := &steps[i]
			s.now[p] += max(0, progress(steps, i)-progress(steps, i-1)) * length
			if step.Op == waits.Read {
				if s.written[step.Cell] < 0 {
					s.now[p] -= max(0, progress(steps, i)-progress(steps, i-1)) * length // it is added again
					s.blocked[step.Cell] = append(s.blocked[step.Cell], p)
					return woken
				}
				s.read(p, t, i, step)
			} else if s.written[step.Cell] < 0 {
				s.written[step.Cell], s.writer[step.Cell] = s.now[p], moment{p, t, i, s.now[p]}
				woken = append(woken, s.blocked[step.Cell]...)
				delete(s.blocked, step.Cell)
			}
			s.step[p]++
		}
		s.now[p] += (1 - progress(steps, len(steps)-1)) * length
		out.End = s.now[p]
		s.task[p], s.step[p] = t+1, 0
	}
	return woken
}

// progress is how far a task's own work is at a step; it never goes back.
func progress(steps []waits.Step, i int) float64 {
	most := 0.0
	for ; i >= 0; i-- {
		most = max(most, steps[i].Progress)
	}
	return min(1, most)
}

func (s *simulation) read(p, t, i int, step *waits.Step) {
	at := s.written[step.Cell]
	if at <= s.now[p] {
		return
	}
	out := &s.run.Processes[p].Tasks[t]
	w := s.writer[step.Cell]
	out.Waits = append(out.Waits, Wait{Cell: s.net.Cells[step.Cell].Name, What: step.What, By: s.name(w.process, w.task), From: s.now[p], To: at})
	out.Blocked += at - s.now[p]
	s.came[[3]int{p, t, i}] = step.Cell
	s.now[p] = at
}

// name is how a task is called: SERVER, or SERVER.ROLE.
func (s *simulation) name(p, t int) string {
	process := &s.net.Processes[p]
	if process.Tasks[t].Heat {
		return process.Name
	}
	return process.Name + "." + process.Tasks[t].Name
}

// finish notes what hangs and follows the critical path back.
func (s *simulation) finish() {
	last := -1
	for p := range s.net.Processes {
		if s.task[p] < len(s.programs[p]) {
			s.run.Hung = true
			t := s.task[p]
			step := &s.programs[p][t][s.step[p]]
			out := &s.run.Processes[p].Tasks[t]
			out.Waits = append(out.Waits, Wait{Cell: s.net.Cells[step.Cell].Name, What: step.What, From: s.now[p], To: -1})
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

// back goes from a moment to the beginning of its task or to the last wait in it:
// to what came before.
func (s *simulation) back(at moment) (from float64, next *moment, cell string) {
	for i := at.step; i >= 0; i-- {
		if c, waited := s.came[[3]int{at.process, at.task, i}]; waited {
			w := s.writer[c]
			return w.at, &w, s.net.Cells[c].Name
		}
	}
	start := s.run.Processes[at.process].Tasks[at.task].Start
	if at.task == 0 {
		return start, nil, ""
	}
	steps := s.programs[at.process][at.task-1]
	return start, &moment{at.process, at.task - 1, len(steps) - 1, start}, ""
}
