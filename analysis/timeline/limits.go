package timeline

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/waits"
)

// length is the duration of a task's own work.
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
	return s.durations.Resource
}

// progress is the share of a task's own work that is done at a step; it never decreases.
func progress(steps []waits.Step, i int) float64 {
	most := 0.0
	for ; i >= 0; i-- {
		most = max(most, steps[i].Progress)
	}
	return min(1, most)
}

// deadline is when a task's timeout ends it; 0 is never. In the worst case a task works for
// its whole timeout, plus its waits: so no successful run takes longer.
func (s *simulation) deadline(p, t int) float64 {
	timeout := s.net.Processes[p].Tasks[t].Timeout
	if timeout == 0 || s.worst {
		return 0
	}
	return s.run.Processes[p].Tasks[t].began + timeout
}

// readDeadline is the time until which a read waits; timed if that is not forever.
func (s *simulation) readDeadline(p, t int, step *waits.Step) (until float64, timed bool) {
	if step.Timeout > 0 {
		until, timed = s.now[p]+step.Timeout, true
	}
	if limit := s.deadline(p, t); limit > 0 && !step.Start && (!timed || limit < until) {
		until, timed = limit, true
	}
	return until, timed
}

// nextTimeout is the process whose wait times out first; -1 if no wait is timed.
func (s *simulation) nextTimeout() int {
	first, at := -1, 0.0
	for p := range s.programs {
		if s.task[p] == len(s.programs[p]) {
			continue
		}
		t := s.task[p]
		if until, timed := s.readDeadline(p, t, &s.programs[p][t][s.step[p]]); timed && (first < 0 || until < at) {
			first, at = p, until
		}
	}
	return first
}

// timeOut fails the waiting process.
func (s *simulation) timeOut(p int) []int {
	t := s.task[p]
	step := &s.programs[p][t][s.step[p]]
	until, _ := s.readDeadline(p, t, step)
	s.blocked[step.Cell] = slices.DeleteFunc(s.blocked[step.Cell], func(q int) bool { return q == p })
	s.wait(p, t, s.step[p], step, until)
	s.run.Processes[p].Tasks[t].Failed = late(step)
	return s.fail(p)
}

func late(step *waits.Step) string { return step.What + " did not arrive in time" }

// fail ends a process: its remaining cells will never be written.
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
