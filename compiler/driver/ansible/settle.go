package ansible

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Placeholders for unknown writes, resolved when all steps are known: they stand for the
// outputs that no task visibly writes.
const (
	someFacts = "\x00facts" // variables
	anyOutput = "\x00any"   // variables and task results
)

func (w *walker) mayWrite(at source.Place, what string) program.Step {
	w.spend(len(w.Role.Outputs))
	return program.Step{Op: program.WriteOutput, Name: what, At: at, Progress: w.progress()}
}

// settle turns the tasks' writes into publications of outputs.
func (w *walker) settle(steps []program.Step) []program.Step {
	count := map[string]int{}
	(&program.Sequence{Steps: steps}).Walk(func(s *program.Step) {
		if s.Op == program.WriteOutput {
			count[s.Name]++
		}
	})
	var unseenFacts, unseen []string
	for _, o := range w.Role.Outputs {
		if count[o.Name] > 0 {
			continue
		}
		unseen = append(unseen, o.Name)
		if o.Resource == "" {
			unseenFacts = append(unseenFacts, o.Name)
		}
	}
	steps = expand(steps, map[string][]string{someFacts: unseenFacts, anyOutput: unseen})
	for _, o := range w.Role.Outputs {
		if count[o.Name] > 1 {
			steps = publishLast(steps, o.Name)
		}
		top, _, _ := strings.Cut(o.Name, ".")
		if made := w.variables.made[top]; count[o.Name] == 0 && o.Resource == "" && len(made) > 0 {
			// a variable that no task sets is published at the end
			at := made[0].place()
			steps = append(steps, program.Perhaps(at, w.read(mention{path: []string{top}}, at, nil))...)
			steps = append(steps, program.Perhaps(at, []program.Step{{Op: program.WriteOutput, Name: o.Name, At: at, Progress: 1}})...)
		}
	}
	return steps
}

// expand replaces placeholders with the outputs they stand for.
func expand(steps []program.Step, what map[string][]string) []program.Step {
	return program.Rewritten(steps, func(s program.Step) []program.Step {
		names, isAny := what[s.Name]
		if s.Op != program.WriteOutput || !isAny {
			return []program.Step{s}
		}
		return lists.Flat(names, func(name string) []program.Step {
			s.Name = name
			return program.Perhaps(s.At, []program.Step{s})
		})
	})
}

// publishLast merges the writes of an output into one after the last: only then is it
// known that no other follows.
func publishLast(steps []program.Step, name string) []program.Step {
	last, certain := -1, false
	var write program.Step
	for i := range steps {
		(&program.Sequence{Steps: steps[i : i+1]}).Walk(func(s *program.Step) {
			if s.Op == program.WriteOutput && s.Name == name {
				last, write = i, *s
			}
		})
		certain = certain || steps[i].Op == program.WriteOutput && steps[i].Name == name
	}
	publish := []program.Step{write}
	if !certain {
		publish = program.Perhaps(write.At, publish)
	}
	var out []program.Step
	for i, s := range steps {
		out = append(out, without([]program.Step{s}, name)...)
		if i == last {
			out = append(out, publish...)
		}
	}
	return out
}

func without(steps []program.Step, name string) []program.Step {
	return program.Rewritten(steps, func(s program.Step) []program.Step {
		isEmpty := s.Op == program.Fork && !slices.ContainsFunc(s.Ways, func(way []program.Step) bool { return len(way) > 0 })
		if isEmpty || s.Op == program.WriteOutput && s.Name == name {
			return nil
		}
		return []program.Step{s}
	})
}
