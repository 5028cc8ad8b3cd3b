package graph

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
)

// collapse assigns servers to boxes: members of a group that run the same roles share one, so
// that a group of 500 is drawn once.
type collapse struct {
	boxes map[contract.ServerPath]string // by path
	size  map[string]int                 // how many servers a box represents
}

// newCollapse assigns a program's servers; with single, every server has its own box.
func newCollapse(p *program.Program, single bool) *collapse {
	c := &collapse{boxes: map[contract.ServerPath]string{}, size: map[string]int{}}
	if single {
		return c
	}
	first := map[string]*program.Server{}
	for _, s := range p.Servers {
		box := boxOf(s.Stack) + s.Resource.Name
		if s.Member != nil {
			box += mark(s.StackResource)
		}
		if other := first[box]; other == nil {
			first[box] = s
		} else if !alike(other, s) {
			continue // a box of its own
		}
		c.boxes[s.Path] = box
		c.size[box]++
	}
	p.Root.Walk(func(s *program.Stack) { // other resources, and servers that only publish facts
		for _, r := range s.Template.Resources {
			if path := s.PathOf(r.Name); s.Server(r.Name) == nil && s.Makes(r.Name) {
				c.boxes[path] = boxOf(s) + r.Name
				c.size[c.boxes[path]]++
			}
		}
	})
	return c
}

// boxOf returns the prefix of the boxes of a stack's servers: its path, with a star for each
// group member.
func boxOf(s *program.Stack) string {
	if s.StackResource == nil {
		return ""
	}
	return boxOf(s.StackResource.In) + s.StackResource.Resource.Name + mark(s.StackResource) + "/"
}

// mark stands in for the name of a group's member.
func mark(n *program.StackResource) string {
	switch {
	case !n.Group():
		return ""
	case n.Most() == 1:
		return "/" + n.First().Name
	}
	return "/*"
}

// alike reports whether two servers run the same roles.
func alike(a, b *program.Server) bool {
	return slices.EqualFunc(a.Roles, b.Roles, func(x, y *program.Role) bool { return x.Name == y.Name })
}

func (c *collapse) box(path contract.ServerPath) string {
	if box, ok := c.boxes[path]; ok {
		return box
	}
	return string(path)
}

func (c *collapse) count(box string) int { return max(1, c.size[box]) }
