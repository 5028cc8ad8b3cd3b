package puppet

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/program"
)

// The parts of a run, as far through it as they end: compiling takes seconds where
// applying takes minutes.
const (
	compiled = 0.1
	applied  = 1
)

// sequence is the order that Puppet's own phases give: keys of repositories before it
// starts, then a catalog is compiled, which reads all inputs and assigns all
// variables, then it is applied; facts are published last. What a phase does first
// depends on the manifests.
func (l *lowering) sequence() *program.Sequence {
	var compile, apply, end []program.Step
	for _, in := range l.Role.Inputs {
		if !slices.Contains(l.Starts, in.Name) {
			compile = append(compile, program.Step{Op: program.ReadInput, Name: in.Name, At: in.At, Progress: compiled})
		}
	}
	for _, o := range l.Role.Outputs {
		step := program.Step{Op: program.WriteOutput, Name: o.Name, At: o.At, Progress: applied}
		switch kind, _ := outputOf(o); kind {
		case "resource":
			apply = append(apply, step)
		case "fact":
			end = append(end, step)
		default:
			step.Progress = compiled
			compile = append(compile, step)
		}
	}
	steps := l.Start()
	for _, phase := range [][]program.Step{compile, apply, end} {
		if len(phase) > 0 {
			steps = append(steps, program.Step{Op: program.AnyOrder, Ways: [][]program.Step{phase}, Progress: phase[0].Progress})
		}
	}
	s := &program.Sequence{Steps: steps, Complete: true}
	s.Unread, s.Unwritten = l.unused()
	return s
}
