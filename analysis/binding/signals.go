package binding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// A value that a role writes returns to Heat, for a resource's property, through a
// wait condition in the stack whose template reads it: beside the server, or beside
// the nested stack or group that contains it. For an argument of a nested stack the
// enclosing stack waits. So a reference only ever reaches down, and every wait is one
// that the user wrote.

// Signal is the wait condition of a role that Heat reads from. The members of a
// group, which Heat cannot name individually, share one.
type Signal struct {
	In *program.Stack // whose template contains it
	// Name is the role as that template sees it, without members of groups: db.mysql,
	// tier/db.mysql, web.site.
	Name string
	// Resource is the server, or the stack resource that contains its servers.
	Resource string
	Roles    []*program.Role
	// Beside says that the one server is a resource of the stack itself.
	Beside bool

	read map[*program.Output]bool
}

// Outputs are those of a role that Heat reads.
func (s *Signal) Outputs(r *program.Role) []*program.Output {
	return lists.Only(r.Outputs, func(o *program.Output) bool { return o.Value == nil && s.reads(o) })
}

// reads says whether Heat reads an output, of this or another member.
func (s *Signal) reads(o *program.Output) bool {
	for other := range s.read {
		if other.Attribute == o.Attribute {
			return true
		}
	}
	return false
}

// Values says whether Heat reads values, rather than just waiting for the role.
func (s *Signal) Values() bool { return len(s.read) > 0 }

// ID identifies a server of the signal: its path from the stack.
func (s *Signal) ID(server contract.ServerPath) string {
	return strings.TrimPrefix(string(server), string(s.In.PathOf("")))
}

// PropertyRead is a use of roles' outputs in a resource's property.
type PropertyRead struct {
	*Read
	In         *program.Stack
	Resource   string
	Bound      *hot.Expr // the call, folded; for explanations
	References []Reference
}

// Dependency is a role's name in a resource's depends_on.
type Dependency struct {
	Item     *yaml.Node
	In       *program.Stack
	Resource string
	Signal   *Signal
	// Left is the resource to depend on, without a signal, if the role is absent.
	Left string
}

// Signal finds the signal by which a stack waits for a role; nil if there is none.
func (a *Analysis) Signal(in *program.Stack, r *program.Role) *Signal {
	seen, ok := seenFrom(in, r.Server)
	if !ok {
		return nil
	}
	return a.signals[reference{in, seen.name + "." + r.Name}]
}

// sight is how a stack sees a server inside it.
type sight struct {
	name     string // without members of groups
	resource string
	beside   bool
	grouped  bool
}

func seenFrom(in *program.Stack, s *program.Server) (sight, bool) {
	names := []string{s.Resource.Name}
	out := sight{beside: s.Stack == in && s.StackResource == nil, grouped: s.StackResource != nil}
	for at := s.Stack; at != in; at = at.StackResource.In {
		if at.StackResource == nil {
			return sight{}, false
		}
		names = append([]string{at.StackResource.Resource.Name}, names...)
		out.grouped = out.grouped || at.StackResource.Group()
	}
	out.name, out.resource = strings.Join(names, "/"), names[0]
	return out, true
}

// signal is the signal of a role for this stack, created at first use.
func (b *binder) signal(in *program.Stack, r *program.Role) *Signal {
	seen, ok := seenFrom(in, r.Server)
	if !ok {
		return nil
	}
	name := seen.name + "." + r.Name
	if s := b.analysis.signals[reference{in, name}]; s != nil {
		return s
	}
	s := &Signal{In: in, Name: name, Resource: seen.resource, Beside: seen.beside, Roles: []*program.Role{r}, read: map[*program.Output]bool{}}
	if seen.grouped {
		s.Roles = nil
		for _, server := range b.program.Servers {
			if other, ok := seenFrom(in, server); ok && other.name == seen.name && server.Role(r.Name) != nil {
				s.Roles = append(s.Roles, server.Role(r.Name))
			}
		}
	}
	b.analysis.signals[reference{in, name}] = s
	b.analysis.Signals = append(b.analysis.Signals, s)
	return s
}

