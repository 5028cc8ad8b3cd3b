package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
)

var propertyLimit = Rule{Code: source.PropertyLimit, Category: Resources, Severity: source.Warning, Truth: HeatRefuses, Template: findPropertyLimits}

// findPropertyLimits compares values with the constraints that Heat's tables hold.
func findPropertyLimits(l *Look) {
	for _, t := range l.Typed() {
		for _, k := range l.valuesOf(t) {
			if !t.Property.Kind.Takes(k.Value) || l.partly(t) {
				continue
			}
			if err := t.Property.Violation(k.Value); err != nil {
				l.Found(t.Node, when(fmt.Sprintf("%s: %s", t.Name, err), k), "")
				break
			}
		}
	}
}

// partly says whether a list is known only in part: some of its items are computed.
func (l *Look) partly(t *Typed) bool { return t.Node.Items != nil && l.computed(t.Node) }
