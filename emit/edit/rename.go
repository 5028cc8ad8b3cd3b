package edit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Rename edits a text that is not a stack's template: it renames files in scalars and removes
// some entries of maps.
func Rename(file *source.File, root *yaml.Node, names map[*yaml.Node]string, without map[*yaml.Node][]string) ([]byte, error) {
	t := &hot.Template{File: file, Root: root}
	e := New(t)
	sharing, keys := newSharing(t), map[string]bool{} // keys that are aliases would be renamed too
	for _, k := range sharing.keys {
		keys[k.Name] = true
	}
	done := map[*yaml.Node]bool{}
	for _, n := range InTextOrder(names) {
		at := anchoredNode(n)
		if done[at] {
			continue
		}
		done[at] = true
		if name, _ := at.Text(); keys[name] {
			e.Fail(n, "its name is a key elsewhere, by an alias")
		}
		e.Replace(at, names[n])
	}
	for _, u := range sharing.uses {
		if _, is := names[u.alias]; !u.merge && !is && done[anchoredNode(u.alias)] {
			e.Fail(u.alias, "it is the name of a file elsewhere, by an alias")
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
	return e.Apply()
}

// InTextOrder returns the renamed nodes in text order.
func InTextOrder(names map[*yaml.Node]string) []*yaml.Node {
	return slices.SortedFunc(maps.Keys(names), func(a, b *yaml.Node) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
}
