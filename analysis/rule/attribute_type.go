package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
)

var attributeType = Rule{Code: source.AttributeType, Category: Resources, Severity: source.Warning, Evidence: CreationFails, Template: findAttributeTypes}

// findAttributeTypes finds whole attributes as values of properties of another type: Heat
// notices when it has the value (heat/engine/properties.py, Property.get_value).
func findAttributeTypes(l *Checker) {
	for _, v := range l.Typed() {
		r := l.Ref(v.Node)
		t, kind := l.attribute(r)
		if t == nil || len(r.Path) > 0 || r.Computed || takes(v.Property.Kind, kind) {
			continue
		}
		hint := ""
		if kind == resourcetype.Map || kind == resourcetype.List {
			hint = fmt.Sprintf("select a part: {get_attr: [%s, %s, …]}", r.Name, r.Attribute)
		}
		l.Report(v.Node, fmt.Sprintf("%s must be %s, but the attribute %q of %s is %s in %s", v.Name(), v.Property.Kind, r.Attribute, t.Name, kind, l.Types.Says(t)), hint)
	}
}

// takes says whether a property may accept an attribute of a type.
func takes(property, attribute resourcetype.Kind) bool {
	collection := attribute == resourcetype.Map || attribute == resourcetype.List
	switch property {
	case resourcetype.String, resourcetype.Integer, resourcetype.Number, resourcetype.Boolean:
		return !collection
	case resourcetype.Map, resourcetype.List:
		return attribute == property || attribute == "" || attribute == resourcetype.Any
	case resourcetype.Any:
	}
	return true
}
