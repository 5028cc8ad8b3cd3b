package store

import (
	"fmt"
	"strings"
)

// Segment encodes a string as one segment of a path: bytes outside of letters,
// digits and "-_.:,@=+" are percent-encoded, and so is a leading dot ("." and
// ".." are not segments, and "zookeeper" at the root is ZooKeeper's own).
func Segment(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			strings.IndexByte("-_:,@=+", c) >= 0, c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Join puts a segment below a path.
func (p Path) Join(segment string) Path {
	if p == "" {
		return Path(segment)
	}
	return p + "/" + Path(segment)
}

// Parent is the path of a node's parent.
func (p Path) Parent() Path {
	if i := strings.LastIndexByte(string(p), '/'); i > 0 {
		return p[:i]
	}
	return ""
}

// Depth is the number of segments of a path.
func (p Path) Depth() int {
	if p == "" {
		return 0
	}
	return 1 + strings.Count(string(p), "/")
}
