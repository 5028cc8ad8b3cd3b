package yaml

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/hotc-dev/hotc/compiler/source"
)

// The YAML that nearly all templates use is parsed directly: block maps and lists,
// flow collections, plain and quoted scalars on one line, block scalars, comments. That
// takes a fraction of the time and memory of the YAML library, which first builds its
// own tree. Anything else (an anchor, a tag, a merge key, a multi-line scalar, a tab, an
// error) leaves the whole text to the library: this parser never guesses, and reports
// no syntax errors. Its result is exactly the tree of the library's, including
// positions; both are compared on random texts and in fuzzing.

// maxDirectDepth limits the nesting of collections here.
const maxDirectDepth = 100

// longestKey limits the length of an implicit key, with a margin: the library's limit
// is 1024 characters.
const longestKey = 1000

// direct reads one text.
type direct struct {
	*parser
	text  string // the whole file's
	at    int    // the next byte
	end   int    // of the piece being read
	col   int    // the column of at, at the start of a line's content
	depth int
	// entries and items are those of unfinished collections.
	entries []Entry
	items   []*Node
	// Slabs for those of finished ones.
	entrySlab slab[Entry]
	itemSlab  slab[*Node]
	values    textValues
}

// newDirect makes a reader of a file that readsDirectly accepts. It shares the file's
// bytes, which never change.
func newDirect(file *source.File, diags *source.Diagnostics) *direct {
	return &direct{parser: &parser{file: file, diags: diags}, text: unsafe.String(unsafe.SliceData(file.Text), len(file.Text))}
}

// readDirect reads a file that newDirect accepts. It returns nil to leave it to the
// library.
func readDirect(file *source.File, diags *source.Diagnostics) *Node {
	var found source.Diagnostics
	root := newDirect(file, &found).read(0, len(file.Text))
	if root == nil {
		return nil
	}
	for _, x := range found.All() {
		diags.Add(x)
	}
	return root
}

// read reads a piece of the text; nil to leave it to the library.
func (d *direct) read(start, end int) *Node {
	d.at, d.end = start, end
	if start == 0 {
		d.documentStart()
	}
	if !d.nextLine() {
		return nil
	}
	root := d.collection(-1)
	if root == nil || d.at < d.end {
		return nil
	}
	return root
}

// readsDirectly reports whether a text has only line feeds as line ends, and no byte
// order mark.
func readsDirectly(text []byte) bool {
	if bytes.IndexByte(text, '\r') >= 0 {
		return false
	}
	if isASCII(text) {
		return true
	}
	return !slices.ContainsFunc([]string{"\u0085", "\u2028", "\u2029", "\ufeff"}, func(other string) bool { return bytes.Contains(text, []byte(other)) })
}

// documentStart skips comments and a line `---` at the start.
func (d *direct) documentStart() {
	at := d.at
	for at < d.end {
		line := d.text[at:d.lineEnd(at)]
		switch {
		case line == "---":
			d.at = min(at+len(line)+1, d.end)
			return
		case strings.TrimLeft(line, " ") == "" || line[0] == '#':
			at += len(line) + 1
		default:
			return
		}
	}
}

func (d *direct) lineEnd(at int) int {
	if i := strings.IndexByte(d.text[at:d.end], '\n'); i >= 0 {
		return at + i
	}
	return d.end
}

// nextLine moves from the start of a line to the content of the next one that is neither
// empty nor a comment. It returns false for what is left to the library; at the end of
// the text the column is -1.
func (d *direct) nextLine() bool {
	text := d.text[:d.end]
	for at := d.at; at < len(text); {
		start := at
		for at < len(text) && text[at] == ' ' {
			at++
		}
		if at == len(text) {
			break
		}
		switch text[at] {
		case '\n':
			at++
		case '#':
			at = min(d.lineEnd(at)+1, d.end)
		case '\t':
			return false
		default:
			d.at, d.col = at, at-start
			return d.col > 0 || !d.marksDocument()
		}
	}
	d.at, d.col = d.end, -1
	return true
}

// marksDocument reports whether the line may be a document marker.
func (d *direct) marksDocument() bool {
	rest := d.text[d.at:d.end]
	return rest[0] == '%' || strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "...")
}

// lineIsDone skips white space and a comment to the content of the next line.
func (d *direct) lineIsDone() bool {
	start := d.at
	for d.at < d.end && d.text[d.at] == ' ' {
		d.at++
	}
	switch {
	case d.at == d.end:
		d.col = -1
		return true
	case d.text[d.at] == '#' && d.at > start:
		d.at = d.lineEnd(d.at)
	case d.text[d.at] != '\n':
		return false
	}
	d.at = min(d.at+1, d.end)
	return d.nextLine()
}

