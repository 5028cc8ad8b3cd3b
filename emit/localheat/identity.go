package localheat

import (
	"crypto/rand"
	"strings"

	"github.com/google/uuid"

	"github.com/hotc-dev/hotc/compiler/program"
)

// identity is what Heat would call a stack: its name, and an id that no other stack has.
type identity struct {
	name string
	id   string
}

// newIdentity is a stack's of that name.
func newIdentity(name string) identity { return identity{name, uuid.NewString()} }

// inside is a stack that a resource of this one stands for, named as Heat names it
// (heat/engine/resource.py, physical_resource_name).
func (i identity) inside(resource string) identity {
	return newIdentity(i.name + "-" + resource + "-" + shortID())
}

// shortID is 60 random bits, as Heat writes them in names (heat/common/short_id.py).
func shortID() string { return strings.ToLower(rand.Text()[:12]) }

// identity is that of one of the run's stacks, made up once. A group is a stack of its own
// between the stack around and its members.
func (h *Heat) identity(s *program.Stack) identity {
	if s.StackResource == nil {
		return h.root
	}
	made := func(path string, make func() identity) identity {
		if _, have := h.identities[path]; !have {
			h.identities[path] = make()
		}
		return h.identities[path]
	}
	return made(s.Path, func() identity {
		resource := s.StackResource.Resource.Name
		around := h.identity(s.Around())
		if !s.StackResource.Group() {
			return around.inside(resource)
		}
		group := made(s.Around().PathOf(resource), func() identity { return around.inside(resource) })
		return group.inside(h.memberName(s.StackResource, s.Member()))
	})
}

// memberName is the name of a group's member, made up once if it is Heat's to make up.
func (h *Heat) memberName(n *program.StackResource, m *program.Member) string {
	if !n.Scales() {
		return m.Name
	}
	if h.memberNames[m] == "" {
		h.memberNames[m] = shortID()
	}
	return h.memberNames[m]
}
