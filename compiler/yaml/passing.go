package yaml

import (
	"bytes"

	"github.com/hotc-dev/hotc/compiler/source"
)

// A large template can be read a piece at a time, for who looks at everything once. It is cut in
// front of lines that look like a resource's name: lines below `resources:` with just the
// indentation of the first one. That cannot be wrong unseen: a text between quotes or brackets that
// goes across a cut is not closed in its piece, which then is not read; a block scalar's lines are
// indented deeper.
const (
	minPieces = 128 << 10 // a smaller text is read in one
	pieceSize = 64 << 10  // about how large a group of resources is
)

// Passing reads a large template a piece at a time: the top level up to `resources`, whose value is
// null here, the resources one group after the other (inResources), and the rest of the top level.
// What visit gets is gone when it returns. Passing returns false if visit does, or if the text has
// to be read in one. Only a key that stands twice is not seen as one.
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

// findCuts gives where pieces begin and, last, the end: what stands before the
// resources, groups of resources, what comes behind.
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
			return nil // a second document, or what only the whole can tell
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

// sectionStart is behind the line `resources:`.
func sectionStart(text []byte) int {
	const key = "resources:"
	for at := 0; at < len(text); {
		if at == 0 || text[at-1] == '\n' {
			if rest, ok := bytes.CutPrefix(text[at:], []byte(key)); ok {
				line, _, _ := bytes.Cut(rest, []byte("\n"))
				if said := bytes.TrimSpace(line); len(said) == 0 || said[0] == '#' {
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

// IsNameStart says whether a name can begin with a character.
func IsNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
