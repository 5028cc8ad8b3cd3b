package yaml

import (
	"bytes"

	"github.com/hotc-dev/hotc/compiler/source"
)

// A large template can be streamed in pieces, for a single visit of everything. It is split
// before lines that look like a resource's name: lines below `resources:` with the same
// indentation as the first one. A wrong split is always detected: a quoted scalar or flow collection
// across it is not closed in its piece, which is then not read; a block scalar's lines are indented
// deeper.
const (
	minPieces = 128 << 10 // a smaller text is read as a whole
	pieceSize = 64 << 10  // the approximate size of a group of resources
)

// Passing streams a large template in pieces: the top level up to `resources`, whose value is null
// here, the resources in groups (inResources), and the rest of the top level. What visit receives is
// invalid after it returns. Passing returns false if visit does, or if the text must be read as a
// whole. It does not detect duplicate keys.
func Passing(file *source.File, visit func(inResources bool, entries []Entry) bool) bool {
	if _, bad := notText(file.Text); bad || len(file.Text) < minPieces || !readsDirectly(file.Text) {
		return false
	}
	cuts := findCuts(file.Text)
	if len(cuts) < 4 {
		return false
	}
	var quiet source.Diagnostics
	d := newDirect(file, &quiet)
	for i := range cuts[1:] {
		if cuts[i] == cuts[i+1] {
			continue
		}
		root := d.read(int(cuts[i]), int(cuts[i+1]))
		if root == nil || root.Kind != Map || !visit(0 < i && i < len(cuts)-2, root.Entries) {
			return false
		}
		d.rewind()
	}
	return len(quiet.All()) == 0
}

// findCuts returns the offsets of the pieces and, last, the end: what is before the
// resources, groups of resources, what is after them.
func findCuts(text []byte) []uint32 {
	start := sectionStart(text)
	if start < 0 {
		return nil
	}
	cuts := []uint32{0}
	column := -1
	at := start
	for at < len(text) {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := bytes.TrimRight(text[at:end], "\r\n")
		spaces := len(line) - len(bytes.TrimLeft(line, " "))
		switch {
		case spaces == len(line) || line[spaces] == '#':
		case spaces == 0 && !IsNameStart(line[0]):
			return nil // a second document, or something unclear
		case spaces == 0:
			return append(cuts, uint32(at), uint32(len(text)))
		case column < 0:
			column = spaces
			cuts = append(cuts, uint32(start))
		case spaces == column && IsNameStart(line[spaces]) && at-int(cuts[len(cuts)-1]) >= pieceSize:
			cuts = append(cuts, uint32(at))
		}
		at = end
	}
	return append(cuts, uint32(len(text)), uint32(len(text)))
}

// sectionStart is the end of the line `resources:`.
func sectionStart(text []byte) int {
	const key = "resources:"
	for at := 0; at < len(text); {
		if at == 0 || text[at-1] == '\n' {
			if rest, ok := bytes.CutPrefix(text[at:], []byte(key)); ok {
				line, _, _ := bytes.Cut(rest, []byte("\n"))
				if value := bytes.TrimSpace(line); len(value) == 0 || value[0] == '#' {
					return min(len(text), at+len(key)+len(line)+1)
				}
				return -1
			}
		}
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return -1
}

// IsNameStart reports whether a name can start with a character.
func IsNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
