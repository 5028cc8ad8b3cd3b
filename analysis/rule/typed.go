package rule

import (
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// typed are the properties of a template's resources, and of groups' members, with stock
// Heat's definitions of them. Types unknown to stock Heat are skipped.
type typed struct {
	blocks []*Block
	values []*Typed
}

// Block is a map whose entries a type knows: a resource's properties, or a map within.
type Block struct {
	Of       string // for messages: "OS::Neutron::Port", "networks of OS::Nova::Server"
	Path     string // "" for the resource's own properties, otherwise like "networks"
	Type     *resourcetype.Type
	Resource *hot.Resource
	Known    map[string]*resourcetype.Property
	Node     *yaml.Node // nil if there are no properties at all
	At       source.Spanned
}

// Typed is a value that has a type.
type Typed struct {
	key      string // of the property
	items    int    // how many lists contain it
	Property *resourcetype.Property
	Node     *yaml.Node
	In       *Block
	index    string // the group's index variable; "" if there is none

	values []Known // the known ones; computed once for all rules
	valued bool
	one    [1]Known // backs values, of which there is mostly one
}

// Name describes it in messages: "size of OS::Cinder::Volume".
func (t *Typed) Name() string {
	return strings.Repeat("an item of ", t.items) + t.key + " of " + t.In.Of
}

// Blocks are all maps of properties.
func (l *Checker) Blocks() []*Block { return l.types().blocks }

// Typed are the values of all properties, and the items of lists.
func (l *Checker) Typed() []*Typed { return l.types().values }

// BlocksOf visits the properties of the resources of some types.
func (l *Checker) BlocksOf(types ...string) func(yield func(*Block) bool) {
	return func(yield func(*Block) bool) {
		for _, b := range l.Blocks() {
			if b.Path == "" && slices.Contains(types, b.Type.Name) && !yield(b) {
				return
			}
		}
	}
}

// Get is the value of a property; nil if it is absent or null.
func (b *Block) Get(name string) *yaml.Node {
	if n := b.Node.Get(name); !n.IsNull() {
		return n
	}
	return nil
}

// Has says whether a property is set, by its name or by an older one that Heat accepts.
func (b *Block) Has(name string) bool {
	if b.Get(name) != nil {
		return true
	}
	p := b.Known[name]
	return p != nil && p.Instead != "" && b.Get(p.Instead) != nil
}

// within is the place for what a block lacks.
func (b *Block) within() source.Spanned {
	if b.Path == "" && b.Resource.Properties != nil {
		return b.Resource.Properties.Key
	}
	return b.At
}

// incomplete says whether a block may have entries that are not written in it.
func (l *Checker) incomplete(b *Block) bool {
	return b.Node != nil && (b.Node.Kind != yaml.Map || l.IsCall(b.Node))
}

func (l *Checker) types() *typed {
	if l.typed == nil {
		w := &walker{Checker: l, typed: &typed{}, seen: map[*yaml.Node]bool{}}
		for r := range l.Resources {
			s := l.Use(r.Name)
			n := s.StackResourceOf(r.Name)
			if n != nil && n.Group() {
				w.resource(n.Definition(), n.Definition().Type, n)
			}
			if n == nil || n.Group() {
				w.resource(r, s.Type(r), nil)
			}
		}
		l.typed = w.typed
	}
	return l.typed
}

// walker collects blocks and typed values.
type walker struct {
	*Checker
	*typed
	seen  map[*yaml.Node]bool
	room  []Typed
	kind  *resourcetype.Type
	of    *hot.Resource
	index string
}

func (w *walker) resource(r *hot.Resource, kind string, group *program.StackResource) {
	t := w.Types.Lookup(kind)
	if t == nil || w.seen[r.Entry.Value] {
		return
	}
	w.seen[r.Entry.Value] = true
	w.kind, w.of, w.index = t, r, ""
	if group != nil {
		w.index = group.IndexVariable()
	}
	b := &Block{Of: t.Name, Type: t, Resource: r, Known: t.Properties, At: r.Entry.Key}
	if r.Properties != nil && !r.Properties.Value.IsNull() {
		if b.Node = r.Properties.Value; b.Node.Kind != yaml.Map || w.IsCall(b.Node) {
			return
		}
	}
	w.block(b)
	if n := r.Entry.Value.Get(w.Template.Keywords().UpdatePolicy); group == nil && n != nil && n.Kind == yaml.Map && !w.IsCall(n) {
		w.block(&Block{Of: "the update policy of " + t.Name, Path: "update_policy", Type: t, Resource: r, Known: t.UpdatePolicy, Node: n, At: n})
	}
}

func (w *walker) block(b *Block) {
	w.blocks = append(w.blocks, b)
	for _, e := range b.Node.All() {
		p := b.Known[e.Name]
		if p == nil || p.Instead != "" && b.Node.Entry(p.Instead) != nil {
			continue // Heat translates the one to the other
		}
		path := e.Name
		if b.Path != "" {
			path = b.Path + "." + e.Name
		}
		w.value(Typed{key: e.Name, Property: p, Node: e.Value, In: b, index: w.index}, path)
	}
}

func (w *walker) value(t Typed, path string) {
	own := w.add(t)
	switch p, n := t.Property, t.Node; {
	case w.IsCall(n):
	case n.Kind == yaml.Map && p.Properties != nil:
		w.block(&Block{Of: own.Name(), Path: path, Type: w.kind, Resource: w.of, Known: p.Properties, Node: n, At: n})
	case n.Kind == yaml.List && p.Each != nil:
		t.Property, t.items = p.Each, t.items+1
		for _, t.Node = range n.Items {
			w.value(t, path)
		}
	}
}

// usualRoom is how many values are allocated at once.
const usualRoom = 32

func (w *walker) add(t Typed) *Typed {
	if len(w.room) == cap(w.room) {
		w.room = make([]Typed, 0, usualRoom)
	}
	w.room = append(w.room, t)
	own := &w.room[len(w.room)-1]
	w.values = append(w.values, own)
	return own
}

// names are the names of a block's properties.
func (b *Block) names() []string { return slices.Sorted(maps.Keys(b.Known)) }
