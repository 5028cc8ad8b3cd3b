package heat

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/yaml"
)

// moves renames files that could not stay where they were.
func (s *stack) moves() {
	var nodes []*yaml.Node
	names := map[*yaml.Node]string{}
	for n, name := range s.files.Moved {
		for _, now := range s.text.Use(n) {
			if names[now] == "" {
				nodes = append(nodes, now)
			}
			names[now] = name
		}
	}
	slices.SortFunc(nodes, func(a, b *yaml.Node) int { return int(a.Span.Start) - int(b.Span.Start) })
	for _, n := range nodes {
		s.editor.Replace(n, names[n])
	}
}
