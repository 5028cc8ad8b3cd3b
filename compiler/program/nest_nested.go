package program

import (
	"github.com/hotc-dev/hotc/compiler/value"
)

// Nested is the kind of nested templates: one stack, whose outputs are the attributes.
type Nested struct{}

func (Nested) sort() string { return "a nested template" }

func (Nested) selects(n *Nest, attribute string, path []value.Value, _ bool) Selection {
	return Selection{Gives: OfOne, Member: n.Members[0], Attribute: attribute, Path: path}
}
