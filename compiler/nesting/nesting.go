// Package nesting builds the tree of a deployment's stacks: the root, its nested
// templates, and the members of its groups.
//
// A resource is a nested template if its type is a file's name, or an environment maps
// it to a file. A template may be used many times; each use is a separate stack, with
// its own parameters and path, but the text is read once. A group is expanded into its
// members only if they have roles: then their number, or its maximum, must be known, and
// what determines it is pinned.
package nesting

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// noneType is the type of resources that do nothing (none_resource.py).
const noneType = "OS::Heat::None"

// Options are the inputs besides the templates.
type Options struct {
	Environment *environment.Environment
	// Read reads a file by its path.
	Read func(path string) ([]byte, error)
	// Open opens a folder by its path.
	Open func(path string) (fs.FS, error)
	// MaxDepth limits the nesting of stacks, MaxResources the number of resources
	// (max_nested_stack_depth, max_resources_per_stack).
	MaxDepth, MaxResources int
}

// Load builds the stacks below the root. It returns the templates used, by path.
func Load(p *program.Program, o Options, diags *source.Diagnostics) map[string]*hot.Template {
	l := &loader{Options: o, diags: diags, templates: map[string]*hot.Template{}, withRoles: map[string]bool{}, room: newRoom(o.MaxResources, diags), root: filepath.Dir(p.Template.File.Name)}
	path := filepath.Clean(p.Template.File.Name)
	l.templates[path] = p.Template
	l.stack(p.Root, place{path: path, registry: o.Environment.Registry})
	l.cloudFormation(p.Root)
	return l.templates
}

type loader struct {
	Options
	diags     *source.Diagnostics
	root      string
	templates map[string]*hot.Template // nil for an invalid one
	// withRoles caches whether templates have roles, for those that may be used where hotc
	// does not support roles.
	withRoles map[string]bool
	room      *room
}

// room limits how many more stacks and members are loaded: templates that use others
// twice grow exponentially with each level.
type room struct {
	diags     *source.Diagnostics
	all, left int
}

// perResource times the limit of resources is how many are loaded: each is itself a
// resource of its tree.
const perResource = 20

func newRoom(maxResources int, diags *source.Diagnostics) *room {
	all := perResource * min(maxResources, 1<<30)
	return &room{diags: diags, all: all, left: all}
}

// take reports whether there is room for count more.
func (x *room) take(where source.Place, count int) bool {
	if count > x.left && x.left >= 0 {
		x.diags.Error(source.OverLimit, where, fmt.Sprintf("the deployment has more than %d nested stacks and members of groups, hotc's limit", x.all),
			"split the deployment, or use --limit resources=N if your cloud allows more")
	}
	x.left = max(-1, x.left-count)
	return x.left >= 0
}

// place is a stack's place in the tree.
type place struct {
	path     string // of its template
	registry *environment.Registry
	depth    int
	around   *place
}

// stack loads the stack resources of a stack.
func (l *loader) stack(s *program.Stack, at place) {
	for _, r := range s.Template.Resources {
		t, err := at.registry.Resolve(r.Type, r.Name)
		if err != nil {
			l.diags.Error(source.BadEnvironment, s.Place(r.TypeNode), err.Error(), "")
			continue
		}
		if t.Name != r.Type {
			s.SetType(r, t.Name)
		}
		group := groups[t.Name]
		isTemplate := environment.IsTemplate(t.Name)
		if r.Condition != nil && !l.present(s, r, isTemplate || group.definition != "" || s.SaysRoles(r)) {
			why, given := l.whyFalse(s, r)
			s.SetAbsent(r.Name, program.Removal{Why: why, At: s.Place(r.Condition.Value), Given: given})
			continue
		}
		if t.Name == noneType && t.At.Known() {
			s.SetNone(r.Name, t.At)
		}
		switch {
		case isTemplate:
			l.nested(s, r, t, at)
		case group.definition != "":
			l.group(s, r, group, at)
		case instanceGroups[t.Name]:
			l.instances(s, r, at)
		case t.Name == chainType:
			l.chain(s, r, at)
		case t.Name == remoteType:
			l.remote(s, r, at)
		}
	}
}

// present reports whether a resource's condition is true, or only Heat can decide it.
func (l *loader) present(s *program.Stack, r *hot.Resource, matters bool) bool {
	e, err := hot.Fold(s.Template.Enabled(r.Condition), s.Supplied.Peek)
	if err != nil && matters {
		l.diags.Error(source.BadArgument, s.Place(r.Condition.Value), fmt.Sprintf("the condition of %q: %s", r.Name, reason(err)), "")
	}
	if err != nil || !e.IsValue() {
		return true
	}
	if matters { // pin what decides it
		_, _ = hot.Fold(s.Template.Enabled(r.Condition), s.Supplied.Resolve)
	}
	return e.Value == true
}

// whyFalse explains a resource's false condition by the values that decide it; given says that
// there are any.
func (l *loader) whyFalse(s *program.Stack, r *hot.Resource) (why string, given bool) {
	why = "its condition is false"
	if name, ok := r.Condition.Value.Text(); ok {
		why = fmt.Sprintf("its condition %q is false", name)
	}
	var values []string
	_, _ = hot.Fold(s.Template.Enabled(r.Condition), func(call *hot.Expr) (*hot.Expr, error) {
		out, err := s.Supplied.Peek(call)
		if r := call.Ref(); err == nil && out.IsValue() && r.Kind == hot.ToParameter {
			val := fmt.Sprintf("%s is %s", r.Name, value.EncodeJSON(out.Value))
			if !slices.Contains(values, val) {
				values = append(values, val)
			}
		}
		return out, err
	})
	if len(values) > 0 {
		why += ", since " + strings.Join(values, " and ")
	}
	return why, len(values) > 0
}