// dash reports whether an item of a block list starts here.
func (d *direct) dash() bool {
	return d.text[d.at] == '-' && (d.at+1 == d.end || d.text[d.at+1] == ' ' || d.text[d.at+1] == '\n')
}

// collection reads the block map or list that starts here; parent is the column of the
// enclosing one.
func (d *direct) collection(parent int) *Node {
	if d.depth >= maxDirectDepth || d.col < 0 {
		return nil
	}
	d.depth++
	defer func() { d.depth-- }()
	if d.dash() {
		return d.blockList(d.col)
	}
	if d.col <= parent {
		return nil
	}
	return d.blockMap(d.col)
}

func (d *direct) start() *Node {
	n := d.newNode()
	n.Span = source.Span{Start: uint32(d.at), End: uint32(d.at)}
	return n
}

func (d *direct) blockMap(col int) *Node {
	n := d.start()
	n.Kind, n.Style = Map, Block
	mark := len(d.entries)
	for {
		e, ok := d.key(inBlock)
		if !ok {
			return nil
		}
		if e.Value = d.value(col, true); e.Value == nil {
			return nil
		}
		n.Span.End = max(e.Key.End, e.Value.Span.End)
		d.entries = append(d.entries, e)
		if d.col < col {
			break
		}
		if d.col > col || d.dash() {
			return nil
		}
	}
	d.finished(n, mark)
	return n
}

// finished sets a map's entries.
func (d *direct) finished(n *Node, mark int) {
	own := d.entrySlab.take(len(d.entries)-mark, 512)
	copy(own, d.entries[mark:])
	d.entries = d.entries[:mark]
	d.settle(n, own)
}

func (d *direct) finishedItems(mark int) []*Node {
	own := d.itemSlab.take(len(d.items)-mark, 512)
	copy(own, d.items[mark:])
	d.items = d.items[:mark]
	return own
}

func (d *direct) blockList(col int) *Node {
	n := d.start()
	n.Kind, n.Style = List, Block
	mark := len(d.items)
	for {
		d.at++ // the dash
		item := d.item(col)
		if item == nil {
			return nil
		}
		n.Span.End = item.Span.End
		d.items = append(d.items, item)
		if d.col < col || d.col == col && !d.dash() {
			break
		}
		if d.col > col {
			return nil
		}
	}
	n.Items = d.finishedItems(mark)
	return n
}

// item reads the value after a dash, which may be a collection that starts on its line.
func (d *direct) item(col int) *Node {
	at := d.at
	for at < d.end && d.text[at] == ' ' {
		at++
	}
	if at == d.end || d.text[at] == '\n' || d.text[at] == '#' || !d.beginsCollection(at) {
		return d.value(col, false)
	}
	d.col = col + at - d.at + 1
	d.at = at
	return d.collection(col)
}

// beginsCollection reports whether there is a dash or a key at an offset.
func (d *direct) beginsCollection(at int) bool {
	save := d.at
	defer func() { d.at = save }()
	d.at = at
	return d.dash() || d.keyEnd() >= 0
}

// value reads the value after a dash or a key's colon, on this line or below, and moves
// to the content of the next line. A list as the value of a key may be in the key's
// column.
func (d *direct) value(col int, ofKey bool) *Node {
	colon := d.at
	for d.at < d.end && d.text[d.at] == ' ' {
		d.at++
	}
	if d.at == d.end || d.text[d.at] == '\n' || d.text[d.at] == '#' {
		return d.below(col, ofKey, colon)
	}
	var n *Node
	switch d.text[d.at] {
	case '|', '>':
		return d.blockScalar(col)
	case '[', '{':
		n = d.flow()
	case '"', '\'':
		n = d.quoted()
	default:
		n = d.plain(inBlock)
	}
	if n == nil || !d.lineIsDone() || d.col > col {
		return nil // a plain scalar might continue on deeper lines
	}
	return n
}

// below reads a value on the lines below, or a missing one.
func (d *direct) below(col int, ofKey bool, colon int) *Node {
	d.at = colon
	if !d.lineIsDone() {
		return nil
	}
	if d.col > col || ofKey && d.col == col && d.at < d.end && d.dash() {
		return d.collection(col)
	}
	n := d.newNode()
	n.Span = source.Span{Start: uint32(colon), End: uint32(colon)}
	return n
}

// rewind reuses the memory of what was read for the next piece.
func (d *direct) rewind() {
	d.slab.rewind()
	d.entrySlab.rewind()
	d.itemSlab.rewind()
}
