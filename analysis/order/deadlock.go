package order

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Deadlocks reports the deadlocks of a net, each with a diagnosis: who waits for what of
// whom, and which changes would break it. It returns them for pictures.
func Deadlocks(p *program.Program, n *waits.Net, diags *source.Diagnostics) []waits.Deadlock {
	search := &search{program: p, reported: map[int]bool{}, left: maxSearches}
	search.in(n)
	for _, f := range search.found {
		diags.Add(f.diagnostic())
	}
	return lists.Map(search.found, func(f diagnosis) waits.Deadlock { return f.deadlock })
}

// maxSearches bounds how often a net is decided again without a server that conditions
// may exclude.
const maxSearches = 64

// search finds the deadlocks of a net and, where conditions exclude one, those that it
// hides: Decide finds one cycle of several that share a server.
type search struct {
	program  *program.Program
	all      locations // built when needed
	found    []diagnosis
	reported map[int]bool // the processes in found
	left     int
}

func (s *search) in(n *waits.Net) {
	s.left--
	var excluded []waits.Deadlock
	for _, d := range waits.Decide(n) {
		if heatsOwn(n, d) {
			continue // HeatCycles reports it
		}
		if s.all == nil {
			s.all = findAll(s.program)
		}
		if s.all.exclude(n, d) {
			excluded = append(excluded, d) // Heat never creates all of them
			continue
		}
		if slices.ContainsFunc(d.Cycle, func(w waits.Wait) bool { return s.reported[w.Process] }) {
			continue
		}
		for _, w := range d.Cycle {
			s.reported[w.Process] = true
		}
		turn(&d)
		s.found = append(s.found, diagnosis{net: n, deadlock: d})
	}
	for _, d := range excluded {
		for _, p := range s.all.mayLack(n, d) {
			if s.left > 0 {
				s.in(n.Without(p))
			}
		}
	}
}

// heatsOwn says whether a cycle contains no role.
func heatsOwn(n *waits.Net, d waits.Deadlock) bool {
	return !slices.ContainsFunc(d.Cycle, func(w waits.Wait) bool { return !n.Processes[w.Process].Tasks[w.Task].Heat || w.WriteTask > 0 })
}

// turn starts a cycle at its first process, so that the diagnosis is deterministic.
func turn(d *waits.Deadlock) {
	first := 0
	for i, w := range d.Cycle {
		if f := d.Cycle[first]; w.Process < f.Process || w.Process == f.Process && w.Task < f.Task {
			first = i
		}
	}
	d.Cycle = append(append([]waits.Wait{}, d.Cycle[first:]...), d.Cycle[:first]...)
}

// diagnosis explains one deadlock.
type diagnosis struct {
	net      *waits.Net
	deadlock waits.Deadlock
}

func (s diagnosis) diagnostic() *source.Diagnostic {
	d := &source.Diagnostic{Code: source.Deadlock, At: s.deadlock.Cycle[0].Read.At, Message: s.message()}
	switch s.deadlock.Verdict {
	case waits.Certain:
	case waits.Timed:
		d.Code, d.Severity = source.TimedDeadlock, source.Warning
	default:
		d.Code, d.Severity = source.PossibleDeadlock, source.Warning
	}
	for i, w := range s.deadlock.Cycle {
		if told, left := shows(i, len(s.deadlock.Cycle)); told {
			d.Notes = append(d.Notes, s.reads(w), s.writes(i))
		} else if left > 0 {
			d.Notes = append(d.Notes, source.Note{Message: fmt.Sprintf("… %d more, each of which waits for the next", left)})
		}
	}
	if s.deadlock.Behind > 0 {
		d.Notes = append(d.Notes, source.Note{Message: fmt.Sprintf("%d more processes wait for them", s.deadlock.Behind)})
	}
	d.Hint = s.hint()
	return d
}

// who names the task of a process.
func (s diagnosis) who(process, task int) string {
	p := &s.net.Processes[process]
	if t := &p.Tasks[task]; !t.Heat {
		return p.Name + "." + t.Name
	}
	if p.Condition {
		return p.Name
	}
	return "resource " + p.Name
}

