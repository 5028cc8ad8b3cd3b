package puppet

import "github.com/hotc-dev/hotc/compiler/program"

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
	var start, compile, apply, end []program.Step
	read := map[string]bool{}
	for _, name := range l.starts {
		read[name] = true
		start = append(start, program.Step{Op: program.ReadInput, Name: name, At: l.role.Input(name).At})
	}
	for _, in := range l.role.Inputs {
		if !read[in.Name] {
			compile = append(compile, program.Step{Op: program.ReadInput, Name: in.Name, At: in.At, Progress: compiled})
		}
	}
	for _, o := range l.role.Outputs {
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
	steps := start
	for _, phase := range [][]program.Step{compile, apply, end} {
		if len(phase) > 0 {
			steps = append(steps, program.Step{Op: program.AnyOrder, Ways: [][]program.Step{phase}, Progress: phase[0].Progress})
		}
	}
	s := &program.Sequence{Steps: steps, Complete: true}
	s.Unread, s.Unwritten = l.unused()
	return s
}
