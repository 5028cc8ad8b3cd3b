package roles

import (
	"slices"
	"strconv"

	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Servers of a large template have blocks that differ in little more than the values of
// their inputs, which the schema does not constrain: a block is validated only if none of
// the same structure was valid before.

// unseen are the keys of a role, and of the defaults, whose values the schema does not
// constrain, and named those of which it constrains only the names of the entries.
var (
	unseen = []string{"source"}
	named  = []string{"inputs", "hooks", "actions", "files"}
)

// block validates a server's block.
func (l *lowering) block(n *yaml.Node) bool {
	l.structure = appendStructure(l.structure[:0], n, 0)
	if l.fitting[string(l.structure)] {
		return true
	}
	fits := l.check(blockSchema(), n, "the hotc block")
	if fits {
		if l.fitting == nil {
			l.fitting = map[string]bool{}
		}
		l.fitting[string(l.structure)] = true
	}
	return fits
}

// ofRole is the nesting depth of a role's keys.
const ofRole = 3

// appendStructure appends all that the schema constrains of a block, as text.
func appendStructure(b []byte, n *yaml.Node, depth int) []byte {
	switch n.Kind {
	case yaml.Scalar:
		return appendScalar(b, n.Value)
	case yaml.List:
		b = append(b, '[')
		for _, x := range n.Items {
			b = append(appendStructure(b, x, depth+1), ',')
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i := range n.Entries {
		e := &n.Entries[i]
		b = append(appendText(b, e.Name), ':')
		switch {
		case depth < ofRole && slices.Contains(unseen, e.Name):
		case depth < ofRole && slices.Contains(named, e.Name):
			b = appendNames(b, e.Value)
		default:
			b = appendStructure(b, e.Value, depth+1)
		}
		b = append(b, ',')
	}
	return append(b, '}')
}

func appendScalar(b []byte, v value.Value) []byte {
	if text, isText := v.(string); isText {
		return append(appendText(b, text), '"')
	}
	return append(b, value.EncodeJSON(v)...)
}

// appendNames appends the names of a map's entries, or another node's structure.
func appendNames(b []byte, n *yaml.Node) []byte {
	b = append(b, n.Kind.String()...)
	for i := range n.Entries {
		b = appendText(b, n.Entries[i].Name)
	}
	return b
}

// appendText appends a length-prefixed string.
func appendText(b []byte, text string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(text)), 10), ' '), text...)
}
