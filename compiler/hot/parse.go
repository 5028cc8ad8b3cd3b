package hot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/source"
)

// What is read at most. Heat's own limits are far below.
const (
	maxDepth = 500        // of nesting
	maxNodes = 20_000_000 // with every alias written out
)

// Parse reads a YAML or JSON text into nodes with their places, the scalars as
// Heat reads them. It returns nil if an error was found.
func Parse(file *source.File, diags *source.Diagnostics) *Node {
	if looksLikeJSON(file.Text) {
		if root, err := parseJSON(file.Text); err == nil {
			p := &parser{file: file, diags: diags}
			p.uniqueWithin(root)
			return root
		}
	}
	if at, ok := notText(file.Text); ok {
		diags.Error(source.NotText, source.Place{File: file, Span: source.Span{Start: at, End: at + 1}},
			"the text is not UTF-8 or holds a control character", "save the file as plain UTF-8 text")
		return nil
	}
	document, ok := decode(file, diags)
	if !ok {
		return nil
	}
	if document == nil {
		return &Node{}
	}
	p := &parser{file: file, diags: diags, lines: yamlLines(file.Text), anchors: map[*yaml.Node]*anchored{}}
	p.ascii = isASCII(file.Text)
	root, size := p.node(document, -1, 0)
	if size > maxNodes && !p.failed {
		p.fail(document, source.TooDeep, "the template grows too large when its aliases are written out", "")
	}
	if p.failed {
		return nil
	}
	return root
}

func decode(file *source.File, diags *source.Diagnostics) (*yaml.Node, bool) {
	var document, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(file.Text))
	err := dec.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, true
	}
	if err != nil {
		diags.Add(syntaxError(file, err))
		return nil, false
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
		return document.Content[0], true
	case err != nil:
		diags.Add(syntaxError(file, err))
	default:
		line := second.Line
		if len(second.Content) > 0 {
			line = second.Content[0].Line
		}
		diags.Error(source.SecondDocument, lineOf(file, line), "a second YAML document begins here; a template is one document",
			"remove it, or the line `---` in front of it")
	}
	return nil, false
}

// notText finds the first byte that YAML does not allow in a stream.
func notText(text []byte) (uint32, bool) {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
				return uint32(i), true
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 || r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff {
			return uint32(i), true
		}
		i += n
	}
	return 0, false
}

