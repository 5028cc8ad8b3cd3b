package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var propertyLimit = Rule{Code: source.PropertyLimit, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findPropertyLimits}

// findPropertyLimits checks values against the constraints in Heat's tables.
func findPropertyLimits(l *Checker) {
	for _, t := range l.Typed() {
		for p := range l.Parts(t) {
			if !p.property.Kind.Takes(p.value) || l.partly(t) {
				continue
			}
			if err := p.property.Violation(p.value); err != nil {
				l.ReportProperty(t.In, []string{t.key}, t.Node, fmt.Sprintf("%s: %s", p.name(), err), p.known)
				break
			}
		}
	}
}

// partly says whether a list is known only in part: some of its items are computed.
func (l *Checker) partly(t *Typed) bool { return t.Node.Kind == yaml.List && l.computed(t.Node) }
