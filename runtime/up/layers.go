package up

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// layer is a stack before and after the update, the root or a nested one.
type layer struct {
	was, is func(resource string) map[string]any // definitions; nil if there is none
	changed map[string]bool                      // parameters whose value or declaration changes
	group   bool                                 // it is a group, whose members are alike
	member  bool                                 // its template is hotc's, for a member that is a server
	given   *layer                               // in a member: of the properties that the user wrote
}

// template is the relevant part of a template.
type template struct {
	Parameters map[string]any            `json:"parameters"`
	Resources  map[string]map[string]any `json:"resources"`
}

func (t template) resource(name string) map[string]any { return t.Resources[name] }

// replaced reports whether a resource's own definition, or a parameter in it, changes.
func (l layer) replaced(name string) bool {
	is := l.is(name)
	return reads(is, l.changed) || !reflect.DeepEqual(definition(l.was(name)), definition(is))
}

// sets reports whether another value of a property is certain for a server.
func (l *layer) sets(name, property string) bool {
	if l.is(name)["type"] != "OS::Nova::Server" {
		return false
	}
	if l.given != nil {
		l = l.given
	}
	was, is := properties(l.was(name)), properties(l.is(name))
	return reads(is[property], l.changed) || !reflect.DeepEqual(was[property], is[property])
}

// rebuilds reports whether Heat rebuilds a server, where it does not say itself.
func (l *layer) rebuilds(name string) bool {
	if !l.sets(name, "image") {
		return false
	}
	if l.given != nil {
		l = l.given
	}
	return properties(l.is(name))["image_update_policy"] != "REPLACE"
}

func properties(r map[string]any) map[string]any {
	is, _ := r["properties"].(map[string]any)
	return is
}

// layers finds the layers of a stack that is to be updated.
type layers struct {
	up     *Up
	nested map[string]heat.Resource // nested stacks by id
	known  map[string]*layer        // by path; a group's members share one
}

// sure keeps what is certain of what Heat foresees. A resource is certainly replaced where Heat
// says so and its own definition, or a parameter in it, changes: Heat also names what merely refers
// to something that changes.
func (c *Changes) sure(ctx context.Context, u *Up, seen *heat.Changes) error {
	var err error
	if c.Given, c.Unknown, c.Derived, err = u.supplied(); err != nil {
		return err
	}
	if c.Values, err = u.values(c.Given); err != nil {
		return err
	}
	root, err := u.rootLayer(ctx, c.Given)
	if err != nil {
		return err
	}
	all, err := u.Cloud.Resources(ctx, u.stack.Name, u.stack.ID, heat.MaxDepth)
	if err != nil {
		return err
	}
	ls := &layers{up: u, nested: map[string]heat.Resource{}, known: map[string]*layer{"": root}}
	had := map[[2]string]heat.Resource{} // by stack and name
	for _, r := range all {
		had[[2]string{r.StackID, r.Name}] = r
		if r.NestedID != "" {
			ls.nested[r.NestedID] = r
		}
	}
	at := places(all)
	ids := map[string]string{} // of stacks, by their names in a preview
	for id, path := range at {
		ids[u.stack.Name+"-"+strings.Join(path, "-")] = id
	}
	list := func(from []heat.Change, keep func(l *layer, stack, name string) bool) (names []string, err error) {
		for _, x := range from {
			id := cmp.Or(ids[x.Stack.Name], x.Stack.ID)
			path, known := at[id]
			if strings.HasPrefix(x.Name, "hotc_") || !known && id != "" && id != u.stack.ID {
				continue
			}
			l, err := ls.at(ctx, id, path)
			if err != nil {
				return nil, err
			}
			if l != nil && keep(l, cmp.Or(id, u.stack.ID), x.Name) {
				names = append(names, l.name(path, x.Name))
			}
		}
		slices.Sort(names)
		return outermost(slices.Compact(names)), nil
	}
	any := func(*layer, string, string) bool { return true }
	if c.Added, err = list(seen.Added, any); err != nil {
		return err
	}
	machines := map[string]bool{} // that Heat deletes without waiting for hooks, and which it replaces
	goes := func(l *layer, stack, name string, replaced bool) bool {
		if l.was(name)["type"] == "OS::Nova::Server" {
			machines[had[[2]string{stack, name}].ID] = replaced
		}
		return true
	}
	if c.Deleted, err = list(seen.Deleted, func(l *layer, stack, name string) bool { return goes(l, stack, name, false) }); err != nil {
		return err
	}
	c.Replaced, err = list(seen.Replaced, func(l *layer, stack, name string) bool {
		return (had[[2]string{stack, name}].State.Failed() || l.replaced(name)) && goes(l, stack, name, true)
	})
	if err != nil {
		return err
	}
	if c.Rebuilt, err = list(seen.Updated, func(l *layer, _, name string) bool { return l.sets(name, "image") }); err != nil {
		return err
	}
	if c.Resized, err = list(seen.Updated, func(l *layer, _, name string) bool { return l.sets(name, "flavor") && !l.sets(name, "image") }); err != nil {
		return err
	}
	named, err := list(seen.Replaced, any)
	if err != nil {
		return err
	}
	c.First, c.Lost = u.hooks(c, machines)
	c.Perhaps = follows(root, c.Replaced, named)
	c.machines = map[string]bool{}
	for _, r := range all {
		l, err := ls.at(ctx, r.StackID, at[r.StackID])
		if err != nil {
			return err
		}
		if l == nil || r.ID == "" {
			continue
		}
		name := l.name(at[r.StackID], r.Name)
		if c.Within && r.StackID != u.stack.ID && l.rebuilds(r.Name) && !Within(name, slices.Concat(c.Deleted, c.Replaced)) {
			c.Rebuilt = append(c.Rebuilt, name)
		}
		c.machines[r.ID] = slices.Contains(c.Rebuilt, name)
	}
	slices.Sort(c.Rebuilt)
	c.Rebuilt = slices.Compact(c.Rebuilt)
	c.Bare, err = ls.bare(ctx, c, all, at)
	return err
}

