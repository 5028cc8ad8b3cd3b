package heat

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit/edit"
)

// unshare writes out what the edits touch.
func (s *stack) unshare() (edit.Editable, error) {
	t, w := s.template, s.template.Keywords()
	return edit.Unshare(t, len(s.program.Servers)+len(s.files.Moved) > 0, func(sh *edit.Sharing) {
		for _, p := range s.sites {
			if r := t.Resource(p.resource); r != nil {
				sh.Server(t.Root.Get(w.Resources), r)
			}
		}
		for _, r := range t.Resources {
			if s.stacks[0].Owned(r.Name) != nil {
				sh.Resource(t.Root.Get(w.Resources), r)
			} else if blocks := s.stacks[0].Blocks(r); len(blocks) > 0 {
				sh.Blocks(t.Root.Get(w.Resources), r, blocks)
			}
		}
		for _, n := range s.carrying {
			sh.StackResource(t.Root.Get(w.Resources), n)
		}
		for _, p := range t.Parameters {
			if len(s.pinned(p)) > 0 || slices.Contains(s.analysis.Secrets, p) {
				sh.Parameter(t.Root.Get(w.Parameters), p)
			}
		}
		sh.Moved(s.files.Moved)
		s.replacements(sh.Replaced)
	})
}

// replacements finds the nodes of the template that get another value.
func (s *stack) replacements(found func(*yaml.Node)) {
	for _, r := range s.reads {
		found(r.Call)
	}
	for _, r := range s.propertyReads {
		found(r.Call)
	}
	for _, d := range s.dependencies {
		found(d.Item)
	}
	s.withPlaceholders(func(n *yaml.Node, _ *hot.Parameter) { found(n) })
	s.switchedOff(found)
	for _, o := range s.template.Outputs {
		if s.analysis.Removed[o] && !s.isRoot() {
			found(o.Entry.Value)
		}
	}
}
