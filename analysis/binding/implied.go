package binding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// impliedEdges adds the dependencies between a stack's resources that Heat adds by itself,
// because of their types and the values of their properties (resourcetype.Implied): a server
// waits for the subnets of its networks. Only those are added that are certain: two values
// that are computed differently are taken for different.
func (b *binder) impliedEdges() {
	i := implying{binder: b, byType: map[string][]*hot.Resource{}}
	for _, r := range b.template.Resources {
		if !b.stack.Makes(r.Name) {
			continue
		}
		kind := b.stack.Type(r)
		i.byType[kind] = append(i.byType[kind], r)
		if r.Type != kind { // Heat takes a type that an environment maps for both
			i.byType[r.Type] = append(i.byType[r.Type], r)
		}
	}
	for _, r := range b.template.Resources {
		known := b.program.Types.Lookup(b.stack.Type(r))
		if known == nil || !b.stack.Makes(r.Name) {
			continue
		}
		for _, rule := range known.Implied {
			i.add(r, rule)
		}
	}
}

// implying adds implied dependencies of one stack.
type implying struct {
	*binder
	byType map[string][]*hot.Resource
}

// compared is one value of a property as Heat sees it before any resource is created.
type compared struct {
	// key is the same for the same values; "" if nothing is known then: attributes, and what is
	// not given.
	key string
	at  source.Place
}

func (i *implying) add(r *hot.Resource, rule resourcetype.Implied) {
	on := i.byType[rule.On]
	if len(on) == 0 {
		return
	}
	holders := []*hot.Resource{r}
	if rule.Via != "" {
		holders = lists.Only(i.byType[rule.Via], func(x *hot.Resource) bool { return i.needs(r, x) })
	}
	var own []compared
	for _, x := range holders {
		own = append(own, i.values(x, rule.Own, reading{first: rule.First, empty: rule.Empty, choices: true})...)
	}
	if len(own) == 0 {
		return
	}
	path := i.stack.PathOf(r.Name)
	for _, x := range on {
		theirs := i.values(x, rule.Other, reading{})
		at := slices.IndexFunc(own, func(o compared) bool {
			return slices.ContainsFunc(theirs, func(t compared) bool {
				switch {
				case o.key == "" && t.key == "":
					return rule.BothUnset
				case o.key == "" || t.key == "":
					return o.key == "" && rule.OwnUnset || t.key == "" && rule.OtherUnset
				}
				return o.key == t.key
			})
		})
		if at < 0 || x == r {
			continue
		}
		i.analysis.Edges[path] = append(i.analysis.Edges[path], Edge{On: i.stack.PathOf(x.Name), At: own[at].at, Implied: why(i.stack.Type(r), rule)})
	}
}

// why says why there is an implied dependency.
func why(kind string, rule resourcetype.Implied) string {
	own := fmt.Sprintf("its %q", rule.Own)
	if rule.Via != "" {
		own = fmt.Sprintf("the %q of its %s", rule.Own, rule.Via)
	}
	out := fmt.Sprintf("Heat creates an %s after each %s whose %q is %s", kind, rule.On, rule.Other, own)
	if rule.OwnUnset {
		out += ", or may be"
	}
	return out
}

// needs says whether a resource depends on another one so far.
func (i *implying) needs(r, on *hot.Resource) bool {
	return slices.ContainsFunc(i.analysis.Edges[i.stack.PathOf(r.Name)], func(e Edge) bool { return e.On == i.stack.PathOf(on.Name) })
}

// values are the values at a path of a resource's properties.
func (i *implying) values(r *hot.Resource, path string, w reading) []compared {
	var p *resourcetype.Property
	names := strings.Split(path, ".")
	if known := i.program.Types.Lookup(i.stack.Type(r)); known != nil {
		p = known.Properties[names[0]]
	}
	node := r.Property(names[0])
	if node == nil && p != nil && p.Instead != "" {
		node = r.Property(p.Instead)
	}
	nothing := compared{at: i.template.Place(r.Entry.Key)}
	if node == nil {
		if len(names) > 1 && !w.empty {
			return nil
		}
		return []compared{nothing}
	}
	e, err := i.template.Fold(node, i.stack.Supplied.Peek)
	if err != nil {
		return nil // reported elsewhere
	}
	w.below(e, p, names[1:], false)
	if len(w.found) == 0 && w.empty && e.IsValue() {
		return []compared{nothing}
	}
	return w.found
}

// reading collects the values at a path of an expression.
type reading struct {
	first bool // of a list only the first item
	empty bool // a list without items has one that is not known
	// choices says that branches of an `if` count: the place of an edge tells under which condition
	// it exists, so only those of one side do.
	choices bool
	found   []compared
}

// below visits a part of a property; within says that it is in a branch of an `if`, where only
// calls can be told apart by the conditions under which Heat evaluates them.
func (w *reading) below(e *hot.Expr, p *resourcetype.Property, path []string, within bool) {
	if choice, is := e.If(); is {
		for _, x := range choice.Branches() {
			if w.choices {
				w.below(x, p, path, true)
			}
		}
		return
	}
	constants := func(values []value.Value) []*hot.Expr {
		return lists.Map(values, func(x value.Value) *hot.Expr { return hot.Constant(x, e.At) })
	}
	switch v := e.Value.(type) {
	case []value.Value:
		w.items(constants(v), p, path, within)
		return
	case *value.Dict:
		w.entries(v.Keys(), constants(v.Values()), e.At, p, path, within)
		return
	}
	switch {
	case e.Kind == hot.ListExpr:
		w.items(e.Items, p, path, within)
	case e.Kind == hot.MapExpr:
		w.entries(e.Keys, e.Items, e.At, p, path, within)
	case len(path) > 0 || within && e.Kind != hot.CallExpr:
	case e.Ref().Kind == hot.ToAttribute, e.IsValue() && (e.Value == nil || e.Value == ""):
		w.found = append(w.found, compared{at: e.At})
	case e.Any(func(x *hot.Expr) bool { return x.Ref().Kind == hot.ToAttribute }):
	default:
		w.found = append(w.found, compared{Key(e), e.At})
	}
}

func (w *reading) items(items []*hot.Expr, p *resourcetype.Property, path []string, within bool) {
	if w.first && len(items) > 1 {
		items = items[:1]
	}
	if p != nil {
		p = p.Each
	}
	for _, x := range items {
		w.below(x, p, path, within)
	}
}

func (w *reading) entries(keys []string, items []*hot.Expr, at source.Place, p *resourcetype.Property, path []string, within bool) {
	if len(path) == 0 {
		return
	}
	if p != nil {
		p = p.Properties[path[0]]
	}
	n := slices.Index(keys, path[0])
	if n < 0 && p != nil && p.Instead != "" {
		n = slices.Index(keys, p.Instead)
	}
	if n >= 0 {
		w.below(items[n], p, path[1:], within)
	} else if !within {
		w.found = append(w.found, compared{at: at})
	}
}
