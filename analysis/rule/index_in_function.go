package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var indexInFunction = Rule{Code: source.IndexInFunction, Category: Resources, Severity: source.Warning, Evidence: CreationFails, Template: findIndexInFunctions}

// beforeIndex are functions whose value does not just contain their argument: Heat calls
// them before it substitutes a member's index (heat/engine/resources/openstack/
// heat/resource_group.py, build_resource_definition).
var beforeIndex = []string{"digest", "contains", "equals", "yaql", "str_split"}

func findIndexInFunctions(l *Checker) {
	for r := range l.Resources {
		nest := l.Use(r.Name).StackResourceOf(r.Name)
		if nest == nil || !nest.Group() || nest.Definition().Properties == nil {
			continue
		}
		if index := nest.IndexVariable(); index != "" {
			l.indexIn(nest.Definition().Properties.Value, index)
		}
	}
}

func (l *Checker) indexIn(n *yaml.Node, index string) {
	if l.IsCall(n) && slices.Contains(beforeIndex, firstName(n)) {
		if at := holds(n, index); at != nil {
			l.Report(at, fmt.Sprintf("Heat calls %s before it replaces %s by a member's index: all members get the same value", firstName(n), index),
				"make the member a nested template, pass it the index as a parameter, and call the function there")
		}
		return
	}
	for x := range n.Below() {
		l.indexIn(x, index)
	}
}

// holds is the first string in a node that contains another one, nil if none does.
func holds(n *yaml.Node, text string) *yaml.Node {
	for x := range n.Nodes() {
		if s, is := x.Text(); is && strings.Contains(s, text) {
			return x
		}
	}
	return nil
}
