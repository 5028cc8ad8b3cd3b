package chef

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver/chef/ruby"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// How much of a run's time is spent before its resources converge, as far as anybody
// can say.
const compiling = 0.3

// steps are the reads and writes of all acts, in the order of Chef's phases.
func (w *walker) steps() []program.Step {
	b := &builder{walker: w, certain: map[string]bool{}, uncertain: map[string]program.Step{}}
	for _, a := range w.acts {
		switch {
		case a.Op == ruby.Resource:
			b.completes()
			b.declared = &a
		case a.Phase == ruby.Converge:
			b.act(&b.converge, a)
		default:
			b.act(&b.compile, a)
		}
	}
	b.completes()
	b.atTheEnd()
	program.Spread(b.compile, 0, compiling)
	program.Spread(b.compiled, compiling, compiling)
	program.Spread(b.maybe, compiling, compiling)
	program.Spread(b.converge, compiling, 1)
	program.Spread(b.end, 1, 1)
	return slices.Concat(b.compile, b.compiled, b.maybe, b.converge, b.end)
}

// builder makes the steps.
type builder struct {
	*walker
	compile   []program.Step // while recipes are compiled
	compiled  []program.Step // when all is
	maybe     []program.Step // what resources do that wait for a notification
	converge  []program.Step
	end       []program.Step          // what resources have written at the latest
	certain   map[string]bool         // outputs that are written for certain
	uncertain map[string]program.Step // others that are perhaps written, by name
	declared  *act                    // the resource that was declared last
}

// place is where an act stands.
func (a act) place() source.Place {
	return source.Place{File: a.file, Span: source.Span{Start: uint32(a.From), End: uint32(a.To)}}
}

// act notes a read or a write.
func (b *builder) act(to *[]program.Step, a act) {
	if a.Phase == ruby.Converge && a.resource != nil && a.resource.Waits {
		// It happens when another resource has notified this one: at any time of the
		// phase, or never.
		a.Perhaps = true
		to = &b.maybe
	}
	switch a.Op {
	case ruby.Whole:
		*to = append(*to, program.Step{Op: program.ReadAny, At: a.place()})
	case ruby.Read:
		for _, name := range b.names(b.inputs) {
			b.readOf(to, a, name)
		}
	case ruby.Write:
		for _, name := range b.names(b.outputs) {
			b.writeOf(to, a, name)
		}
	case ruby.Resource, ruby.Include:
	}
}

// names are those of the inputs, or outputs, as they are declared.
func (b *builder) names(of map[string][]string) []string {
	names := lists.Map(b.Role.Inputs, func(in *program.Input) string { return in.Name })
	names = append(names, lists.Map(b.Role.Outputs, func(o *program.Output) string { return o.Name })...)
	return slices.DeleteFunc(names, func(name string) bool { return of[name] == nil })
}

// readOf notes that an act reads an input: for certain where it names it, or what
// lies in its value; perhaps where it names a place around it.
func (b *builder) readOf(to *[]program.Step, a act, name string) {
	input := b.inputs[name]
	short := min(len(input), len(a.Path))
	around := short < len(input)
	if slices.Equal(a.Path[:short], input[:short]) && !(around && a.Presence) {
		note(to, program.Step{Op: program.ReadInput, Name: name, At: a.place()}, a.Perhaps || around)
	}
}

// note adds a step of an act, which perhaps happens only if the act does.
func note(to *[]program.Step, step program.Step, perhaps bool) {
	steps := []program.Step{step}
	if perhaps {
		steps = program.Perhaps(step.At, steps)
	}
	*to = append(*to, steps...)
}

// writeOf notes when an output is published that an act writes. A text, a number or
// a boolean is at once; what may still grow, and what attribute files say, when all
// is compiled. Where nobody can tell which it is, both may be.
func (b *builder) writeOf(to *[]program.Step, a act, name string) {
	output := b.outputs[name]
	short := min(len(output), len(a.Path))
	if b.certain[name] || !slices.Equal(output[:short], a.Path[:short]) {
		return
	}
	exact := len(a.Path) == len(output) && !a.Grows
	scalar := exact && (a.Scalar || !a.Compound && b.Role.Output(name).Type.Scalar())
	step := program.Step{Op: program.WriteOutput, Name: name, At: a.place()}
	later := &b.compiled
	if a.Phase == ruby.Converge {
		later = to
	}
	if a.Phase == ruby.AnyTime || len(a.Path) < len(output) {
		a.Perhaps = true // and with it, whether it is this output at all
	}
	switch {
	case a.attributes:
		note(later, step, a.Perhaps)
	case scalar:
		note(to, step, a.Perhaps)
	default:
		if to != later {
			note(to, step, true)
		}
		note(later, step, a.Perhaps)
	}
	b.certain[name] = !a.Perhaps
	b.uncertain[name] = step
}

// atTheEnd notes outputs that are only perhaps written: a role that has not written
// one when it ends has failed.
func (b *builder) atTheEnd() {
	for _, name := range b.names(b.outputs) {
		if step, perhaps := b.uncertain[name]; perhaps && !b.certain[name] {
			b.end = append(b.end, step)
		}
	}
}

// completes notes the outputs that are the completion of the resource that was
// declared last: all that it reads, it has read by then. One that others notify may
// be done before its turn; one that is perhaps not declared, or waits for a
// notification, at any time of the phase.
func (b *builder) completes() {
	a := b.declared
	if a == nil {
		return
	}
	b.declared = nil
	for _, o := range b.Role.Outputs {
		if o.Resource == "" || o.Resource != a.Name || b.certain[o.Name] {
			continue
		}
		step := program.Step{Op: program.WriteOutput, Name: o.Name, At: a.place()}
		if a.Perhaps || a.Waits || a.Phase == ruby.AnyTime || strings.Contains(b.mentions.String(), o.Resource) {
			note(&b.maybe, step, true)
			b.end = append(b.end, step)
		} else {
			b.converge = append(b.converge, step)
		}
		b.certain[o.Name] = true
	}
}