// follows finds, among what Heat names as replaced, what lies in a resource of the root that
// refers, directly or not, to one that is certainly replaced.
func follows(root *layer, sure, named []string) (found []string) {
	top := func(path string) string { return strings.SplitN(path, "/", 2)[0] }
	moved := lists.Set(lists.Map(sure, top))
	refers := func(name, of string) bool { return (name == "get_attr" || name == "get_resource") && moved[of] }
	for before := -1; before < len(moved); {
		before, found = len(moved), nil
		for _, path := range named {
			if !Within(path, sure) && calls(root.is(top(path)), refers) {
				found = append(found, path)
			}
		}
		for _, path := range found {
			moved[top(path)] = true
		}
	}
	return found
}

// bare finds servers that are new in the plan while Heat keeps their machines in this update:
// user-data is for new machines, so they never get an agent.
func (ls *layers) bare(ctx context.Context, c *Changes, all []heat.Resource, at map[string][]string) (map[string]heat.Resource, error) {
	bare := map[string]heat.Resource{}
	for _, r := range all {
		if r.ID == "" || r.State.Failed() {
			continue
		}
		l, err := ls.at(ctx, r.StackID, at[r.StackID])
		if err != nil {
			return nil, err
		}
		if l == nil || l.is(r.Name) == nil || c.Within && l.replaced(r.Name) {
			continue
		}
		if name := l.name(at[r.StackID], r.Name); !Within(name, slices.Concat(c.Deleted, c.Replaced)) && ls.up.isNew(name) {
			bare[name] = r
		}
	}
	return bare, nil
}

// isNew reports whether a path is a server of the plan that the deployment has not had so far. This
// is unknown for one that the coordinator has lost.
func (u *Up) isNew(path string) bool {
	if u.now == nil && u.stack.Parameters[contract.SecretParameter] != "" {
		return false
	}
	return slices.ContainsFunc(u.Plan.Servers, func(s contract.Server) bool {
		if u.now != nil && u.now.ByPath[s.Path] != nil {
			return false
		}
		if s.Slot == nil {
			return string(s.Path) == path
		}
		before, after, _ := strings.Cut(string(s.Slot.Shared), "*")
		return strings.HasPrefix(path, before) && strings.HasSuffix(path, after)
	})
}

