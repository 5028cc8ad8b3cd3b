package roles

import (
	"bytes"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// Servers of a large template have blocks that differ in little but what their inputs
// are. The schema says nothing of that, so a block is compared with it only if there
// was none before of the same shape that fits.

// unseen are the keys of a role, and of the defaults, at whose values the schema does not
// look, and named those of which it sees the names of the entries only.
var (
	unseen = []string{"source"}
	named  = []string{"inputs", "hooks", "actions", "files"}
)

// block compares a server's block with the schema.
func (l *lowering) block(n *hot.Node) bool {
	key := shape(n)
	if l.fitting[key] {
		return true
	}
	fits := l.check(blockSchema(), n, "the hotc block")
	if fits {
		if l.fitting == nil {
			l.fitting = map[string]bool{}
		}
		l.fitting[key] = true
	}
	return fits
}

// shape is all of a block that the schema looks at, as text.
func shape(n *hot.Node) string {
	var b bytes.Buffer
	writeShape(&b, n, 0)
	return b.String()
}

// ofRole is how deep the keys of a role are, in maps and lists.
const ofRole = 3

func writeShape(b *bytes.Buffer, n *hot.Node, depth int) {
	switch n.Kind {
	case hot.Scalar:
		b.Write(hot.EncodeJSON(n.Value))
	case hot.List:
		b.WriteByte('[')
		for _, x := range n.Items {
			writeShape(b, x, depth+1)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case hot.Map:
		b.WriteByte('{')
		for i := range n.Entries {
			e := &n.Entries[i]
			b.Write(hot.EncodeJSON(e.Name))
			switch {
			case depth < ofRole && slices.Contains(unseen, e.Name):
			case depth < ofRole && slices.Contains(named, e.Name):
				writeNames(b, e.Value)
			default:
				writeShape(b, e.Value, depth+1)
			}
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}

// writeNames writes the names of a map's entries, and of anything else what it is.
func writeNames(b *bytes.Buffer, n *hot.Node) {
	b.WriteString(n.Kind.String())
	for i := range n.Entries {
		b.Write(hot.EncodeJSON(n.Entries[i].Name))
	}
}
