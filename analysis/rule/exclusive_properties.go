package rule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var exclusiveProperties = Rule{Code: source.ExclusiveProperties, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findExclusiveProperties}

// findExclusiveProperties finds properties that exclude each other, and some that require
// another. A function may yield null.
func findExclusiveProperties(l *Checker) {
	for _, b := range l.Blocks() {
		for names := range b.sets(b.Type.Excludes, func(d demand) []string { return d.excludes }) {
			if there := l.certainlySet(b, names); len(there) > 1 {
				l.Report(b.Node.Entry(there[1]).Key, fmt.Sprintf("%s accepts only one of the properties %s", b.Of, strings.Join(there, ", ")), "keep only one of them")
			}
		}
		for _, pair := range b.Type.Needs {
			if b.Path == "" && len(l.certainlySet(b, pair[:1])) > 0 && b.Node.Entry(pair[1]) == nil {
				l.Report(b.Node.Entry(pair[0]).Key, fmt.Sprintf("%s accepts the property %q only together with %q", b.Of, pair[0], pair[1]), "")
			}
		}
	}
}

// certainlySet are those of some properties that certainly have a value.
func (l *Checker) certainlySet(b *Block, names []string) []string {
	var there []string
	for _, name := range names {
		if n := b.Get(name); n != nil && !l.mayBeNull(n) && !l.mayBeFalse(b, name, n) {
			there = append(there, name)
		}
	}
	return there
}

// mayBeFalse says whether a property's value is, or a function in it may yield, one that Heat treats as
// unset: what Python takes for false once it has the property's type.
func (l *Checker) mayBeFalse(b *Block, name string, n *yaml.Node) bool {
	kind := resourcetype.Any
	if p := b.Known[name]; p != nil {
		kind = p.Kind
	}
	values := l.Values(n)
	if len(values) == 0 {
		return kind == resourcetype.Boolean
	}
	return slices.ContainsFunc(values, func(k Known) bool {
		text, isText := k.Value.(string)
		return !value.Truthy(k.Value) || isText && (kind == resourcetype.Boolean && strings.EqualFold(text, "false") ||
			kind == resourcetype.Integer && zero.MatchString(text))
	})
}

var zero = regexp.MustCompile(`^\s*[-+]?0+\s*$`)
