package binding

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Places that decide the stack's topology: which resources there are, how many and of
// what type. Heat evaluates them before it creates anything, so no value that a role
// writes may reach one, by whatever path.

// alternativeTo suggests an alternative to a run-time value in a place.
func alternativeTo(what string) string {
	switch what {
	case "condition", "conditions", "Condition", "Conditions":
		return "decide it by a parameter; or always create the resource, and let a role that reads the value decide what to do"
	case "count", "min_size", "max_size", "desired_capacity", "Size", "MinSize", "MaxSize", "DesiredCapacity":
		return "pass the number as a parameter; or create as many members as may be needed, and let a role in each wait for the value and decide whether to work"
	case "type", "resources":
		return "choose the type in the resource_registry of an environment"
	}
	return "decide it by a parameter"
}

// topology refuses a value that a role writes in a place that decides the stack's
// topology, with the path from there to the role. It says whether it did.
func (b *binder) topology(what string, e *hot.Expr) bool {
	path := b.runTime().Find(b.stack, e)
	if path == nil {
		return false
	}
	if b.refused[path.At] { // by another use of the template
		return true
	}
	b.refused[path.At] = true
	o := path.Output
	d := b.diags.Error(source.RunTimeInTopology, path.At, fmt.Sprintf("%s decides the topology of the stack and cannot wait for %s.%s, which a role writes", placeOf(what), o.Role.Server.Path, o.Attribute), alternativeTo(what))
	d.Notes = append(append(d.Notes, path.Hops...), source.Note{At: o.At, Message: fmt.Sprintf("role %s writes it, once its server exists", o.Role.Key())})
	return true
}

// placeOf names a place in a sentence.
func placeOf(what string) string {
	switch what {
	case "conditions", "Conditions":
		return "a condition"
	case "resources":
		return "the list of resources"
	}
	return "`" + what + "`"
}

// runTime finds the path to a value that a role writes.
func (b *binder) runTime() *trace.Finder {
	if b.written == nil {
		b.written = trace.NewFinder(func(o trace.Origin) bool { return o.Output != nil && o.Output.Value == nil }, nil)
	}
	return b.written
}

// topologyPlace checks a place that decides the stack's topology.
func (b *binder) topologyPlace(p program.Place) {
	if b.topology(p.Entry.Name, b.template.Expr(p.Node)) {
		return
	}
	owner := ""
	if p.Resource != nil {
		owner = p.Resource.Name
	}
	b.live(p.Node, b.uses(owner, p.Node, func(read *Read) { b.known(read) }))
}
