package rule

import (
	"fmt"
	"iter"
	"strings"

	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var propertyType = Rule{Code: source.PropertyType, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findPropertyTypes}

func findPropertyTypes(l *Checker) {
	findHandedOver(l)
	for _, t := range l.Typed() {
		for p := range l.Parts(t) {
			if !p.property.Kind.Takes(p.value) {
				l.ReportProperty(t.In, []string{t.key}, t.Node, fmt.Sprintf("%s must be %s, not %s", p.name(), p.property.Kind, described(p.value)), p.known)
				break
			}
		}
	}
}

// findHandedOver finds arguments of a nested template that must be strings and are not.
// Parameters of other types are checked when the stack is assembled.
func findHandedOver(l *Checker) {
	for _, s := range l.Uses {
		for e, around := range l.textArguments(s) {
			if around.IsCall(e.Value) {
				continue
			}
			p := l.Template.Parameter(e.Name)
			if _, isFloat := e.Value.Value.(float64); isFloat || e.Value.Kind != yaml.Scalar {
				l.Note(around.Report(e.Value, fmt.Sprintf("%s of %s must be a string, not %s", e.Name, l.Template.File.Name, described(e.Value.Data())), ""), p.Entry.Key, "the parameter")
			}
		}
	}
}

// textArguments visits a nested template's arguments for string parameters, with the Checker of
// the enclosing template, which contains them.
func (l *Checker) textArguments(s *program.Stack) iter.Seq2[*yaml.Entry, *Checker] {
	return func(yield func(*yaml.Entry, *Checker) bool) {
		if s.StackResource == nil || s.StackResource.Definition().Properties == nil {
			return
		}
		around := *l
		around.Template = s.StackResource.In.Template
		properties := s.StackResource.Definition().Properties.Value
		for i := range properties.Entries {
			e := &properties.Entries[i]
			if p := l.Template.Parameter(e.Name); p != nil && p.Type == "string" && !around.IsCall(properties) && !yield(e, &around) {
				return
			}
		}
	}
}

// valuesOf are the known values of a property. A string that contains a group's index
// variable is not known.
func (l *Checker) valuesOf(t *Typed) []Known {
	if !t.valued {
		t.values, t.valued = l.find(t), true
	}
	return t.values
}

func (l *Checker) find(t *Typed) []Known {
	if t.Node.IsNull() {
		return append(t.one[:0], Known{Value: t.Property.Nothing()})
	}
	if !l.IsCall(t.Node) { // nested values are checked by themselves
		switch t.Node.Kind {
		case yaml.List:
			return append(t.one[:0], Known{Value: shallow(t.Node, len(t.Node.Items))})
		case yaml.Map:
			return append(t.one[:0], Known{Value: &value.Dict{}})
		}
	}
	values := l.appendValues(t.one[:0], t.Node)
	if t.index != "" {
		for _, k := range values {
			if text, is := k.Value.(string); is && strings.Contains(text, t.index) {
				return nil
			}
		}
	}
	return values
}

// shallow is a list of which only the length and the scalars are known.
func shallow(n *yaml.Node, length int) []value.Value {
	list := make([]value.Value, length)
	for i, x := range n.Items {
		if x.Kind == yaml.Scalar {
			list[i] = x.Value
		}
	}
	return list
}

// described describes a value of the wrong type in messages.
func described(v value.Value) string {
	switch v := v.(type) {
	case string:
		if len(v) <= 40 {
			return fmt.Sprintf("%q", v)
		}
	case bool, int64:
		return value.ToString(v)
	case float64:
		return "the number " + value.FormatFloat(v)
	}
	return value.TypeName(v)
}