// reason is an error without its position.
func reason(err error) string {
	if e := (*hot.Error)(nil); errors.As(err, &e) {
		return e.Reason()
	}
	return err.Error()
}

// nested loads the stack of a nested template.
func (l *loader) nested(s *program.Stack, r *hot.Resource, t environment.Type, at place) {
	if s.Template.Version.CFN() && t.File == "" {
		l.diags.Error(source.BadEnvironment, s.Place(r.TypeNode), fmt.Sprintf("%s does not reach Heat: the client sends no files that a CloudFormation template refers to", t.Name),
			"map a type of your own to the file, in the resource_registry of an environment")
		return
	}
	n := program.NewStackResource(s, r, program.NestedTemplate{}, r)
	n.Size = 1
	m := &program.Member{}
	if m.Stack = l.member(n, m, t, at, at.registry.Child(r.Name, t)); m.Stack == nil {
		return
	}
	n.Add(m)
	n.EachResources = Resources(m.Stack)
	s.AddStackResource(n)
}

// Open reports whether only Heat can decide the condition of a resource.
func Open(s *program.Stack, r *hot.Resource) bool {
	e, err := hot.Fold(s.Template.Enabled(r.Condition), s.Supplied.Peek)
	return err == nil && !e.IsValue()
}

// member loads a stack. It returns nil after an error, with a diagnostic.
func (l *loader) member(n *program.StackResource, m *program.Member, t environment.Type, at place, registry *environment.Registry) *program.Stack {
	s := n.In
	where := s.Place(n.Definition().TypeNode)
	path := t.File
	if path == "" && source.IsRemote(t.Name) {
		l.diags.NotFetched(where, t.Name)
		return nil
	}
	if path == "" {
		located, err := source.Locate(t.Name, filepath.Dir(at.path))
		if err != nil {
			l.diags.AddAt(where, err, true)
			return nil
		}
		path = located
	}
	path = filepath.Clean(path)
	depth := at.depth + 1
	if n.Group() {
		depth++
	}
	if !l.checkChain(path, depth, at, where) || !l.room.take(where, 1) {
		return nil
	}
	template := l.template(path, where, t)
	if template == nil {
		return nil
	}
	out := program.NewStack(n.Path(m), template, nil, n)
	l.supply(out, n, m, path)
	l.stack(out, place{path: path, registry: registry, depth: depth, around: &at})
	return out
}

// checkChain refuses a template that nests itself, and stacks nested too deep.
func (l *loader) checkChain(path string, depth int, at place, where source.Place) bool {
	for around := &at; around != nil; around = around.around {
		if around.path == path {
			l.diags.Error(source.Recursion, where, fmt.Sprintf("%s nests itself%s", l.name(path), l.through(path, at)), "break the cycle: a template cannot contain itself")
			return false
		}
	}
	if depth > l.MaxDepth {
		l.diags.Error(source.OverLimit, where, fmt.Sprintf("the stack would be nested %d levels deep; Heat allows %d (max_nested_stack_depth)", depth, l.MaxDepth),
			"reduce the nesting, or use --limit depth=N if your cloud allows more")
		return false
	}
	return true
}

// through names the other templates of the cycle.
func (l *loader) through(path string, at place) string {
	var names []string
	for around := &at; around != nil && around.path != path; around = around.around {
		names = append([]string{l.name(around.path)}, names...)
	}
	if len(names) == 0 {
		return ""
	}
	return " through " + strings.Join(names, ", ")
}

// name is a template's path relative to the root template's folder.
func (l *loader) name(path string) string {
	if rel, err := filepath.Rel(l.root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// template reads a template, once.
func (l *loader) template(path string, where source.Place, t environment.Type) *hot.Template {
	if template, read := l.templates[path]; read {
		return template
	}
	l.templates[path] = nil
	text, err := l.Read(path)
	if err != nil {
		d := &source.Diagnostic{Code: source.CannotRead, At: where, Message: err.Error()}
		if known, ok := source.AsDiagnostic(err); ok {
			d.Message, d.Hint = known.Message, known.Hint
		}
		if t.At.Known() {
			d.Note(t.At, "the environment maps the type to it")
		}
		l.diags.Add(d)
		return nil
	}
	file := source.NewFile(path, text)
	file.Portable = l.name(path)
	l.templates[path] = hot.ParseTemplate(file, l.diags)
	return l.templates[path]
}

// mentionsRoles reports whether a server in the stack, or nested in it, has a hotc
// block; these are not parsed yet.
func mentionsRoles(s *program.Stack) bool {
	return slices.ContainsFunc(s.Template.Resources, func(r *hot.Resource) bool { return resourceMentions(s, r) })
}

func resourceMentions(s *program.Stack, r *hot.Resource) bool {
	n := s.StackResourceOf(r.Name)
	if (n == nil || !n.Group()) && s.SaysRoles(r) && s.Removed(r.Name) == nil {
		return true
	}
	return n != nil && (len(n.Blocks()) > 0 && n.Size != 0 || slices.ContainsFunc(n.Stacks(), mentionsRoles))
}

// Resources counts the resources of a stack and of those in it, as Heat does
// (heat/engine/stack.py, total_resources). Where only Heat knows how many members a
// group has, the least number is counted.
func Resources(s *program.Stack) int {
	count := 0
	for _, r := range s.Template.Resources {
		if s.Makes(r.Name) {
			count++
		}
	}
	for _, n := range s.StackResources {
		each := n.EachResources
		if n.Group() {
			each++ // the member itself is a resource of the group's stack
		}
		count += max(n.Size, 0) * each
	}
	return count
}