// waitFor makes a resource of the stack wait for a role.
func (b *binder) waitFor(resource string, s *Signal, at source.Place) {
	path := b.stack.PathOf(resource)
	of := reference{b.stack, resource + " " + s.Name}
	if b.waiting[of] {
		return
	}
	b.waiting[of] = true
	b.analysis.Waits = append(b.analysis.Waits, Wait{Resource: path, Signal: s, Role: s.Roles[0], At: at})
}

// property notes that Heat needs roles' outputs to create a resource.
func (b *binder) property(resource string, read *Read) {
	inner := b.reading(nil)
	e, err := b.template.Fold(read.Call, inner.resolve)
	if err != nil {
		b.failed(b.template.Place(read.Call), err)
		return
	}
	if read.Expr != nil {
		read.Expr = e
	}
	read.Template = b.template
	b.analysis.PropertyReads = append(b.analysis.PropertyReads, &PropertyRead{Read: read, In: b.stack, Resource: resource, Bound: e, References: inner.effects.references})
	for _, o := range read.Outputs {
		if s := b.signal(b.stack, o.Role); s != nil {
			s.read[o] = true
			b.waitFor(resource, s, b.template.Place(read.Call))
		}
	}
}

// dependsOnRole resolves a name in depends_on that is not a resource.
func (b *binder) dependsOnRole(r *hot.Resource, item *yaml.Node, on string) {
	server, name := contract.RoleKey(on).Split()
	if server == "" {
		return // package references reports the unknown resource
	}
	at := b.template.Place(item)
	role := b.roleIn(string(server), name)
	if role == nil {
		if resource, why := b.stack.RemovedOn(string(server)); why != nil {
			b.analysis.Dependencies = append(b.analysis.Dependencies, &Dependency{Item: item, In: b.stack, Resource: r.Name, Left: strings.SplitN(string(server), "/", 2)[0]})
			d := b.diags.Warning(source.MissingProducer, at, fmt.Sprintf("role %s is not in the deployment: nothing waits for it", on), "")
			d.Notes = append(d.Notes, why.Note(resource))
			return
		}
		b.noRole(r, on, at)
		return
	}
	b.dependsOnSignal(r, item, b.signal(b.stack, role))
}

func (b *binder) dependsOnSignal(r *hot.Resource, item *yaml.Node, s *Signal) {
	b.waitFor(r.Name, s, b.template.Place(item))
	b.analysis.Dependencies = append(b.analysis.Dependencies, &Dependency{Item: item, In: b.stack, Resource: r.Name, Signal: s})
}

// dependsOnOwned resolves the name of a resource that is a front-end's: its role, if the stack
// contains the server.
func (b *binder) dependsOnOwned(r *hot.Resource, item *yaml.Node, on string) {
	if roles := b.stack.Owned(on).Roles; len(roles) == 1 {
		if s := b.signal(b.stack, roles[0]); s != nil {
			b.dependsOnSignal(r, item, s)
			return
		}
	}
	b.diags.Error(source.NotYet, b.template.Place(item), fmt.Sprintf("%q runs on several servers, or on one outside of this stack: nothing can depend on it yet", on), "depend on its servers' roles: SERVER.ROLE")
}

// roleIn finds a role by its server's path from the stack; of a group's servers any.
func (b *binder) roleIn(path, name string) *program.Role {
	if s := b.program.Server(b.stack.PathOf(path)); s != nil {
		return s.Role(name)
	}
	if n := b.stack.StackResourceOf(path); n != nil && n.Inline() && n.First().Server != nil {
		return n.First().Server.Role(name)
	}
	return nil
}

