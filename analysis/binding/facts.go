package binding

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// factsAtRun says whether the input that is being bound gets facts from agents.
// A stack's output and an input with `bind: deploy` get them from Heat.
func (b *binder) factsAtRun() bool {
	if b.reader == nil || b.reader.Bind == contract.Deploy {
		return false
	}
	return b.options.Facts == FactsAtRun || b.reader.Bind == contract.Run
}

// server is a server that a reference names: a resource, or a member of a group.
type server struct {
	*hot.Resource
	kind          *program.ServerType
	path          contract.ServerPath
	stackResource *program.StackResource
	member        *program.Member
}

// fact is a reference to a fact that a server's own agent publishes.
func (b *binder) fact(call *hot.Expr, s server, fact contract.Fact, rule string) *hot.Expr {
	cell := s.path.Fact(fact)
	b.analysis.Cells[cell] = Cell{Server: s.path}
	b.effects.add(func() {
		if !slices.Contains(b.analysis.Facts[s.path], fact) {
			b.analysis.Facts[s.path] = append(b.analysis.Facts[s.path], fact)
		}
	})
	b.note(call, contract.Run, rule, cell, s.path)
	return hot.CellCall(call.At, cell, nil)
}

// serverFact is a reference to a Nova attribute of a server: a run-time fact
// where the agent is certain to know the value that Heat would give, otherwise
// Heat's. A server of another stack has an agent only if it has roles.
func (b *binder) serverFact(call *hot.Expr, s server, attribute string, path []value.Value) (*hot.Expr, error) {
	leave := func(rule string) (*hot.Expr, error) {
		b.note(call, contract.Deploy, rule, "", "")
		return call, nil
	}
	r := s.Resource
	switch {
	case !b.factsAtRun():
		return leave("servers' facts are left to Heat")
	case b.via != nil && b.program.Server(s.path) == nil:
		return leave("the server is in another stack and has no roles: it has no agent")
	}
	switch {
	case attribute == "name" && len(path) == 0:
		if n := r.Property("name"); n != nil {
			b.note(call, contract.Deploy, "the server's name is set by its property", "", "")
			e, err := b.template.Fold(n, b.resolve)
			if err == nil && s.stackResource != nil {
				e, err = s.stackResource.Indexed(e, s.member.Name), nil
			}
			return e, err
		}
		return b.fact(call, s, contract.FactName, "a server's name is known to its own agent"), nil
	case attribute == "first_address" && len(path) == 0 && oneNetwork(b.template, r):
		return b.fact(call, s, contract.FactFirstAddress, "the server has one network: its own agent knows the address"), nil
	case attribute == "networks" && len(path) == 2 && isZero(path[1]) && networkIs(b.template, r, path[0]):
		return b.fact(call, s, contract.FactFirstAddress, "the server has this one network: its own agent knows the address"), nil
	case attribute == "first_address" || attribute == "networks" || attribute == "addresses":
		return leave("the server may have several networks: its agent cannot know which address Heat would give")
	}
	return leave("only Heat knows this attribute")
}

// oneNetwork says whether a server has exactly one network: without the property
// Nova takes the project's only one and refuses if there are several.
func oneNetwork(t *hot.Template, r *hot.Resource) bool {
	n := r.Property("networks")
	return n == nil || n.Kind == yaml.List && len(n.Items) == 1 && n.Items[0].Kind == yaml.Map && t.RefAt(n.Items[0]).Kind != hot.ToParameter
}

// networkIs says whether a server's only network has this name.
func networkIs(t *hot.Template, r *hot.Resource, name value.Value) bool {
	n := r.Property("networks")
	if n == nil || !oneNetwork(t, r) {
		return false
	}
	label, ok := n.Items[0].Get("network").Text()
	return ok && name == label
}

func isZero(v value.Value) bool { return value.Equal(v, int64(0)) && v != false }

// factServers lists the servers without roles whose facts are needed. Where one
// use of a template needs a server's facts, all uses run its agent: they share the
// emitted template.
func (b *binder) factServers() {
	type place struct {
		template *hot.Template
		resource string
	}
	needed := map[place][]contract.Fact{}
	uses := map[*hot.Template]int{}
	collect := func(visit func(s *program.Stack, r *hot.Resource, path contract.ServerPath)) {
		b.program.Root.Walk(func(s *program.Stack) {
			for _, r := range s.Template.Resources {
				if path := s.PathOf(r.Name); s.ServerType(r) != nil && b.program.Server(path) == nil && !s.Absent(r.Name) {
					visit(s, r, path)
				}
			}
		})
	}
	b.program.Root.Walk(func(s *program.Stack) { uses[s.Template]++ })
	collect(func(s *program.Stack, r *hot.Resource, path contract.ServerPath) {
		at := place{s.Template, r.Name}
		for _, fact := range b.analysis.Facts[path] {
			if !slices.Contains(needed[at], fact) {
				needed[at] = append(needed[at], fact)
			}
		}
	})
	if len(needed) == 0 {
		return
	}
	collect(func(s *program.Stack, r *hot.Resource, path contract.ServerPath) {
		facts := needed[place{s.Template, r.Name}]
		if len(facts) == 0 {
			return
		}
		if uses[s.Template] > 1 {
			b.analysis.Facts[path] = facts
		}
		b.analysis.FactServers = append(b.analysis.FactServers, FactServer{Path: path, Stack: s, Resource: r})
	})
}