var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError makes a diagnostic of what the YAML library says.
func syntaxError(file *source.File, err error) *source.Diagnostic {
	m := yamlMessage.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	if m == nil {
		m = []string{"", "", err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	if strings.Contains(m[2], "exceeded max depth") {
		return &source.Diagnostic{Code: source.TooDeep, At: lineOf(file, line),
			Message: fmt.Sprintf("nested more than %d levels deep", maxDepth)}
	}
	if at, ok := indentingTab(file, line); ok {
		return &source.Diagnostic{Code: source.Tab, At: at, Message: "a tab indents this line; YAML allows only spaces there",
			Hint: "replace the tab by spaces"}
	}
	return &source.Diagnostic{Code: source.NotYAML, At: lineOf(file, line), Message: "this is not YAML: " + m[2],
		Hint: "look at the indentation, quotes and colons of this line and the one before it"}
}

// indentingTab looks for a tab in the white space at the start of the lines
// around one that does not parse.
func indentingTab(file *source.File, line int) (source.Place, bool) {
	for n := max(1, line-1); n <= line+1; n++ {
		text := file.Line(n)
		white := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
		if i := strings.IndexByte(white, '\t'); i >= 0 && len(white) < len(text) {
			start := file.LineOffset(n) + uint32(i)
			return source.Place{File: file, Span: source.Span{Start: start, End: start + 1}}, true
		}
	}
	return source.Place{}, false
}

// lineOf is the text of a line, from its first character that is not white.
func lineOf(file *source.File, line int) source.Place {
	line = max(1, line)
	text := file.Line(line)
	start := file.LineOffset(line) + uint32(len(text)-len(strings.TrimLeft(text, " \t")))
	return source.Place{File: file, Span: source.Span{Start: start, End: file.LineOffset(line) + uint32(len(text))}}
}

type anchored struct {
	node *Node
	size uint64
}

type parser struct {
	file    *source.File
	diags   *source.Diagnostics
	lines   []uint32
	ascii   bool
	failed  bool
	anchors map[*yaml.Node]*anchored // those that are being read have no node yet
	slab    []Node
}

func (p *parser) place(y *yaml.Node) source.Place {
	start := p.offset(y)
	return source.Place{File: p.file, Span: source.Span{Start: start, End: start}}
}

func (p *parser) fail(y *yaml.Node, code source.Code, message, hint string) {
	p.failed = true
	p.diags.Error(code, p.place(y), message, hint)
}

// newNode takes a node from a slab: templates have hundreds of thousands.
func (p *parser) newNode() *Node {
	if len(p.slab) == 0 {
		p.slab = make([]Node, 256)
	}
	n := &p.slab[0]
	p.slab = p.slab[1:]
	return n
}

// node converts a node. indent is the column (from 0) of the innermost block
// collection around it, -1 at the top. size is the number of nodes with every
// alias written out.
func (p *parser) node(y *yaml.Node, indent, depth int) (n *Node, size uint64) {
	n = p.newNode()
	if depth > maxDepth {
		if !p.failed {
			p.fail(y, source.TooDeep, fmt.Sprintf("nested more than %d levels deep", maxDepth), "")
		}
		return n, 1
	}
	if y.Kind == yaml.AliasNode {
		return p.alias(y, n)
	}
	if y.Anchor != "" {
		p.anchors[y] = &anchored{}
	}
	start := p.offset(y)
	if y.Anchor != "" || y.Style&yaml.TaggedStyle != 0 {
		start = skipProperties(p.file.Text, start)
	}
	n.Span = source.Span{Start: start, End: start}
	switch y.Kind {
	case yaml.ScalarNode:
		size = 1
		p.scalar(y, n, indent)
	case yaml.SequenceNode:
		size = p.list(y, n, indent, depth)
	case yaml.MappingNode:
		size = p.mapping(y, n, indent, depth)
	}
	if y.Anchor != "" {
		*p.anchors[y] = anchored{n, size}
	}
	return n, size
}

func (p *parser) alias(y *yaml.Node, n *Node) (*Node, uint64) {
	target := p.anchors[y.Alias]
	if target == nil || target.node == nil {
		p.fail(y, source.TooDeep, "the anchor *"+y.Value+" contains itself", "")
		return n, 1
	}
	start := p.offset(y)
	*n = *target.node
	n.Target = target.node
	n.Span = source.Span{Start: start, End: start + uint32(len(y.Value)) + 1}
	return n, target.size
}

func (p *parser) list(y *yaml.Node, n *Node, indent, depth int) uint64 {
	n.Kind, n.Style = List, Block
	if y.Style&yaml.FlowStyle != 0 {
		n.Style = Flow
	} else {
		indent = y.Column - 1
	}
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

func (p *parser) mapping(y *yaml.Node, n *Node, indent, depth int) uint64 {
	n.Kind, n.Style = Map, Block
	if y.Style&yaml.FlowStyle != 0 {
		n.Style = Flow
	} else {
		indent = y.Column - 1
	}
	size := uint64(1)
	var merged []Entry
	own := make([]Entry, 0, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		key, _ := p.node(k, indent, depth+1)
		value, s := p.node(v, indent, depth+1)
		size = saturate(size + s + 1)
		n.Span.End = max(n.Span.End, key.Span.End, value.Span.End)
		if k.Tag == "!!merge" && k.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
			merged = append(merged, p.merge(v, value)...)
			continue
		}
		own = append(own, Entry{Key: key, Name: p.keyName(k, key), Value: value})
	}
	n.Entries = p.unique(append(merged, own...))
	if n.Style == Flow {
		n.Span.End = closing(p.file.Text, max(n.Span.End, n.Span.Start+1))
	}
	return size
}

// merge gives the entries of a merge key in PyYAML's order: of several maps the
// first one wins, so it comes last (yaml/constructor.py, flatten_mapping).
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
				break
			}
			out = append(out, p.merge(y, v.Items[i])...)
		}
		return out
	}
	p.fail(y, source.BadTag, "a merge key (<<) needs a map or a list of maps", "")
	return nil
}

