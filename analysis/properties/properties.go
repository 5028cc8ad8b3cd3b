// Package properties compares resources with what stock Heat says of their types:
// properties that a type has not, or needs, and plain values of the wrong type. Heat
// would refuse them after the upload, hotc's user learns it at the desk.
//
// Only what is written out is looked at: what a function gives is Heat's. All findings
// are warnings, since a cloud's Heat may know more than the table
// (compiler/resourcetype); a type that is not in it is left alone, unless it looks
// like one that is.
package properties

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Check looks at the resources of each template once, and at the definitions of
// groups' members.
func Check(p *program.Program, diags *source.Diagnostics) {
	c := &checker{types: resourcetype.Cache{}, seen: map[*hot.Node]bool{}, diags: diags}
	p.Root.Walk(func(s *program.Stack) {
		c.template = s.Template
		for _, r := range s.Template.Resources {
			if s.Absent(r.Name) || r.Entry.Value.Get("external_id") != nil {
				continue // Heat does not look at these
			}
			n := s.NestOf(r.Name)
			if n != nil && n.Group() {
				c.resource(n.Definition, n.Definition.Type, n)
			}
			if n == nil || n.Group() {
				c.resource(r, s.Type(r), nil)
			}
		}
	})
}

type checker struct {
	template *hot.Template
	types    resourcetype.Cache
	names    []string // of all types
	seen     map[*hot.Node]bool
	// member says that a group's members are looked at: Heat puts their names into the
	// values, and takes parts out of a map in its own way.
	member bool
	diags  *source.Diagnostics
}

func (c *checker) resource(r *hot.Resource, kind string, group *program.Nest) {
	if c.seen[r.Entry.Value] || kind == "" {
		return
	}
	c.seen[r.Entry.Value] = true
	c.member = group != nil
	t := c.types.Lookup(kind)
	if t == nil {
		c.unknownType(r, kind)
		return
	}
	at := c.template.Place(r.Entry.Key)
	if r.Properties == nil || r.Properties.Value.IsNull() {
		c.missing(at, t.Name, t.Properties, nil, nil)
		return
	}
	if n := r.Properties.Value; n.Kind == hot.Map && !c.isCall(n) {
		c.entries(at, t.Name, t.Properties, n)
	}
}

// unknownType warns of a type that is nearly one of Heat's own.
func (c *checker) unknownType(r *hot.Resource, kind string) {
	written, plain := r.TypeNode.Text()
	if !plain || written != kind || !strings.Contains(kind, "::") {
		return // an environment's doing
	}
	if c.names == nil {
		c.names = resourcetype.Names()
	}
	namespace, _, _ := strings.Cut(kind, "::")
	if near := hot.Nearest(kind, c.names); near != "" && closeTo(kind, near) && strings.HasPrefix(near, namespace+"::") {
		c.diags.Warning(source.UnknownType, c.template.Place(r.TypeNode), fmt.Sprintf("stock Heat %s has no resource type %q", resourcetype.Release(), kind),
			fmt.Sprintf("did you mean %q? If your cloud has this type, all is well", near))
	}
}

// closeTo says whether two names differ only in the last part or the one before it, and
// there by a slip: `OS::Nova::Quota` is no slip for `OS::Cinder::Quota`.
func closeTo(a, b string) bool {
	x, y := strings.Split(a, "::"), strings.Split(b, "::")
	if len(x) != len(y) {
		return false
	}
	different := 0
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		different++
		if hot.Nearest(x[i], []string{y[i]}) == "" {
			return false
		}
	}
	return different == 1
}

// entries compares the entries of a map with what it may have.
func (c *checker) entries(at source.Place, of string, known map[string]*resourcetype.Property, n *hot.Node) {
	var meant []string // by names that there are not
	for _, e := range n.Entries {
		p := known[e.Name]
		if p == nil {
			meant = append(meant, c.unknown(of, known, e))
			continue
		}
		if p.Instead != "" && n.Entry(p.Instead) != nil {
			continue // Heat makes one value of the two
		}
		c.value(e.Name+" of "+of, p, e.Value)
	}
	c.missing(at, of, known, n, meant)
}

// fewNames is how many names a hint lists.
const fewNames = 12

// unknown warns of a property that there is not, and returns the one that was perhaps
// meant.
func (c *checker) unknown(of string, known map[string]*resourcetype.Property, e hot.Entry) (near string) {
	hint := ""
	names := slices.Sorted(maps.Keys(known))
	if near = hot.Nearest(e.Name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(names) <= fewNames {
		hint = "it has " + strings.Join(names, ", ")
	}
	c.diags.Warning(source.UnknownProperty, c.template.Place(e.Key), fmt.Sprintf("%s has no property %q in Heat %s", of, e.Name, resourcetype.Release()), hint)
	return near
}

// missing looks for the properties that must be there, but for those of which something
// else is said. A null or a function that gives none counts as there: Heat has its own
// opinion on each.
func (c *checker) missing(at source.Place, of string, known map[string]*resourcetype.Property, n *hot.Node, but []string) {
	var needed []string
	for name, p := range known {
		if p.Required && n.Entry(name) == nil && !slices.Contains(but, name) && (p.Instead == "" || n.Entry(p.Instead) == nil) {
			needed = append(needed, name)
		}
	}
	slices.Sort(needed)
	switch len(needed) {
	case 0:
	case 1:
		c.diags.Warning(source.MissingProperty, at, fmt.Sprintf("%s needs the property %q", of, needed[0]), "")
	default:
		c.diags.Warning(source.MissingProperty, at, fmt.Sprintf("%s needs the properties %s", of, strings.Join(needed, ", ")), "")
	}
}

// value compares what is written with a property's type.
func (c *checker) value(name string, p *resourcetype.Property, n *hot.Node) {
	if c.isCall(n) || n.IsNull() {
		return
	}
	var v hot.Value
	switch n.Kind {
	case hot.Scalar:
		v = n.Value
		if text, is := v.(string); is && c.member && text != "" {
			return // the member's name may be put in
		}
	case hot.List:
		v = []hot.Value{}
	case hot.Map:
		v = &hot.Dict{}
	}
	if !p.Kind.Takes(v) {
		c.diags.Warning(source.PropertyType, c.template.Place(n), fmt.Sprintf("%s is to be %s, not %s", name, p.Kind, described(v)), "")
		return
	}
	switch {
	case n.Kind == hot.Map && p.Properties != nil:
		c.entries(c.template.Place(n), name, p.Properties, n)
	case n.Kind == hot.List && p.Each != nil:
		for _, item := range n.Items {
			c.value("an item of "+name, p.Each, item)
		}
	}
}

// described is a value of the wrong type, as people call it.
func described(v hot.Value) string {
	switch v := v.(type) {
	case string:
		if len(v) <= 40 {
			return fmt.Sprintf("%q", v)
		}
	case bool, int64:
		return hot.ToString(v)
	case float64:
		return "the number " + hot.FormatFloat(v)
	}
	return hot.TypeName(v)
}

func (c *checker) isCall(n *hot.Node) bool {
	return n.Kind == hot.Map && len(n.Entries) == 1 && c.template.Functions.Lookup(n.Entries[0].Name) != nil
}
