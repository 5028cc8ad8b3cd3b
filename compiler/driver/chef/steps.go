package chef

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver/chef/ruby"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// compiling is the estimated share of a run's time before its resources converge.
const compiling = 0.3

// steps returns the reads and writes of all acts, in the order of Chef's phases.
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

// builder collects the steps.
type builder struct {
	*walker
	compile   []program.Step // while recipes are compiled
	compiled  []program.Step // when all are compiled
	maybe     []program.Step // by resources that wait for a notification
	converge  []program.Step
	end       []program.Step          // at the end of the phase, at the latest
	certain   map[string]bool         // outputs that are written for certain
	uncertain map[string]program.Step // other outputs that may be written, by name
	declared  *act                    // the most recently declared resource
}

// place is the act's place.
func (a act) place() source.Place {
	return source.Place{File: a.file, Span: source.Span{Start: uint32(a.From), End: uint32(a.To)}}
}

// act adds the steps of an act.
func (b *builder) act(to *[]program.Step, a act) {
	if a.Phase == ruby.Converge && a.resource != nil && a.resource.Waits {
		// It happens when another resource notifies this one: at any time of the
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

// names returns the names of the inputs, or outputs, in declaration order.
func (b *builder) names(of map[string][]string) []string {
	names := lists.Map(b.Role.Inputs, func(in *program.Input) string { return in.Name })
	names = append(names, lists.Map(b.Role.Outputs, func(o *program.Output) string { return o.Name })...)
	return slices.DeleteFunc(names, func(name string) bool { return of[name] == nil })
}

// readOf adds the read of an input: a certain one if the act names the input or a part
// of it, a possible one if it names something that contains it.
func (b *builder) readOf(to *[]program.Step, a act, name string) {
	input := b.inputs[name]
	short := min(len(input), len(a.Path))
	around := short < len(input)
	if slices.Equal(a.Path[:short], input[:short]) && !(around && a.Presence) {
		note(to, program.Step{Op: program.ReadInput, Name: name, At: a.place()}, a.Perhaps || around)
	}
}

// note adds a step, which is optional if perhaps is set.
func note(to *[]program.Step, step program.Step, perhaps bool) {
	steps := []program.Step{step}
	if perhaps {
		steps = program.Perhaps(step.At, steps)
	}
	*to = append(*to, steps...)
}

// writeOf adds the publication of an output that an act writes. A string, a number or
// a boolean is published at once; what may still grow, and what attribute files set,
// when all is compiled. If the type is unknown, either may happen.
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
		a.Perhaps = true // it may not even be this output
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

// atTheEnd adds writes of the outputs that may not have been written: a role that ends
// without writing one has failed.
func (b *builder) atTheEnd() {
	for _, name := range b.names(b.outputs) {
		if step, perhaps := b.uncertain[name]; perhaps && !b.certain[name] {
			b.end = append(b.end, step)
		}
	}
}

// completes adds the outputs that report the completion of the most recently declared
// resource, after all of its reads. A resource that others notify may complete before its
// turn; one that may not be declared, or waits for a notification, at any time of the
// phase.
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
