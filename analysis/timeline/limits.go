package timeline

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/waits"
)

// length is how long a task works by itself.
func (s *simulation) length(p, t int) float64 {
	process := &s.net.Processes[p]
	task := &process.Tasks[t]
	d, known := s.durations.Of[s.name(p, t)]
	if !known {
		d.Seconds = s.usual(process, task)
	}
	if !s.worst {
		return d.Seconds
	}
	return max(d.Seconds, d.Worst, task.Timeout) * float64(d.Retries+1)
}

func (s *simulation) usual(process *waits.Process, task *waits.Task) float64 {
	switch {
	case !task.Heat:
		return s.durations.Role
	case process.Server:
		return s.durations.Boot
	case process.Condition:
		return 0
	}
	return s.durations.Make
}

// progress is how far a task's own work is at a step; it never goes back.
func progress(steps []waits.Step, i int) float64 {
	most := 0.0
	for ; i >= 0; i-- {
		most = max(most, steps[i].Progress)
	}
	return min(1, most)
}

// deadline is when a task's timeout ends it; 0 is never. At worst a task works for all
// of its time, and its waits come on top: so nothing that ends well ends later.
func (s *simulation) deadline(p, t int) float64 {
	timeout := s.net.Processes[p].Tasks[t].Timeout
	if timeout == 0 || s.worst {
		return 0
	}
	return s.run.Processes[p].Tasks[t].began + timeout
}

// patience is until when a read waits; timed if that is not for ever.
func (s *simulation) patience(p, t int, step *waits.Step) (until float64, timed bool) {
	if step.Timeout > 0 {
		until, timed = s.now[p]+step.Timeout, true
	}
	if limit := s.deadline(p, t); limit > 0 && !step.Start && (!timed || limit < until) {
		until, timed = limit, true
	}
	return until, timed
}

// nextTimeout is the process whose wait is the first that a timeout ends; -1 if nobody
// waits so.
func (s *simulation) nextTimeout() int {
	first, at := -1, 0.0
	for p := range s.programs {
		if s.task[p] == len(s.programs[p]) {
			continue
		}
		t := s.task[p]
		if until, timed := s.patience(p, t, &s.programs[p][t][s.step[p]]); timed && (first < 0 || until < at) {
			first, at = p, until
		}
	}
	return first
}

// timeOut ends the wait of a process in failure.
func (s *simulation) timeOut(p int) []int {
	t := s.task[p]
	step := &s.programs[p][t][s.step[p]]
	until, _ := s.patience(p, t, step)
	s.blocked[step.Cell] = slices.DeleteFunc(s.blocked[step.Cell], func(q int) bool { return q == p })
	s.wait(p, t, s.step[p], step, until)
	s.run.Processes[p].Tasks[t].Failed = late(step)
	return s.fail(p)
}

func late(step *waits.Step) string { return step.What + " has not come in time" }

// fail ends a process: what it has not written will never come.
func (s *simulation) fail(p int) (woken []int) {
	failing := s.task[p]
	s.run.Processes[p].Tasks[failing].End = s.now[p]
	for t := failing; t < len(s.programs[p]); t++ {
		if t > failing {
			s.run.Processes[p].Tasks[t].Failed = s.name(p, failing) + " failed before it"
		}
		for _, cell := range s.net.Processes[p].Tasks[t].Owns {
			woken = append(woken, s.settle(cell, settled{known: true, failed: true, by: moment{p, failing, s.step[p], s.now[p]}})...)
		}
	}
	s.task[p] = len(s.programs[p])
	return woken
}
