package heat

import (
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit/edit"
)

// moves renames files that could not stay where they were.
func (s *stack) moves() {
	names := map[*yaml.Node]string{}
	for n, name := range s.files.Moved {
		for _, now := range s.text.Use(n) {
			names[now] = name
		}
	}
	for _, n := range edit.InTextOrder(names) {
		s.editor.Replace(n, names[n])
	}
}
