package program

import (
	"maps"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Sequence is the order in which a role's source reads inputs and writes outputs,
// as far as its driver knows. A role without one may do both at any time.
type Sequence struct {
	Steps []Step
	// Complete says that these are all: an input that no step reads is never read.
	// Otherwise the rest may be read and written at any time.
	Complete bool
	// Lost are the inputs and outputs that the source reads or writes in a way that loses
	// the value.
	Lost map[string]Lost
	// Unread are inputs that the source certainly never reads, and Unwritten outputs that
	// it never writes, even where the steps are incomplete. The value is what may have been
	// meant instead, or "".
	Unread, Unwritten map[string]string
	// Printed are the inputs that the source prints to the log; "" stands for all
	// arguments of its commands.
	Printed map[string]source.Place
	// Split are the inputs whose items the source takes for the words of a text.
	Split map[string]source.Place
}

// Lost is why a value is lost.
type Lost struct {
	At  source.Place // of the cause
	Why string
}

// Step is one operation of a source, or a fork of its control flow.
type Step struct {
	Op   StepOp
	Name string // of the input or output
	At   source.Place
	// Progress is the step's position in the source, from 0 to 1.
	Progress float64
	// Ways are the branches of a fork; exactly one is taken. An AnyOrder has a single one,
	// with the steps that happen in any order.
	Ways [][]Step
	// Text is what an Assume compares an input with; Differs, that the input has another value.
	Text    string
	Differs bool
}

// StepOp is the kind of a step.
type StepOp uint8

// The steps of a source.
const (
	ReadInput StepOp = iota
	WriteOutput
	Fork     // one of the ways is taken
	AnyOrder // all steps happen, in unknown order
	ReadAny  // some unknown input may be read
	Assume   // at the beginning of a way, which is taken only where the input has this text
)

// Walk visits all steps, including those within forks, in source order.
func (s *Sequence) Walk(visit func(*Step)) {
	if s != nil {
		walkSteps(s.Steps, visit)
	}
}

// At is the sequence with its positions mapped by place from the source's own text to the
// enclosing file.
func (s *Sequence) At(place func(source.Span) source.Place) *Sequence {
	there := *s
	there.Steps = Rewritten(s.Steps, func(s Step) []Step {
		s.At = place(s.At.Span)
		return []Step{s}
	})
	there.Lost = make(map[string]Lost, len(s.Lost))
	for name, lost := range s.Lost {
		there.Lost[name] = Lost{At: place(lost.At.Span), Why: lost.Why}
	}
	there.Printed, there.Split = placed(s.Printed, place), placed(s.Split, place)
	return &there
}

func placed(in map[string]source.Place, place func(source.Span) source.Place) map[string]source.Place {
	there := make(map[string]source.Place, len(in))
	for name, at := range in {
		there[name] = place(at.Span)
	}
	return there
}

// Rewritten replaces each step by change's result; those within forks first.
func Rewritten(steps []Step, change func(Step) []Step) []Step {
	return lists.Flat(steps, func(s Step) []Step {
		s.Ways = lists.Map(s.Ways, func(way []Step) []Step { return Rewritten(way, change) })
		return change(s)
	})
}

// Then is the sequence of a source followed by another; nil if either is unknown.
func (s *Sequence) Then(next *Sequence) *Sequence {
	if s == nil || next == nil {
		return nil
	}
	return &Sequence{Complete: s.Complete && next.Complete, Steps: append(scaled(s.Steps, 0), scaled(next.Steps, 0.5)...), Lost: over(next.Lost, s.Lost),
		Unread: inBoth(s.Unread, next.Unread), Unwritten: inBoth(s.Unwritten, next.Unwritten), Printed: over(next.Printed, s.Printed), Split: over(next.Split, s.Split)}
}

// over merges two maps; above overrides below.
func over[V any](below, above map[string]V) map[string]V {
	both := map[string]V{}
	maps.Copy(both, below)
	maps.Copy(both, above)
	return both
}

func inBoth(a, b map[string]string) map[string]string {
	both := over(nil, a)
	maps.DeleteFunc(both, func(name, _ string) bool { _, too := b[name]; return !too })
	return both
}

// scaled halves the progress of steps, offset by from.
func scaled(steps []Step, from float64) []Step {
	return Rewritten(steps, func(s Step) []Step {
		s.Progress = from + s.Progress/2
		return []Step{s}
	})
}

// Perhaps are steps that may not happen.
func Perhaps(at source.Place, steps []Step) []Step {
	switch {
	case len(steps) == 0:
		return nil
	case len(steps) == 1 && steps[0].Op == Fork && len(steps[0].Ways) == 2 && len(steps[0].Ways[0]) == 0:
		return steps // already
	}
	return []Step{{Op: Fork, At: at, Progress: steps[0].Progress, Ways: [][]Step{nil, steps}}}
}

// Spread sets the steps' progress evenly from one point of the run to another, as an
// estimate.
func Spread(steps []Step, from, to float64) []Step {
	for i := range steps {
		end := from + (to-from)*float64(i+1)/float64(len(steps))
		steps[i].Progress = end
		for _, way := range steps[i].Ways {
			Spread(way, from, end)
		}
	}
	return steps
}

func walkSteps(steps []Step, visit func(*Step)) {
	for i := range steps {
		visit(&steps[i])
		for _, way := range steps[i].Ways {
			walkSteps(way, visit)
		}
	}
}
