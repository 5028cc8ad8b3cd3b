package yaml

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Lists and maps of a YAML text, with merge keys and duplicate keys.

func (p *parser) list(y *yaml.Node, n *Node, indent, depth int) uint64 {
	n.Kind = List
	indent = p.enter(y, n, indent)
	defer p.leave(n)
	size := uint64(1)
	n.Items = make([]*Node, len(y.Content))
	for i, c := range y.Content {
		item, s := p.node(c, indent, depth+1)
		n.Items[i] = item
		size = saturate(size + s)
		n.Span.End = item.Span.End
	}
	if n.Style == Flow {
		n.Span.End = closing(p.file.Text, max(n.Span.End, n.Span.Start+1))
	}
	return size
}

// column is the column of a block collection, from 0: the library's is that of its
// anchor or tag.
func (p *parser) column(y *yaml.Node, n *Node) int {
	if y.Anchor == "" && y.Style&yaml.TaggedStyle == 0 {
		return y.Column - 1
	}
	return int(n.Span.Start - p.file.LineStart(n.Span.Start))
}

// enter begins a collection and returns its indentation, which the content exceeds.
func (p *parser) enter(y *yaml.Node, n *Node, indent int) int {
	if y.Style&yaml.FlowStyle != 0 {
		n.Style = Flow
		p.flow++
		return indent
	}
	n.Style = Block
	return p.column(y, n)
}

func (p *parser) leave(n *Node) {
	if n.Style == Flow {
		p.flow--
	}
}

func (p *parser) mapping(y *yaml.Node, n *Node, indent, depth int) uint64 {
	n.Kind = Map
	indent = p.enter(y, n, indent)
	defer p.leave(n)
	size := uint64(1)
	var merged, merges []Entry
	own := make([]Entry, 0, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		p.key = true
		key, _ := p.node(k, indent, depth+1)
		p.key = false
		// The use of a map's own anchor in its merge key adds nothing: PyYAML removes the key before it reads the map.
		ofItself := func(v *yaml.Node) bool { return v.Kind == yaml.AliasNode && v.Alias == y }
		if isMergeKey(k) && ofItself(v) {
			start := p.offset(v)
			value := &Node{Kind: Map, Style: n.Style, sharing: &sharing{target: n}, Span: source.Span{Start: start, End: start + uint32(len(v.Value)) + 1}}
			n.Span.End = max(n.Span.End, value.Span.End)
			merges = append(merges, Entry{Key: Key{key.Span}, Name: "<<", Value: value})
			continue
		}
		if isMergeKey(k) && v.Kind == yaml.SequenceNode && v.Anchor == "" && !slices.ContainsFunc(v.Content, func(v *yaml.Node) bool { return !ofItself(v) }) {
			v.Content = nil
		}
		value, s := p.node(v, indent, depth+1)
		size = saturate(size + s + 1)
		n.Span.End = max(n.Span.End, key.Span.End, value.Span.End)
		if isMergeKey(k) {
			merged = append(merged, p.merge(v, value)...)
			merges = append(merges, Entry{Key: Key{key.Span}, Name: "<<", Value: value})
			continue
		}
		own = append(own, p.entry(k, key, value))
	}
	if len(merges) > 0 {
		n.sharing = &sharing{merges: merges}
	}
	p.settle(n, append(merged, own...))
	if n.Style == Flow && bytes.HasPrefix(p.file.Text[n.Span.Start:], []byte("{")) { // [a: b] holds a map without braces
		n.Span.End = closing(p.file.Text, max(n.Span.End, n.Span.Start+1))
	}
	return size
}

func isMergeKey(k *yaml.Node) bool {
	return k.Tag == "!!merge" && k.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0
}

