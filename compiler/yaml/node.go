// Package yaml parses a template into nodes with their positions, as Heat reads YAML and
// JSON, and formats values for such a text.
package yaml

import (
	"iter"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Node is a piece of the template's text: its meaning and its exact position.
// Aliases are resolved: an alias is a separate Node whose Target is the anchored one
// and whose children are the target's.
type Node struct {
	Kind  Kind
	Style Style
	// Span is the node's own text, after anchor and tag; that of an empty scalar is
	// empty.
	source.Span
	Value   value.Value // of a scalar
	Items   []*Node     // of a list
	Entries []Entry     // of a map, in order, without duplicates
	sharing *sharing    // of an alias, or a map with merge keys or lost entries; otherwise nil
}

// sharing has the rare links of a node to others.
type sharing struct {
	target *Node
	merges []Entry
	lost   []Entry
}

// Entry is one key of a map with its value.
type Entry struct {
	Key   Key
	Name  string // the key as a JSON string
	Value *Node
	// Merged says that the entry is from a merge key, and its text elsewhere.
	Merged bool
	number bool // the key is a number or a boolean, which Python compares by value
}

// Key is the position of a key. Its text is the entry's Name.
type Key struct{ source.Span }

// Extent is the node's span; that of a missing one is at the start of the file.
func (n *Node) Extent() source.Span {
	if n == nil {
		return source.Span{}
	}
	return n.Span
}

// Target is the target of an alias; nil for other nodes.
func (n *Node) Target() *Node {
	if n.sharing == nil {
		return nil
	}
	return n.sharing.target
}

// Merges are the merge keys of a map.
func (n *Node) Merges() []Entry {
	if n.sharing == nil {
		return nil
	}
	return n.sharing.merges
}

// Lost are the entries of a map that later duplicates override.
func (n *Node) Lost() []Entry {
	if n.sharing == nil {
		return nil
	}
	return n.sharing.lost
}

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Scalar Kind = iota
	List
	Map
)

func (k Kind) String() string { return [...]string{"a scalar", "a list", "a map"}[k] }

// Style is how a node is written.
type Style uint8

// The styles: of scalars, then of lists and maps.
const (
	Plain Style = iota
	SingleQuoted
	DoubleQuoted
	Literal
	Folded
	Block
	Flow
)

// Get returns the value of a key, or nil.
func (n *Node) Get(key string) *Node {
	if e := n.Entry(key); e != nil {
		return e.Value
	}
	return nil
}

// Entry returns the entry of a key, or nil; also of a nil node.
func (n *Node) Entry(key string) *Entry {
	if n == nil {
		return nil
	}
	for i := range n.Entries {
		if n.Entries[i].Name == key {
			return &n.Entries[i]
		}
	}
	return nil
}

// OneOrMore are the items of a list, or the scalar in place of one; none for a nil node.
func (n *Node) OneOrMore() []*Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == Scalar:
		return []*Node{n}
	}
	return n.Items
}

// List are the items of a list; none for anything else.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// All are the entries of a map; also of a nil node.
func (n *Node) All() []Entry {
	if n == nil {
		return nil
	}
	return n.Entries
}

// Below are the items of a list, or the values of a map.
func (n *Node) Below() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, x := range n.Items {
			if !yield(x) {
				return
			}
		}
		for i := range n.Entries {
			if !yield(n.Entries[i].Value) {
				return
			}
		}
	}
}

// Nodes are a node and all that are below it, outer ones first; none of a nil node.
func (n *Node) Nodes() iter.Seq[*Node] { return func(yield func(*Node) bool) { n.each(yield) } }

func (n *Node) each(yield func(*Node) bool) bool {
	if n == nil || !yield(n) {
		return n == nil
	}
	for x := range n.Below() {
		if !x.each(yield) {
			return false
		}
	}
	return true
}

// Text is a scalar's string.
func (n *Node) Text() (string, bool) {
	if n == nil || n.Kind != Scalar {
		return "", false
	}
	s, ok := n.Value.(string)
	return s, ok
}

// IsTrue reports whether a node is the boolean true.
func (n *Node) IsTrue() bool { return n != nil && n.Value == true }

// IsNull reports whether a node is missing or null.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Scalar && n.Value == nil }

// Data is the node as a plain value, without evaluating functions.
func (n *Node) Data() value.Value {
	switch n.Kind {
	case List:
		return lists.Map(n.Items, (*Node).Data)
	case Map:
		d := value.SizedDict(len(n.Entries))
		for i := range n.Entries {
			d.Set(n.Entries[i].Name, n.Entries[i].Value.Data())
		}
		return d
	}
	return n.Value
}
