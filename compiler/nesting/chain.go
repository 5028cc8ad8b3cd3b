package nesting

import (
	"fmt"
	"maps"
	"path/filepath"
	"strconv"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// A chain makes a resource of each type in a list, all with the same properties, so
// that none of its members can be told which it is. One with roles in it is therefore
// read as a nested template that has the same resources under the same names, in the
// same order, and gives the same attributes: that template is written here, and takes
// the chain's place in what is emitted.

// chainType is that of chains (heat/engine/resources/openstack/heat/resource_chain.py).
const chainType = "OS::Heat::ResourceChain"

// ChainProperties is the property of a chain that holds those of its members.
const ChainProperties = "resource_properties"

// chain loads the members of a chain, if there are roles in them.
func (l *loader) chain(s *program.Stack, r *hot.Resource, at place) {
	registry := at.registry.Child(r.Name, environment.Type{})
	list, known := l.peek(s, r.Property("resources")).([]hot.Value)
	if !known {
		l.openChain(s, r, at, registry)
		return
	}
	for i, x := range list {
		name, _ := x.(string)
		if t, err := registry.Resolve(name, strconv.Itoa(i)); err == nil {
			l.inner(s, r, t, r.Property(ChainProperties), at, registry)
		}
	}
	if !l.rolesInChain(s, r, list, at, registry) {
		return
	}
	x := &chainText{loader: l, stack: s, resource: r}
	if !x.read(registry) {
		return
	}
	d := &hot.Resource{Name: r.Name, Entry: r.Entry, TypeNode: r.TypeNode, Properties: x.properties}
	n := &program.Nest{In: s, Resource: r, Definition: d, Size: 1, Chain: true, Within: ChainProperties}
	path := filepath.Join(at.path, r.Name) // below a file nothing else can lie
	template := l.chainTemplate(path, x)
	if template == nil || !l.checkChain(path, at.depth+1, at, s.Place(r.TypeNode)) {
		return
	}
	m := &program.Member{}
	m.Stack = program.NewStack(n.Path(m), template, nil, n)
	n.Members = []*program.Member{m}
	l.hand(m.Stack, n, m, at.path)
	l.stack(m.Stack, place{path: path, registry: registry, depth: at.depth + 1, around: &at})
	n.EachResources = Resources(m.Stack)
	s.AddNest(n)
}

// rolesInChain says whether there are roles in the members of a chain, or may be. What
// is found on the way is said only if there are none: else it is looked at again.
func (l *loader) rolesInChain(s *program.Stack, r *hot.Resource, list []hot.Value, at place, registry *environment.Registry) bool {
	var diags source.Diagnostics
	trial := l.trial(&diags)
	for i, x := range list {
		name, _ := x.(string)
		t, err := registry.Resolve(name, strconv.Itoa(i))
		if err == nil && environment.IsTemplate(t.Name) && trial.hasRoles(s, r, t, at, registry.Child(strconv.Itoa(i), t)) {
			return true
		}
	}
	l.templates, l.chains = trial.templates, trial.chains
	for _, d := range diags.All() {
		l.diags.Add(d)
	}
	return false
}

// hasRoles says whether there are roles in a template, if a chain has it as a member.
func (l *loader) hasRoles(s *program.Stack, r *hot.Resource, t environment.Type, at place, registry *environment.Registry) bool {
	at.depth++ // the chain's own stack
	return l.hasRolesAt(s, r, t, at, registry)
}

// hasRolesAt is hasRoles where the template is the next level of stacks.
func (l *loader) hasRolesAt(s *program.Stack, r *hot.Resource, t environment.Type, at place, registry *environment.Registry) bool {
	if t.File != "" && l.withRoles[t.File] {
		return true
	}
	d := &hot.Resource{Name: r.Name, Entry: r.Entry, TypeNode: r.TypeNode}
	m := &program.Member{Name: "0"}
	n := &program.Nest{In: s, Resource: r, Definition: d}
	m.Stack = l.member(n, m, t, at, registry)
	found := m.Stack != nil && mentionsRoles(m.Stack)
	l.withRoles[t.File] = found
	return found
}

// trial is a loader that finds things out, and says nothing.
func (l *loader) trial(diags *source.Diagnostics) *loader {
	trial := *l
	trial.diags, trial.trying, trial.templates, trial.chains = diags, true, maps.Clone(l.templates), maps.Clone(l.chains)
	return &trial
}

// openChain refuses a chain whose types only Heat knows if one of those that there are
// has roles: what it makes of them would run none. Where nobody could know them before,
// it warns.
func (l *loader) openChain(s *program.Stack, r *hot.Resource, at place, registry *environment.Registry) {
	list := r.Property("resources")
	key := filepath.Join(at.path, r.Name)
	if list.IsNull() || l.wrong(s, list) || l.withRoles[key] {
		return // Heat says what is wrong; or it was said before
	}
	l.withRoles[key] = !l.trying
	for _, name := range registry.Types() {
		t, err := registry.Resolve(name, "0")
		if err != nil || t.File == "" {
			continue
		}
		if !l.trial(&source.Diagnostics{}).hasRoles(s, r, t, at, registry.Child("0", t)) {
			continue
		}
		message := fmt.Sprintf("which types the chain %q makes is left to Heat, and %s, which may be among them, has servers with roles: the plan has a part for each of them", r.Name, name)
		d := &source.Diagnostic{Code: source.NotYet, At: s.Place(list), Message: message, Hint: l.chainHint(s, list)}
		if s.Template.Expr(list).CallsAny("get_attr", "get_resource") { // nobody can give it
			d.Severity, d.Message, d.Hint = source.Warning, message+"; if it is, they do not run", "make the resources of such types by themselves: `depends_on` puts them in order"
		}
		d.Notes = append(d.Notes, source.Note{At: t.At, Message: "the environment maps the type to it"})
		l.diags.Add(d)
		return
	}
}

// chainHint says how the types of a chain become known.
func (l *loader) chainHint(s *program.Stack, list *hot.Node) string {
	for _, p := range l.open(s, list) {
		if !p.Pinnable() {
			return fmt.Sprintf("write the list out; or make it of a string parameter, `{str_split: [',', {get_param: %s}]}`, and give that when compiling: Heat cannot be held to the value of a %s", p.Name, p.Type)
		}
	}
	return "give the list when compiling, with -P or as one of the parameters of an environment"
}

// wrong says whether a value cannot be had at all.
func (l *loader) wrong(s *program.Stack, n *hot.Node) bool {
	e, err := s.Template.Fold(n, s.Given.Peek)
	return err != nil || e.IsValue()
}

// chainTemplate is the template in a chain's place. All uses of the template around
// have the same one.
func (l *loader) chainTemplate(path string, x *chainText) *hot.Template {
	text, origins := x.text()
	if before, written := l.chains[path]; written {
		if before != text {
			l.diags.Error(source.NotYet, x.stack.Place(x.resource.Entry.Key), fmt.Sprintf("the chain %q has other members in %q than in another use of %s; hotc cannot emit one text for both yet",
				x.resource.Name, x.stack.Path, l.name(x.stack.Template.File.Name)), "use two files")
			return nil
		}
		return l.templates[path]
	}
	l.chains[path] = text
	file := source.NewFile(path, []byte(text))
	file.Portable, file.Origins = l.name(path), origins
	l.templates[path] = hot.ParseTemplate(file, l.diags)
	return l.templates[path]
}
