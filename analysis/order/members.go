package order

import (
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
)

// With a relay a member of a group can wait for its own roles, so that Heat considers it
// in service only then: rolling updates and policies wait for it. But then the group is
// complete only after its members' roles, and so is everything that Heat creates after the
// group. Where a member's role needs something of that, it would be a deadlock; there only
// the stack waits for the members.

// MembersThatWait are the groups, by resource, whose members can wait for their own roles.
func MembersThatWait(p *program.Program, a *binding.Analysis) map[*hot.Resource]bool {
	g := newNeeds(p, a)
	uses := map[*hot.Resource][]*program.StackResource{}
	var groups []*hot.Resource
	for _, s := range p.Stacks() {
		for _, n := range s.StackResources {
			if !n.Group() || !n.HasRoles() {
				continue
			}
			if uses[n.Resource] == nil {
				groups = append(groups, n.Resource)
			}
			uses[n.Resource] = append(uses[n.Resource], n)
		}
	}
	return lists.Set(lists.Only(groups, func(r *hot.Resource) bool { return g.canWait(uses[r]) }))
}

// needs is what must precede what: resources by their paths, the start of stack resources'
// contents, servers' roles.
type needs map[need][]need

type need struct {
	kind needKind
	path contract.ServerPath
}

type needKind uint8

const (
	createdResource needKind = iota
	startedStackResource
	doneRoles
)

func newNeeds(p *program.Program, a *binding.Analysis) needs {
	g := needs{}
	for _, s := range p.Stacks() {
		for _, r := range s.Template.Resources {
			g.resource(a, s, r)
		}
		for _, n := range s.StackResources {
			for _, server := range n.Servers() {
				g.add(need{createdResource, server.Path}, started(n))
				g.add(created(n), need{createdResource, server.Path})
			}
		}
	}
	for _, w := range a.Waits {
		g.addWait(need{createdResource, w.Resource}, w.Signal)
	}
	for _, x := range a.Signals {
		if x.In.StackResource != nil {
			g.addWait(created(x.In.StackResource), x)
		}
	}
	for _, s := range p.Servers {
		g.server(a, s)
	}
	return g
}

func created(n *program.StackResource) need { return need{createdResource, n.OwnPath()} }
func started(n *program.StackResource) need { return need{startedStackResource, n.OwnPath()} }

func (g needs) add(who need, what ...need) { g[who] = append(g[who], what...) }

// resource adds what Heat waits for before it creates a resource of a stack.
func (g needs) resource(a *binding.Analysis, s *program.Stack, r *hot.Resource) {
	path := s.PathOf(r.Name)
	begins := need{createdResource, path}
	if s.StackResourceOf(r.Name) != nil {
		begins = need{startedStackResource, path}
		g.add(need{createdResource, path}, begins)
	}
	if s.StackResource != nil {
		g.add(begins, started(s.StackResource))
		g.add(created(s.StackResource), need{createdResource, path})
	}
	for _, e := range a.Edges[path] {
		g.add(begins, need{createdResource, e.On})
	}
}

// addWait adds a wait for roles that Heat reads from.
func (g needs) addWait(who need, x *binding.Signal) {
	g.add(who, need{createdResource, x.In.PathOf(x.Resource)})
	for _, r := range x.Roles {
		g.add(who, need{doneRoles, r.Server.Path})
	}
}

// server adds what a server's roles wait for.
func (g needs) server(a *binding.Analysis, s *program.Server) {
	roles := need{doneRoles, s.Path}
	g.add(roles, need{createdResource, s.Path})
	for _, r := range s.Roles {
		for _, d := range r.DependsOn {
			g.add(roles, need{doneRoles, d.Role.Server.Path})
		}
		for _, bound := range a.Bound(r) {
			for _, ref := range bound.References {
				if ref.Writer != "" {
					g.add(roles, need{doneRoles, ref.Writer})
				}
			}
		}
	}
}

// canWait adds the members' waits to a group's needs, in all uses of its template, unless
// that makes a cycle.
func (g needs) canWait(uses []*program.StackResource) bool {
	before := map[need][]need{}
	for _, n := range uses {
		before[created(n)] = g[created(n)]
		for _, path := range withRoles(n) {
			g[created(n)] = append(slices.Clip(g[created(n)]), need{doneRoles, path})
		}
	}
	cycle := slices.ContainsFunc(uses, func(n *program.StackResource) bool { return g.leads(withRoles(n), created(n)) })
	if cycle {
		maps.Copy(g, before)
	}
	return !cycle
}

// withRoles are the servers with roles in a stack resource.
func withRoles(n *program.StackResource) []contract.ServerPath {
	var paths []contract.ServerPath
	add := func(s *program.Server) {
		if s != nil && len(s.Roles) > 0 {
			paths = append(paths, s.Path)
		}
	}
	for _, s := range n.Servers() {
		add(s)
	}
	for _, inner := range n.Stacks() {
		for _, r := range inner.Template.Resources {
			add(inner.Server(r.Name))
		}
		paths = append(paths, lists.Flat(inner.StackResources, withRoles)...)
	}
	return paths
}

// leads says whether roles of these servers need something, directly or not.
func (g needs) leads(servers []contract.ServerPath, to need) bool {
	seen := map[need]bool{}
	var from func(at need) bool
	from = func(at need) bool {
		again := seen[at]
		seen[at] = true
		return at == to || !again && slices.ContainsFunc(g[at], from)
	}
	return slices.ContainsFunc(servers, func(s contract.ServerPath) bool { return from(need{doneRoles, s}) })
}
