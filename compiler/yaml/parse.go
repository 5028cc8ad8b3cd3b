package yaml

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/source"
)

// The limits of what is read. Heat's own are far lower.
const (
	maxDepth = 500       // of nesting
	maxAdded = 1_000_000 // nodes that the expansion of aliases adds
)

// Parse parses a YAML or JSON text into nodes with their positions, with scalars as
// Heat reads them. It returns nil after an error.
func Parse(file *source.File, diags *source.Diagnostics) *Node { return parse(file, diags, false) }

// ParseTemplate is Parse for a template, whose white space at the beginning Heat's client strips
// (heatclient/common/template_format.py, parse).
func ParseTemplate(file *source.File, diags *source.Diagnostics) *Node {
	return parse(file, diags, true)
}

func parse(file *source.File, diags *source.Diagnostics, stripped bool) *Node {
	if looksLikeJSON(file.Text) {
		if root, err := parseJSON(file.Text); err == nil {
			p := &parser{file: file, diags: diags}
			p.uniqueWithin(root)
			return root
		}
	}
	return parseYAML(file, diags, stripped)
}

// ParseYAML is Parse for what Heat reads as YAML even if it is JSON: environments, in which
// 1e3 is a string.
func ParseYAML(file *source.File, diags *source.Diagnostics) *Node {
	return parseYAML(file, diags, false)
}

func parseYAML(file *source.File, diags *source.Diagnostics, stripped bool) *Node {
	if at, ok := notText(file.Text); ok {
		diags.Error(source.NotText, source.Place{File: file, Span: source.Span{Start: at, End: at + 1}},
			"the file is not UTF-8, or contains a control character", "save the file as plain UTF-8 text")
		return nil
	}
	if readsDirectly(file.Text) {
		if root := readDirect(file, diags); root != nil {
			return root
		}
	}
	return parseWhole(file, diags, stripped)
}

func parseWhole(file *source.File, diags *source.Diagnostics, stripped bool) *Node {
	var found source.Diagnostics
	root := readWhole(file, &found, stripped)
	if root == nil {
		if at, is := jinja(file, &found); is {
			diags.Error(source.Unrendered, at, "this is a template of Jinja, which is not rendered yet", "render it, and give hotc the result")
			return nil
		}
	}
	for _, d := range found.All() {
		diags.Add(d)
	}
	return root
}

func readWhole(file *source.File, diags *source.Diagnostics, stripped bool) *Node {
	p := &parser{file: file, diags: diags, lines: yamlLines(file.Text), anchors: map[*yaml.Node]*anchored{}, names: map[string]bool{}}
	document, problem := decode(file, file.Text)
	if problem != nil {
		if other, repair := repaired(file.Text, stripped); other != nil {
			if again, stillWrong := decode(file, other); stillWrong == nil {
				document, problem, p.repair, p.lines = again, nil, repair, yamlLines(other)
			}
		}
	}
	if problem != nil {
		diags.Add(problem)
		return nil
	}
	if document == nil {
		return &Node{}
	}
	p.ascii = isASCII(file.Text)
	root, size := p.node(document, -1, 0)
	if size > uint64(len(file.Text))+maxAdded && !p.failed {
		p.fail(document, source.TooDeep, "the template becomes too large when its aliases are expanded", "")
	}
	if p.failed {
		return nil
	}
	return root
}

// decode returns the text's only document, nil if it is empty.
func decode(file *source.File, text []byte) (*yaml.Node, *source.Diagnostic) {
	var document, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, syntaxError(file, err)
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
		return document.Content[0], nil
	case err != nil:
		return nil, syntaxError(file, err)
	}
	line := second.Line
	if len(second.Content) > 0 {
		line = second.Content[0].Line
	}
	return nil, &source.Diagnostic{Code: source.SecondDocument, At: lineOf(file, line),
		Message: "a second YAML document begins here; a template must be a single document", Hint: "remove it, or the line `---` before it"}
}

// notText finds the first byte that YAML does not allow in a stream.
func notText(text []byte) (uint32, bool) {
	for i := 0; i < len(text); {
		if len(text)-i >= 8 && plainWord(binary.LittleEndian.Uint64(text[i:])) {
			i += 8
			continue
		}
		switch c := text[i]; {
		case c >= ' ' && c < 0x7f, c == '\n', c == '\t', c == '\r':
			i++
			continue
		case c < utf8.RuneSelf:
			return uint32(i), true
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 || r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff {
			return uint32(i), true
		}
		i += n
	}
	return 0, false
}

// plainWord reports whether eight bytes are line feeds and printable ASCII: each byte is
// compared by the carry out of its lower seven bits, which does not propagate.
func plainWord(x uint64) bool {
	const every, low, high = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	printed := x&low + every*(0x80-' ')
	deleted := x&low + every
	other := x ^ every*'\n'
	lineFeed := ^(other&low + low | other)
	return x&high == 0 && (printed|lineFeed)&high == high && deleted&high == 0
}

var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// indentationErrors are the library's messages that wrong indentation may cause.
var indentationErrors = []string{"did not find expected", "mapping values are not allowed"}

// syntaxError turns an error of the YAML library into a diagnostic.
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
		return &source.Diagnostic{Code: source.Tab, At: at, Message: "this line is indented with a tab; YAML allows only spaces",
			Hint: "replace the tab with spaces"}
	}
	if n, before := misindented(file, line); n > 0 && slices.ContainsFunc(indentationErrors, func(e string) bool { return strings.Contains(m[2], e) }) {
		return &source.Diagnostic{Code: source.NotYAML, At: lineOf(file, n), Message: "invalid YAML: the indentation of this line matches no enclosing line",
			Hint: fmt.Sprintf("indent it like the lines that it belongs to: by %s spaces", before)}
	}
	return &source.Diagnostic{Code: source.NotYAML, At: lineOf(file, line), Message: "invalid YAML: " + m[2],
		Hint: "check the indentation, quotes and colons of this line and the one before it"}
}

