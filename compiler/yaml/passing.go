package yaml

import "github.com/hotc-dev/hotc/compiler/source"

// Passing reads a large template a piece at a time, for who looks at everything once:
// the top level up to `resources`, whose value is null here, the resources one group
// after the other (inResources), and the rest of the top level. What visit gets is gone
// when it returns. Passing returns false if visit does, or if the text has to be read in
// one; pieces.go says why its pieces are what they are in the whole. Only a key that
// stands twice is not seen as one.
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
