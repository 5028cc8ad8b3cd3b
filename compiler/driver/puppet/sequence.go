package puppet

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/program"
)

// When each phase ends, as a share of the run: compiling takes seconds, applying
// minutes.
const (
	compiled = 0.1
	applied  = 1
)

// sequence is the order of Puppet's own phases: ssh keys are read before it starts, then
// a catalog is compiled, which reads all inputs and assigns all variables, then it is
// applied; facts are published last. The order within a phase depends on the manifests.
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