// merge returns the entries of a merge key in PyYAML's order: the first of several
// maps wins, so it comes last (yaml/constructor.py, flatten_mapping).
func (p *parser) merge(y *yaml.Node, v *Node) []Entry {
	var out []Entry
	switch v.Kind {
	case Map:
		for _, e := range v.Entries {
			e.Merged = true
			out = append(out, e)
		}
		return out
	case List:
		for i := len(v.Items) - 1; i >= 0; i-- {
			if v.Items[i].Kind != Map {
				if p.failed {
					return nil // of the item
				}
				p.fail(y, source.BadTag, "a merge key (<<) needs a map or a list of maps", "")
				return nil
			}
			out = append(out, p.merge(y, v.Items[i])...)
		}
		return out
	}
	p.fail(y, source.BadTag, "a merge key (<<) needs a map or a list of maps", "")
	return nil
}

// entry makes an entry of a map; y is the library's node of its key.
func (p *parser) entry(y *yaml.Node, key, value *Node) Entry {
	if key.Kind != Scalar {
		p.fail(y, source.BadTag, "a map's key must be a scalar; Heat refuses "+key.Kind.String(), "")
		return Entry{Value: value}
	}
	name, number := keyName(key.Value)
	return Entry{Key: Key{key.Span}, Name: name, Value: value, number: number}
}

// keyName is a key as a JSON string, since templates are sent to Heat as JSON; number
// says that Python compares it as a number.
func keyName(key value.Value) (name string, number bool) {
	switch v := key.(type) {
	case string:
		return v, false
	case nil:
		return "null", false
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case *big.Int:
		return v.String(), true
	case float64:
		return value.JSONFloat(v), true
	}
	return "", false
}

// settle sets a map's entries. The last of duplicate keys wins, at the first one's
// position, as in Python's dicts; duplicates in the text are a warning.
func (p *parser) settle(n *Node, entries []Entry) {
	n.Entries = entries
	p.equalNumbers(entries)
	if len(entries) <= 8 && allDifferent(entries) {
		return // the common case, without allocating a map
	}
	seen := make(map[string]int, len(entries))
	out := entries[:0]
	for _, e := range entries {
		i, twice := seen[e.Name]
		if !twice {
			seen[e.Name] = len(out)
			out = append(out, e)
			continue
		}
		if first := out[i]; !first.Merged {
			d := p.diags.Warning(source.DuplicateKey, source.Place{File: p.file, Span: e.Key.Span},
				fmt.Sprintf("duplicate key %q; Heat silently uses this one", e.Name), "remove one of the two")
			d.Note(source.Place{File: p.file, Span: first.Key.Span}, "this one is ignored")
			d.Fix = p.without(&first)
			if n.sharing == nil {
				n.sharing = &sharing{}
			}
			n.sharing.lost = append(n.sharing.lost, first)
		}
		out[i] = e
	}
	n.Entries = out
}

// equalNumbers gives keys that are equal numbers in Python the same name: that of the
// first of 1, 1.0 and true.
func (p *parser) equalNumbers(entries []Entry) {
	var numbers []*Entry
	for i := range entries {
		e := &entries[i]
		if !e.number {
			continue
		}
		for _, before := range numbers {
			if value.Equal(numberNamed(before.Name), numberNamed(e.Name)) {
				e.Name = before.Name
			}
		}
		numbers = append(numbers, e)
	}
}

// numberNamed parses a key's name as a number or boolean.
func numberNamed(name string) value.Value {
	if name == "true" || name == "false" {
		return name == "true"
	}
	if n, ok := new(big.Int).SetString(name, 10); ok {
		return n
	}
	f, _ := strconv.ParseFloat(name, 64)
	return f
}

// uniqueWithin is settle for all maps of a JSON text.
func (p *parser) uniqueWithin(n *Node) {
	for x := range n.Below() {
		p.uniqueWithin(x)
	}
	p.settle(n, n.Entries)
}

func allDifferent(entries []Entry) bool {
	for i := range entries {
		for j := range i {
			if entries[i].Name == entries[j].Name {
				return false
			}
		}
	}
	return true
}

func saturate(n uint64) uint64 { return min(n, 1<<40) }
