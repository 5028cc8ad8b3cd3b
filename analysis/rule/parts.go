package rule

import (
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/value"
)

// part is a property's value, or a value inside it that a function yields.
type part struct {
	within   string // "size of ", "an item of "; "" for the property's own value
	of       *Typed
	property *resourcetype.Property
	value    value.Value
	known    Known
}

// name describes it in messages: "size of OS::Cinder::Volume".
func (p part) name() string { return p.within + p.of.Name() }

// Parts visits a property's known values: the parts of a literal one are typed values of
// their own, one that a function yields is taken apart here.
func (l *Checker) Parts(t *Typed) func(yield func(part) bool) {
	return func(yield func(part) bool) {
		for _, k := range l.valuesOf(t) {
			p := part{"", t, t.Property, k.Value, k}
			if !l.IsCall(t.Node) {
				if !yield(p) {
					return
				}
			} else if !p.walk(yield) {
				return
			}
		}
	}
}

func (p part) walk(yield func(part) bool) bool {
	if !yield(p) {
		return false
	}
	switch v := p.value.(type) {
	case []value.Value:
		if p.property.Each == nil {
			break
		}
		for _, x := range v {
			if !(part{"an item of " + p.within, p.of, p.property.Each, x, p.known}).walk(yield) {
				return false
			}
		}
	case *value.Dict:
		for _, name := range v.Keys() {
			if below := p.property.Properties[name]; below != nil {
				if x, _ := v.Get(name); !(part{name + " of " + p.within, p.of, below, x, p.known}).walk(yield) {
					return false
				}
			}
		}
	}
	return true
}

// fields are the names that a map has and may have; false if the part is not such a map.
func (p part) fields() (has *value.Dict, may []string, is bool) {
	has, is = p.value.(*value.Dict)
	return has, slices.Sorted(maps.Keys(p.property.Properties)), is && p.property.Properties != nil
}
