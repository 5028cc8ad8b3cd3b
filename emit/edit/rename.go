package edit

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Rename edits a text that is no template of a stack: scalars that name files get
// other names, and some entries of maps are left out.
func Rename(file *source.File, root *yaml.Node, names map[*yaml.Node]string, without map[*yaml.Node][]string) ([]byte, error) {
	e := New(&hot.Template{File: file, Root: root})
	nodes := make([]*yaml.Node, 0, len(names))
	for n := range names {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *yaml.Node) int { return int(a.Span.Start) - int(b.Span.Start) })
	done := map[*yaml.Node]bool{}
	for _, n := range nodes {
		if at := anchoredNode(n); !done[at] {
			done[at] = true
			e.Replace(at, names[n])
		}
	}
	for i := range root.Entries {
		section := &root.Entries[i]
		entries := without[section.Value]
		if len(entries) > 0 && len(entries) == len(section.Value.Entries) {
			e.Remove(root, section.Name)
			continue
		}
		for _, name := range entries {
			e.Remove(section.Value, name)
		}
	}
	text, err := e.Apply()
	if err == nil {
		err = e.Verify(text, root)
	}
	return text, err
}