func (b *binder) noRole(r *hot.Resource, on string, at source.Place) {
	server, role := contract.RoleKey(on).Split()
	if s := b.program.Server(server); s != nil && b.stack.StackResource != nil && b.stack.Server(string(server)) == nil && s.Role(role) != nil {
		b.diags.Error(source.UnknownRole, at, fmt.Sprintf("%q depends on the role %s of another stack; Heat's resources can depend on roles of their own stack, and of those nested in it", r.Name, on),
			"pass a value of the role as a property of the nested stack and use it here, or make the nested stack itself depend on the role")
		return
	}
	var known []string
	for _, s := range b.program.Servers {
		if path, ok := strings.CutPrefix(string(s.Path), string(b.stack.PathOf(""))); ok {
			known = append(known, lists.Map(s.Roles, func(role *program.Role) string { return path + "." + role.Name })...)
		}
	}
	if hint := hot.DidYouMean(on, known, ""); hint != "" {
		b.diags.Error(source.UnknownRole, at, fmt.Sprintf("%q depends on %q, which is neither a resource nor a role", r.Name, on), hint)
	}
}

// heatNeeds says whether Heat itself evaluates a parameter in a stack resource's members or
// below: then it must have the value, not only the roles there.
func (b *binder) heatNeeds(n *program.StackResource, parameter string) bool {
	return slices.ContainsFunc(n.Stacks(), func(s *program.Stack) bool { return b.usesParameter(s, parameter) })
}

func (b *binder) usesParameter(s *program.Stack, parameter string) bool {
	at := reference{s, parameter}
	if used, known := b.needed[at]; known {
		return used
	}
	b.needed[at] = false
	for p := range s.Places {
		switch {
		case p.Kind == program.InOutput && !s.Template.Version.CFN(): // hotc does not follow CloudFormation outputs
		case mentions(s.Template, p.Node, parameter) && (p.Kind != program.InArgument || b.heatNeeds(p.StackResource, p.Entry.Name)):
			b.needed[at] = true
			return true
		}
	}
	return false
}

// mentions says whether a node reads a parameter.
func mentions(t *hot.Template, n *yaml.Node, parameter string) bool {
	for call := range t.Calls(n) {
		if r := t.RefAt(call); r.Kind == hot.ToParameter && r.Name == parameter {
			return true
		}
	}
	return false
}

// alignSignals makes the signals of all uses of a template the same, as they share its text:
// where one use has a wait condition, the others' servers signal it too.
func (b *binder) alignSignals() {
	uses := map[*hot.Template][]*program.Stack{}
	b.program.Root.Walk(func(s *program.Stack) { uses[s.Template] = append(uses[s.Template], s) })
	for _, s := range b.analysis.Signals { // grows meanwhile, but only by signals that are alike
		for _, use := range uses[s.In.Template] {
			if use == s.In {
				continue
			}
			other := b.sameIn(use, s)
			if other == nil || len(other.Roles) != len(s.Roles) {
				b.diags.Error(source.NotYet, s.Roles[0].At, fmt.Sprintf("Heat reads from role %s in %q, but another use of the template, %q, has different servers; hotc cannot emit one template for both yet",
					s.Name, s.In.Called(), use.Called()), "use two template files")
				return
			}
			for o := range s.read {
				for _, r := range other.Roles {
					if same := r.Server.Output(o.Attribute); same != nil && same.Role == r {
						other.read[same] = true
					}
				}
			}
		}
	}
}

// sameIn is the signal of another use of its template; nil if there is no such role.
func (b *binder) sameIn(use *program.Stack, s *Signal) *Signal {
	if have := b.analysis.signals[reference{use, s.Name}]; have != nil {
		return have
	}
	role := s.Roles[0].Name
	for _, server := range b.program.Servers {
		if seen, ok := seenFrom(use, server); ok && seen.name+"."+role == s.Name && server.Role(role) != nil {
			return b.signal(use, server.Role(role))
		}
	}
	return nil
}
