package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var dependentProperty = Rule{Code: source.DependentProperty, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findDependentProperties}

// findDependentProperties finds properties that a type requires, or does not accept, because
// of the value of another one.
func findDependentProperties(l *Checker) {
	for _, b := range l.Blocks() {
		l.valueSpecs(b)
		if relation := relations[b.Type.Name]; relation != nil && b.Path == "" {
			relation(l, b)
		}
		for d := range b.demands {
			l.ascending(b, d.ascending)
			if len(d.needs)+len(d.without) == 0 && d.property == "" {
				continue
			}
			decides, because, holds := Known{}, d.because(), d.of == ""
			if d.of != "" {
				decides, holds = l.decided(b, d)
				because = fmt.Sprintf(" where %s is %s", strings.TrimPrefix(d.of, "/"), describeValue(decides.Value))
			}
			if !holds {
				continue
			}
			for _, name := range d.needs {
				if !l.incomplete(b) && b.Node.Entry(name) == nil && (b.Known[name] == nil || b.Known[name].Default == nil && (b.Known[name].Instead == "" || b.Node.Entry(b.Known[name].Instead) == nil)) {
					l.Report(b.within(), when(fmt.Sprintf("%s needs the property %q%s", b.Of, name, because), decides), "")
				}
			}
			l.valued(b, d, decides, because)
			for _, name := range l.certainlySet(b, d.without) {
				l.Report(b.Node.Entry(name).Key, when(fmt.Sprintf("%s does not accept the property %q%s", b.Of, name, because), decides), "")
			}
		}
	}
}

// valueSpecs finds properties among the value_specs of a network (heat/engine/resources/
// openstack/neutron/neutron.py, validate_properties; types with a validate() of their own
// drop its result).
func (l *Checker) valueSpecs(b *Block) {
	specs := b.Get("value_specs")
	if b.Path != "" || b.Type.Name != "OS::Neutron::Net" || specs == nil || l.IsCall(specs) {
		return
	}
	for _, e := range specs.All() {
		if b.Known[e.Name] != nil || e.Name == "shared" || e.Name == "tenant_id" {
			l.Report(e.Key, fmt.Sprintf("%s does not accept %q among its value_specs", b.Of, e.Name), "")
		}
	}
}

// valued checks the value of a demand's property.
func (l *Checker) valued(b *Block, d demand, decides Known, because string) {
	n := b.Get(d.property)
	if d.property == "" || n == nil || l.falsyToHeat(n) {
		return
	}
	k, known := l.Value(n)
	if !known {
		return
	}
	if k.If == "" {
		k.If = decides.If
	}
	is, want := d.says, d.like
	if want == nil {
		is, want = strings.Join(d.values, " or "), func(v value.Value) bool { return slices.Contains(d.values, value.ToString(v)) }
	}
	if !want(k.Value) {
		l.Report(n, when(fmt.Sprintf("%s of %s must be %s%s", d.property, b.Of, is, because), k), "")
	}
}

// falsyToHeat says whether Heat treats a value as unset.
func (l *Checker) falsyToHeat(n *yaml.Node) bool {
	k, known := l.Value(n)
	return known && !value.Truthy(k.Value)
}

// decided is the value of the property that decides, and whether a demand holds for it.
func (l *Checker) decided(b *Block, d demand) (Known, bool) {
	k := Known{}
	if of, outer := strings.CutPrefix(d.of, "/"); outer { // of the resource, for a map within
		d.of = of
		b = &Block{Type: b.Type, Resource: b.Resource, Known: b.Type.Properties, Node: b.Resource.Properties.Value, At: b.At}
	}
	if e := b.Node.Entry(d.of); e != nil {
		known := false
		if k, known = l.Value(e.Value); !known || e.Value.IsNull() || l.incomplete(b) {
			return k, false
		}
	} else if l.incomplete(b) {
		return k, false
	} else if p := b.Known[d.of]; p != nil && p.Default != nil {
		k.Value = p.Nothing()
	}
	text := ""
	if k.Value != nil {
		text = value.ToString(k.Value)
	}
	if yes, is := k.Value.(bool); is {
		text = map[bool]string{true: "true", false: "false"}[yes]
	}
	return k, slices.Contains(d.is, text) || d.not != nil && !slices.Contains(d.not, text)
}

// describeValue describes a value in messages.
func describeValue(v value.Value) string {
	if v == nil {
		return "not set"
	}
	return value.ToString(v)
}

// ascending checks that the known ones among some numbers are in order.
func (l *Checker) ascending(b *Block, names []string) {
	last, lastName := int64(0), ""
	for _, name := range names {
		n := b.Get(name)
		if n == nil {
			continue
		}
		if v, k, known := l.Number(n); known && v >= 0 { // -1 is unlimited
			if lastName != "" && last > v {
				l.Report(n, when(fmt.Sprintf("%s of %s is %d, less than %s, which is %d", name, b.Of, v, lastName, last), k), "")
			}
			last, lastName = v, name
		}
	}
}
