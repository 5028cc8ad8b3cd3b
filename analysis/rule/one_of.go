package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

var oneOf = Rule{Code: source.OneOf, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findOneOf}

// why are reasons for what is not obvious.
var why = map[string]string{"OS::Nova::KeyPair": "Nova no longer generates keys, from version 2.92 on"}

func findOneOf(l *Checker) {
	for _, b := range l.Blocks() {
		for names, beside := range b.sets(b.Type.OneOf, func(d demand) []string { return d.oneOf }) {
			if !slices.ContainsFunc(names, b.Has) && !l.incomplete(b) {
				what := fmt.Sprintf("one of the properties %s", strings.Join(names, ", "))
				if len(names) == 1 {
					what = fmt.Sprintf("the property %q", names[0])
				}
				l.Report(b.within(), fmt.Sprintf("%s needs %s%s", b.Of, what, beside), why[b.Type.Name])
			}
		}
	}
}
