package nesting

import (
	"fmt"
	"path/filepath"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// A stack that is a resource (OS::Heat::Stack) is made by a call of Heat's own API, from
// the text of a template: it is no nested stack to Heat, but what it hands over and gives
// back is the same.

// remoteType is that of such stacks (heat/engine/resources/openstack/heat/remote_stack.py).
const remoteType = "OS::Heat::Stack"

// RemoteParameters is the property with what such a stack is given.
const RemoteParameters = "parameters"

// remote loads a stack that is a resource, if there are roles in it.
func (l *loader) remote(s *program.Stack, r *hot.Resource, at place) {
	file := r.Property("template").Get("get_file")
	name, ok := file.Text()
	if !ok || s.Template.Version.CFN() {
		return // its text says what it is
	}
	path, err := source.Locate(name, filepath.Dir(at.path))
	if err != nil {
		return // who reads the file says so
	}
	t := environment.Type{Name: name, File: path}
	// a tree of stacks of its own, in the same environment
	inside := at
	inside.depth = -1
	if !l.checkChain(filepath.Clean(path), 0, inside, s.Place(file)) {
		return
	}
	var diags source.Diagnostics
	trial := l.trial(&diags)
	if !trial.hasRolesAt(s, r, t, inside, at.registry) {
		for _, d := range diags.All() {
			if d.Code == source.NotYet || trial.isNone(d.At.File) { // there may be roles
				l.diags.Add(d)
			}
		}
		return
	}
	if !l.remoteForm(s, r) {
		return
	}
	n := &program.Nest{In: s, Resource: r, Definition: remoteDefinition(r, file), Size: 1, Within: RemoteParameters, Remote: true}
	m := &program.Member{}
	if m.Stack = l.member(n, m, t, inside, at.registry); m.Stack != nil {
		n.Members = []*program.Member{m}
		s.AddNest(n)
	}
}

// isNone says whether a file was read as a template, and is none.
func (l *loader) isNone(f *source.File) bool {
	if f == nil {
		return false
	}
	t, read := l.templates[f.Name]
	return read && t == nil
}

func remoteDefinition(r *hot.Resource, file *hot.Node) *hot.Resource {
	d := &hot.Resource{Name: r.Name, Entry: r.Entry, TypeNode: file}
	if !r.Property(RemoteParameters).IsNull() {
		d.Properties = r.Properties.Value.Entry(RemoteParameters)
	}
	return d
}

// remoteForm refuses a stack with roles that is elsewhere, or that hotc cannot hand more
// parameters to.
func (l *loader) remoteForm(s *program.Stack, r *hot.Resource) bool {
	if n := r.Property("context"); !n.IsNull() {
		l.diags.Error(source.NotYet, s.Place(n), fmt.Sprintf("the stack %q has servers with roles, and lies in another region or cloud, whose servers cannot tell this one's Heat that they are done", r.Name),
			"deploy it by itself, with a deployment of its own")
		return false
	}
	n := r.Property(RemoteParameters)
	call := ""
	if n != nil {
		call, _ = s.Template.CallOf(n)
	}
	if n.IsNull() || n.Kind == hot.Map && call == "" {
		return true
	}
	l.diags.Error(source.NotYet, s.Place(n), fmt.Sprintf("the stack %q has servers with roles, and hotc must see one by one what it is given", r.Name), "write a map of parameters, whose values may be functions")
	return false
}
