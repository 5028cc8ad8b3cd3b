package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// unknownProperty is a warning, as is all that follows from the table: a cloud's Heat may
// know more, unless the table is certainly its own.
var unknownProperty = Rule{Code: source.UnknownProperty, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findUnknownProperties}

// maxNames bounds how many names a hint lists.
const maxNames = 12

func findUnknownProperties(l *Checker) {
	for _, t := range l.Typed() {
		if !l.IsCall(t.Node) {
			continue
		}
		for p := range l.Parts(t) {
			has, may, is := p.fields()
			if !is {
				continue
			}
			for _, name := range has.Keys() {
				if !slices.Contains(may, name) {
					l.ReportProperty(t.In, []string{t.key}, t.Node, fmt.Sprintf("%s has no property %q in %s", p.name(), name, l.Types.Says(t.In.Type)), p.known)
				}
			}
		}
	}
	for _, b := range l.Blocks() {
		for _, e := range b.Node.All() {
			if b.Known[e.Name] != nil {
				continue
			}
			d := l.ReportProperty(b, []string{e.Name}, e.Key, fmt.Sprintf("%s has no property %q in %s", b.Of, e.Name, l.Types.Says(b.Type)), Known{})
			if near := hot.Nearest(e.Name, b.names()); near != "" {
				d.Meant(e.Name, near)
			} else if names := b.names(); len(names) <= maxNames {
				d.Hint = "it has " + strings.Join(names, ", ")
			}
		}
	}
}