// refuseBare explains how such a server can get an agent.
func (u *Up) refuseBare(bare map[string]heat.Resource) error {
	if len(bare) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(bare)))
	resource := bare[name]
	what, hint := "its roles would never run", ""
	if i := slices.IndexFunc(u.Plan.Servers, func(s contract.Server) bool { return string(s.Path) == name }); i >= 0 && len(u.Plan.Servers[i].Roles) == 0 {
		what, hint = "the roles that read its address, name or id would wait forever", "with \"--facts heat\", Heat supplies them. Or, if the machine may be replaced: "
	}
	return source.Fail(source.ChangedPlan, "the server "+name+" has no agent, and this update keeps its machine: "+what,
		hint+"\"openstack stack resource mark unhealthy "+resource.StackName+" "+resource.Name+"\" lets Heat replace it in the next \"hotc up\"")
}

// Within reports whether a path is one of some resources, or inside one.
func Within(path string, resources []string) bool {
	return slices.ContainsFunc(resources, func(name string) bool { return path == name || strings.HasPrefix(path, name+"/") })
}

// name is the name of a resource in a layer: the server in hotc's own template of a member is named
// like the member.
func (l *layer) name(path []string, resource string) string {
	if path = slices.Clone(path); l.member && l.is(resource)["type"] == "OS::Nova::Server" {
		return strings.Join(path, "/")
	}
	return strings.Join(append(path, resource), "/")
}

// outermost drops from sorted paths those inside another one.
func outermost(paths []string) (kept []string) {
	for _, p := range paths {
		if n := len(kept); n == 0 || !strings.HasPrefix(p, kept[n-1]+"/") {
			kept = append(kept, p)
		}
	}
	return kept
}

func (u *Up) rootLayer(ctx context.Context, given []string) (*layer, error) {
	before, err := u.Cloud.Definition(ctx, u.stack)
	if err != nil {
		return nil, err
	}
	var was, is template
	if err := json.Unmarshal(before, &was); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(u.Template.JSON(), &is); err != nil {
		return nil, err
	}
	l := &layer{was: was.resource, is: is.resource, changed: map[string]bool{}}
	for name, p := range is.Parameters {
		l.changed[name] = !reflect.DeepEqual(p, was.Parameters[name])
	}
	for _, name := range given { // one that was given before may be left to its default now
		l.changed[name] = true
	}
	return l, nil
}

// at is the layer of a stack at a path; nil if unknown.
func (ls *layers) at(ctx context.Context, id string, path []string) (*layer, error) {
	if len(path) == 0 {
		return ls.known[""], nil
	}
	stack := ls.nested[id]
	above, err := ls.at(ctx, stack.StackID, path[:len(path)-1])
	if err != nil || above == nil {
		return nil, err
	}
	key := strings.Join(path, "/")
	if above.group {
		key = strings.Join(path[:len(path)-1], "/") + "/*"
	}
	if l, known := ls.known[key]; known {
		return l, nil
	}
	l, err := ls.below(ctx, above, stack)
	ls.known[key] = l
	return l, err
}

// below is the layer of a resource of another layer.
func (ls *layers) below(ctx context.Context, above *layer, r heat.Resource) (*layer, error) {
	was, is := above.was(r.Name), above.is(r.Name)
	before, after := properties(was), properties(is)
	for _, member := range []string{"resource_def", "resource"} {
		if now, group := after[member].(map[string]any); group {
			old, _ := before[member].(map[string]any)
			return &layer{was: func(string) map[string]any { return old }, is: func(string) map[string]any { return now }, changed: above.changed, group: true}, nil
		}
	}
	address, _ := is["type"].(string)
	text, has := ls.up.Template.Nested(address)
	if !has {
		return nil, nil
	}
	old, err := ls.up.Cloud.Definition(ctx, &heat.Stack{Name: r.NestedName, ID: r.NestedID})
	if err != nil {
		return nil, err
	}
	var had, gets template
	if err := json.Unmarshal(old, &had); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &gets); err != nil {
		return nil, err
	}
	l := &layer{was: had.resource, is: gets.resource, changed: map[string]bool{}, member: strings.Contains(address, "/hotc/members/")}
	if l.member {
		own := func(from map[string]any) func(string) map[string]any {
			return func(string) map[string]any { return map[string]any{"properties": from["server_properties"]} }
		}
		l.given = &layer{was: own(before), is: own(after), changed: above.changed}
	}
	for name, p := range gets.Parameters {
		l.changed[name] = !reflect.DeepEqual(p, had.Parameters[name]) || !reflect.DeepEqual(unplaced(before[name]), unplaced(after[name])) || reads(after[name], above.changed)
	}
	return l, nil
}
