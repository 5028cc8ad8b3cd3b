package yaml

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/hotc-dev/hotc/compiler/source"
)

// The YAML that HOT is nearly always written in is read directly: block maps and
// lists, lists and maps in brackets, plain texts and texts in quotes on one line, block
// scalars, comments. That takes a small part of the time and memory of the YAML
// library, which builds a tree of its own first. Whatever is not plainly one of these
// (an anchor, a tag, a merge key, a text that goes on in the next line, a tab, a
// mistake) leaves the whole text to the library: the reader never guesses, and has no
// diagnostics. Where it reads a text it gives the very tree that the library's reading
// gives, places included, for which both are compared on random texts and in fuzzing.

// maxDirectDepth is how deep collections may be nested here.
const maxDirectDepth = 100

// longestKey is how long a key may be that no question mark announces, less some
// room: the library counts 1024 characters.
const longestKey = 1000

// direct reads one text.
type direct struct {
	*parser
	text  string // the whole file's
	at    int    // the next byte
	end   int    // of what is read
	col   int    // the column of at, where a line's content begins
	depth int
	// entries and items are those of the collections that are not finished.
	entries []Entry
	items   []*Node
	// Slabs from which finished collections take theirs.
	entrySlab slab[Entry]
	itemSlab  slab[*Node]
	values    textValues
}

// newDirect makes a reader of a file whose text holds what readsDirectly allows. The
// text is read where it lies: nobody changes a file's text.
func newDirect(file *source.File, diags *source.Diagnostics) *direct {
	return &direct{parser: &parser{file: file, diags: diags}, text: unsafe.String(unsafe.SliceData(file.Text), len(file.Text))}
}

// readDirect reads a file as newDirect takes it. It returns nil if that is for the
// library to read.
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

// read reads a piece of the text; nil if that is for the library to read.
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

// readsDirectly says whether a text has only line feeds as line ends, and no mark of
// the byte order.
func readsDirectly(text []byte) bool {
	if bytes.IndexByte(text, '\r') >= 0 {
		return false
	}
	if isASCII(text) {
		return true
	}
	return !slices.ContainsFunc([]string{"\u0085", "\u2028", "\u2029", "\ufeff"}, func(other string) bool { return bytes.Contains(text, []byte(other)) })
}

// documentStart goes over comments and a line `---` at the beginning.
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

// nextLine goes from the beginning of a line to the content of the first one that is
// neither empty nor a comment. It returns false at what must not be there; at the end
// of the text the column is -1.
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

// marksDocument says whether the line may be one of the marks of documents.
func (d *direct) marksDocument() bool {
	rest := d.text[d.at:d.end]
	return rest[0] == '%' || strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "...")
}

// lineIsDone goes over white space and a comment to the content of the next line.
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

// dash says whether an item of a block list begins here.
func (d *direct) dash() bool {
	return d.text[d.at] == '-' && (d.at+1 == d.end || d.text[d.at+1] == ' ' || d.text[d.at+1] == '\n')
}

// collection reads the block map or list whose first line begins here; parent is the
// column of the one around it.
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

// finished gives a map its entries.
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

// item reads what stands behind a dash: perhaps a collection that begins in its line.
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

// beginsCollection says whether a dash or a key stands at an offset.
func (d *direct) beginsCollection(at int) bool {
	save := d.at
	defer func() { d.at = save }()
	d.at = at
	return d.dash() || d.keyEnd() >= 0
}

// value reads what stands behind a dash, or behind a key's colon: in this line or in
// the lines below. The cursor is at the content of the line behind it then. A list
// that a key has for its value may stand in the key's own column.
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
		return nil // a plain text might go on in deeper lines
	}
	return n
}

// below reads a value that stands in the lines below, or is not there.
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

// rewind lets the next piece have the place of what was read.
func (d *direct) rewind() {
	d.slab.rewind()
	d.entrySlab.rewind()
	d.itemSlab.rewind()
}
