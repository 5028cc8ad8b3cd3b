package references

import (
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// withoutElse warns of each `if` without an else in a resource, unless its condition
// is known to be true: some versions of Heat cannot hash a resource in which it is omitted
// (see hot.Expr.WithElse). Outputs are not affected.
func (c *checker) withoutElse(n *yaml.Node) {
	if c.template.Version < hot.V20210416 || c.template.Version.CFN() || n.Target() != nil {
		return
	}
	if len(n.Entries) == 1 && n.Entries[0].Name == "if" {
		e := c.template.Expr(n)
		if folded, err := c.fold(e); e.MayBeOmitted() && err == nil && (!folded.IsValue() || folded.Value == nil) {
			c.noElse(c.template.Place(n.Entries[0].Key))
		}
	}
	for x := range n.Below() {
		c.withoutElse(x)
	}
}

// leftWithoutElse is withoutElse for an input of a role, to which hotc adds an else
// where possible.
func (c *checker) leftWithoutElse(bound *hot.Expr) {
	for x := range bound.WithElse().Calls() {
		if x.MayBeOmitted() && len(x.Cells()) == 0 {
			c.noElse(x.At)
		}
	}
}

func (c *checker) noElse(at source.Place) {
	if !c.program.Types.Before(23) {
		return
	}
	c.add(source.Warning, source.IfWithoutElse, at, "Heat before 23.0.0 fails (\"EllipsisType takes no arguments\") if this condition is false",
		"add an else: null for a whole property; in a list or map, `list_concat: [[a], {if: [c, [b], []]}]`, `map_merge: [{a: 1}, {if: [c, {b: 2}, {}]}]`")
}