// rendered are what Jinja replaces: a statement, or an expression.
var rendered = regexp.MustCompile(`\{%.*?%\}|\{\{.*?\}\}`)

// jinja finds what makes a text that is not YAML a template of Jinja: the first error is in such a line.
func jinja(file *source.File, found *source.Diagnostics) (source.Place, bool) {
	all := found.All()
	if len(all) == 0 || all[0].At.File == nil {
		return source.Place{}, false
	}
	line, _ := file.Position(all[0].At.Span.Start)
	at := rendered.FindStringIndex(file.Line(line))
	if at == nil {
		return source.Place{}, false
	}
	start := file.LineOffset(line)
	return source.Place{File: file, Span: source.Span{Start: start + uint32(at[0]), End: start + uint32(at[1])}}, true
}

// indentingTab finds a tab in the indentation of the lines around a syntax error.
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

// lineOf is the text of a line without its indentation.
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
	repair  repair
	flow    int  // the number of enclosing flow collections
	key     bool // the next scalar is a key
	anchors map[*yaml.Node]*anchored
	names   map[string]bool // of anchors
	slab    slab[Node]
}

func (p *parser) place(y *yaml.Node) source.Place {
	start := p.offset(y)
	return source.Place{File: p.file, Span: source.Span{Start: start, End: start}}
}

func (p *parser) fail(y *yaml.Node, code source.Code, message, hint string) {
	p.failed = true
	p.diags.Error(code, p.place(y), message, hint)
}

// nodeSlab is how many nodes are allocated at once: 16 kB.
const nodeSlab = 186

// newNode allocates a node from a slab: templates can have hundreds of thousands.
func (p *parser) newNode() *Node { return &p.slab.take(1, nodeSlab)[0] }

// node converts a node. indent is the column (from 0) of the innermost enclosing
// block collection, -1 at the top. size is the number of nodes with all aliases
// expanded.
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
		if p.names[y.Anchor] {
			p.fail(y, source.NotYAML, "duplicate anchor &"+y.Anchor+", which Heat refuses", "rename one of them")
		}
		p.anchors[y], p.names[y.Anchor] = &anchored{}, true
	}
	start := p.offset(y)
	bare := false // the non-specific tag "!"
	if y.Anchor != "" || y.Style&yaml.TaggedStyle != 0 || int(start) < len(p.file.Text) && p.file.Text[start] == '!' {
		at := start
		start = skipProperties(p.file.Text, start)
		bare = y.Style&yaml.TaggedStyle == 0 && hasBareTag(p.file.Text[at:start])
	}
	n.Span = source.Span{Start: start, End: start}
	switch y.Kind {
	case yaml.ScalarNode:
		size = 1
		p.scalar(y, n, indent, bare)
	case yaml.SequenceNode:
		p.collectionTag(y, "!!seq")
		size = p.list(y, n, indent, depth)
	case yaml.MappingNode:
		p.collectionTag(y, "!!map")
		size = p.mapping(y, n, indent, depth)
	}
	if y.Anchor != "" {
		*p.anchors[y] = anchored{n, size}
	}
	return n, size
}

// collectionTag refuses tags without a constructor in Heat's loader.
func (p *parser) collectionTag(y *yaml.Node, own string) {
	p.key = false
	if y.Style&yaml.TaggedStyle != 0 && y.Tag != own {
		p.fail(y, source.BadTag, "Heat refuses the tag "+y.Tag+" here", "remove the tag")
	}
}

func (p *parser) alias(y *yaml.Node, n *Node) (*Node, uint64) {
	target := p.anchors[y.Alias]
	if target == nil || target.node == nil {
		p.fail(y, source.TooDeep, "the anchor *"+y.Value+" contains itself", "")
		return n, 1
	}
	start := p.offset(y)
	*n = *target.node
	n.sharing = &sharing{target: target.node, merges: target.node.Merges()}
	n.Span = source.Span{Start: start, End: start + uint32(len(y.Value)) + 1}
	return n, target.size
}
