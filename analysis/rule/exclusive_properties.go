package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

var exclusiveProperties = Rule{Code: source.ExclusiveProperties, Category: Resources, Severity: source.Warning, Truth: HeatRefuses, Template: findExclusiveProperties}

// findExclusiveProperties finds properties that a type does not take beside each other, and
// some that it takes only beside another. What a function gives may be nothing.
func findExclusiveProperties(l *Look) {
	for _, b := range l.Blocks() {
		var sets [][]string
		if b.Path == "" {
			sets = slices.Clone(b.Type.Excludes)
		}
		for d := range b.demands {
			if d.excludes != nil {
				sets = append(sets, d.excludes)
			}
		}
		for _, names := range sets {
			if there := l.surely(b, names); len(there) > 1 {
				l.Found(b.Node.Entry(there[1]).Key, fmt.Sprintf("%s takes only one of the properties %s", b.Of, strings.Join(there, ", ")), "leave one of them out")
			}
		}
		for _, pair := range b.Type.Needs {
			if b.Path == "" && len(l.surely(b, pair[:1])) > 0 && b.Node.Entry(pair[1]) == nil {
				l.Found(b.Node.Entry(pair[0]).Key, fmt.Sprintf("%s takes the property %q only beside %q", b.Of, pair[0], pair[1]), "")
			}
		}
	}
}

// surely are those of some properties that have a value, whatever is given.
func (l *Look) surely(b *Block, names []string) []string {
	var there []string
	for _, name := range names {
		if n := b.Get(name); n != nil && !l.mayBeNothing(n) && (l.IsCall(n) || !falsy(n)) {
			there = append(there, name)
		}
	}
	return there
}