// keyName is a key as JSON writes it: templates travel to Heat as JSON.
func (p *parser) keyName(y *yaml.Node, key *Node) string {
	if key.Kind != Scalar {
		p.fail(y, source.BadTag, "a map's key must be a scalar; Heat refuses "+key.Kind.String(), "")
		return ""
	}
	switch v := key.Value.(type) {
	case string:
		return v
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case *big.Int:
		return v.String()
	case float64:
		return jsonFloat(v)
	}
	return ""
}

// unique leaves the last of entries with the same key, at the first one's place,
// as Python's dicts do. What the user wrote twice is a warning.
func (p *parser) unique(entries []Entry) []Entry {
	if len(entries) <= 8 && allDifferent(entries) {
		return entries // nearly all maps, without a map of Go's
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
				fmt.Sprintf("the key %q stands here again; Heat silently takes this one", e.Name), "remove one of the two")
			d.Notes = append(d.Notes, source.Note{At: source.Place{File: p.file, Span: first.Key.Span}, Message: "what is lost"})
		}
		out[i] = e
	}
	return out
}

// uniqueWithin is unique for all maps of a text in JSON.
func (p *parser) uniqueWithin(n *Node) {
	for _, x := range n.Items {
		p.uniqueWithin(x)
	}
	for _, e := range n.Entries {
		p.uniqueWithin(e.Value)
	}
	n.Entries = p.unique(n.Entries)
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

func (p *parser) scalar(y *yaml.Node, n *Node, indent int) {
	text := p.file.Text
	switch {
	case y.Style&yaml.DoubleQuotedStyle != 0:
		n.Style, n.Value = DoubleQuoted, y.Value
		n.Span.End = endOfDoubleQuoted(text, n.Span.Start)
	case y.Style&yaml.SingleQuotedStyle != 0:
		n.Style, n.Value = SingleQuoted, y.Value
		n.Span.End = endOfSingleQuoted(text, n.Span.Start)
	case y.Style&yaml.LiteralStyle != 0:
		n.Style, n.Value = Literal, y.Value
		n.Span.End = endOfBlockScalar(text, n.Span.Start, indent)
	case y.Style&yaml.FoldedStyle != 0:
		n.Style, n.Value = Folded, y.Value
		n.Span.End = endOfBlockScalar(text, n.Span.Start, indent)
	default:
		n.Span.End = endOfPlain(text, n.Span.Start, y.Value)
		var ok bool
		if n.Value, ok = resolvePlain(y.Value); !ok && y.Style&yaml.TaggedStyle == 0 {
			p.fail(y, source.BadTag, "Heat refuses the plain scalar =", "quote it")
		}
	}
	if y.Style&yaml.TaggedStyle != 0 {
		p.tagged(y, n)
	}
}

// tagged applies an explicit tag of YAML's own; others are refused, as by Heat.
func (p *parser) tagged(y *yaml.Node, n *Node) {
	v, _ := resolvePlain(y.Value)
	ok := true
	switch y.Tag {
	case "!!str", "!", "!!timestamp":
		v = y.Value
	case "!!null":
		v = nil
	case "!!bool":
		_, ok = v.(bool)
	case "!!int":
		switch v.(type) {
		case int64, *big.Int:
		default:
			ok = false
		}
	case "!!float":
		switch x := v.(type) {
		case int64:
			v = float64(x)
		case float64:
		default:
			ok = false
		}
	default:
		ok = false
	}
	if !ok {
		p.fail(y, source.BadTag, "Heat refuses the tag "+y.Tag+" here", "remove the tag")
		return
	}
	n.Value = v
}
