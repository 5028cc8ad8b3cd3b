package program

import (
	"github.com/hotc-dev/hotc/compiler/value"
)

// NestedTemplate is the kind of nested templates: one stack, whose outputs are its attributes.
type NestedTemplate struct{}

func (NestedTemplate) sort() string { return "a nested template" }

func (NestedTemplate) selects(n *StackResource, attribute string, path []value.Value, _ bool) Selection {
	return Selection{Gives: OfOne, Member: n.members[0], Attribute: attribute, Path: path}
}