// spelledOut describes who waits for whom.
func (s diagnosis) spelledOut() string {
	cycle := s.deadlock.Cycle
	var names []string
	for _, w := range cycle {
		if name := s.who(w.Process, w.Task); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	if len(cycle) == 1 {
		return names[0] + " waits for " + s.what(cycle[0])
	}
	return spelledOut(names)
}

func (s diagnosis) message() string {
	wait := s.spelledOut()
	switch s.deadlock.Verdict {
	case waits.Certain:
		return "deadlock in every order of events: " + wait
	case waits.Conditional:
		return fmt.Sprintf("deadlock if the condition %s is %s: %s", s.deadlock.Key, [...]string{"true", "false"}[min(1, s.deadlock.Way)], wait)
	case waits.Timed:
		return fmt.Sprintf("deadlock that only a timeout ends, after %s: %s", seconds(s.first().Read.Timeout), wait)
	default:
		return "possible deadlock, if reads precede the writes that others wait for: " + wait
	}
}

// first is the read in the cycle with the shortest timeout.
func (s diagnosis) first() waits.Wait {
	var first *waits.Wait
	for i := range s.deadlock.Cycle {
		w := &s.deadlock.Cycle[i]
		if w.Read.Timeout > 0 && (first == nil || w.Read.Timeout < first.Read.Timeout) {
			first = w
		}
	}
	return *first
}

// what names the cell that is waited for, with its writer.
func (s diagnosis) what(w waits.Wait) string {
	next := s.after(w)
	whose := "its own"
	if next.Process != w.Process || w.WriteTask != w.Task {
		whose = s.who(next.Process, w.WriteTask) + "'s"
	}
	t := &s.net.Processes[next.Process].Tasks[w.WriteTask]
	switch {
	case t.Heat && w.Cell == t.Completion:
		return s.who(next.Process, w.WriteTask) + " to exist"
	case t.Heat && s.cell(w).Kind == contract.FactCell:
		return "the fact " + s.net.Cells[w.Cell]
	case t.Heat:
		return fmt.Sprintf("Heat to begin with %s, which contains it", s.net.Cells[w.Cell])
	case w.Cell == t.Completion:
		return whose + " completion"
	}
	return fmt.Sprintf("%s output %q", whose, s.cell(w).Name)
}

// cell parses the name of a cell, which the next process in the cycle writes.
func (s diagnosis) cell(w waits.Wait) contract.CellParts {
	return contract.CellName(s.net.Cells[w.Cell]).Of(contract.ServerPath(s.net.Processes[s.after(w).Process].Name))
}

func (s diagnosis) after(w waits.Wait) waits.Wait {
	for i := range s.deadlock.Cycle {
		if s.deadlock.Cycle[i].Read == w.Read && s.deadlock.Cycle[i].Cell == w.Cell {
			return s.deadlock.Cycle[(i+1)%len(s.deadlock.Cycle)]
		}
	}
	return w
}

func (s diagnosis) reads(w waits.Wait) source.Note {
	how := " waits for "
	if w.Read.Guess {
		how = ", whose order of reads and writes is unknown, waits at some point for "
	}
	text := s.who(w.Process, w.Task) + how + s.what(w)
	if !s.net.Processes[w.Process].Tasks[w.Task].Heat && strings.HasPrefix(w.Read.What, "input ") {
		text += " (" + w.Read.What + ")"
	}
	if w.Read.Timeout > 0 {
		text += ", at most " + seconds(w.Read.Timeout) + "; then it fails, and so does everything that waits for it"
	}
	if w.Read.Why != "" {
		text += ": " + w.Read.Why
	}
	return source.Note{At: w.Read.At, Message: text}
}

// writes explains why the write is too late: what its process waits for before it.
func (s diagnosis) writes(i int) source.Note {
	w, next := s.deadlock.Cycle[i], s.deadlock.Cycle[(i+1)%len(s.deadlock.Cycle)]
	writer := &s.net.Processes[next.Process].Tasks[w.WriteTask]
	at := writer.At
	if w.Write != nil {
		at = w.Write.At
	}
	name := s.who(next.Process, w.WriteTask)
	switch {
	case writer.Heat && next.Task == w.WriteTask:
		return source.Note{At: at, Message: fmt.Sprintf("Heat creates %s only after %s", s.net.Processes[next.Process].Name, next.Read.What)}
	case next.Task != w.WriteTask && s.net.Processes[next.Process].Tasks[next.Task].Heat:
		return source.Note{At: at, Message: fmt.Sprintf("%s begins only when its server exists", name)}
	case next.Task != w.WriteTask:
		return source.Note{At: at, Message: fmt.Sprintf("%s begins only when %s, which is listed before it, is done", name, s.who(next.Process, next.Task))}
	case w.Cell == writer.Completion:
		return source.Note{At: at, Message: fmt.Sprintf("%s is done only after %s", name, has(next.Read))}
	case w.Write == nil:
		return source.Note{At: at, Message: fmt.Sprintf("%s writes it only at its end, after %s", name, has(next.Read))}
	}
	return source.Note{At: at, Message: fmt.Sprintf("%s writes it only after %s", name, has(next.Read))}
}

// has describes the end of a read.
func has(read *waits.Step) string {
	if strings.HasPrefix(read.What, "role ") {
		return read.What + " is done"
	}
	return "it has read " + read.What
}

// maxFixes bounds how many changes a hint names.
const maxFixes = 3

// hint names the changes that break the cycle.
func (s diagnosis) hint() string {
	var parts []string
	for _, f := range s.net.Fixes(s.deadlock, maxFixes) {
		link := s.deadlock.Cycle[f.Link]
		before := s.deadlock.Cycle[(f.Link+len(s.deadlock.Cycle)-1)%len(s.deadlock.Cycle)]
		who := s.who(link.Process, link.Task)
		switch f.Kind {
		case waits.Swap:
			parts = append(parts, fmt.Sprintf("list %s before %s", s.who(link.Process, before.WriteTask), who))
		case waits.Split:
			parts = append(parts, fmt.Sprintf("split %s before it reads %s%s, and wait for the first part only", who, link.Read.What, at(link.Read)))
		case waits.PublishFirst:
			parts = append(parts, fmt.Sprintf("make %s publish output %q before it reads %s%s", who, s.cell(before).Name, link.Read.What, at(link.Read)))
		}
	}
	if len(parts) == 0 {
		return "no single change of order breaks the cycle: remove one of these reads"
	}
	return strings.Join(parts, "; or ")
}

func at(s *waits.Step) string {
	if s.Guess || !s.At.Known() {
		return ""
	}
	return " (" + s.At.String() + ")"
}

func seconds(s float64) string {
	switch {
	case s >= 3600 && s == float64(int(s/3600))*3600:
		return fmt.Sprintf("%g h", s/3600)
	case s >= 60 && s == float64(int(s/60))*60:
		return fmt.Sprintf("%g min", s/60)
	}
	return fmt.Sprintf("%g s", s)
}
