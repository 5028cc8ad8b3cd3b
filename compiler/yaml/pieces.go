package yaml

import (
	"bytes"
	"runtime"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Large templates are read in pieces: the resources one group after the other, on
// all processors, so that the library's own nodes, ten times the size of the text,
// are garbage as soon as a group is read.
//
// The text is cut in front of lines that look like a resource's name: lines below
// `resources:` with just the indentation of the first one. That cannot be wrong
// unseen: a text between quotes or brackets that goes across a cut is not closed
// in its piece, which then does not parse; a block scalar's lines are indented
// deeper. Whatever a piece cannot be by itself (an error, an anchor, a merge key, a
// second document) leaves the whole text to be read in one.

const (
	minPieces = 128 << 10 // a smaller text is read in one
	pieceSize = 64 << 10  // about how large a group of resources is
)

// parsePieces returns nil if the text must be read in one.
func parsePieces(file *source.File, diags *source.Diagnostics) *Node {
	if len(file.Text) < minPieces {
		return nil
	}
	cuts := findCuts(file.Text)
	if len(cuts) < 4 {
		return nil
	}
	pieces := make([]piece, len(cuts)-1)
	var work sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			defer mistake.Ends()
			for i := range next {
				pieces[i].read(file, cuts[i], cuts[i+1])
			}
		})
	}
	for i := range pieces {
		next <- i
	}
	close(next)
	work.Wait()
	return assemble(file, pieces, diags)
}

// findCuts gives where pieces begin and, last, the end: what stands before the
// resources, groups of resources, what comes behind.
func findCuts(text []byte) []uint32 {
	start := sectionStart(text)
	if start < 0 {
		return nil
	}
	cuts := []uint32{0}
	column := -1
	at := start
	for at < len(text) {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := bytes.TrimRight(text[at:end], "\r\n")
		spaces := len(line) - len(bytes.TrimLeft(line, " "))
		switch {
		case spaces == len(line) || line[spaces] == '#':
		case spaces == 0 && !IsNameStart(line[0]):
			return nil // a second document, or what only the whole can tell
		case spaces == 0:
			return append(cuts, uint32(at), uint32(len(text)))
		case column < 0:
			column = spaces
			cuts = append(cuts, uint32(start))
		case spaces == column && IsNameStart(line[spaces]) && at-int(cuts[len(cuts)-1]) >= pieceSize:
			cuts = append(cuts, uint32(at))
		}
		at = end
	}
	return append(cuts, uint32(len(text)), uint32(len(text)))
}

// sectionStart is behind the line `resources:`.
func sectionStart(text []byte) int {
	const key = "resources:"
	for at := 0; at < len(text); {
		if at == 0 || text[at-1] == '\n' {
			if rest, ok := bytes.CutPrefix(text[at:], []byte(key)); ok {
				line, _, _ := bytes.Cut(rest, []byte("\n"))
				if said := bytes.TrimSpace(line); len(said) == 0 || said[0] == '#' {
					return min(len(text), at+len(key)+len(line)+1)
				}
				return -1
			}
		}
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return -1
}

// IsNameStart says whether a name can begin with a character.
func IsNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// piece is a part of the text that was read by itself.
type piece struct {
	entries []Entry
	diags   source.Diagnostics
	ok      bool
}

func (x *piece) read(file *source.File, start, end uint32) {
	text := file.Text[start:end]
	if bytes.IndexByte(text, '&') >= 0 || bytes.Contains(text, []byte("<<")) || bytes.IndexByte(text, '*') >= 0 || hasExplicitKey(text) {
		return // perhaps an anchor, an alias or a merge key
	}
	p := &parser{file: file, diags: &x.diags, lines: yamlLines(text), ascii: isASCII(text), anchors: map[*yaml.Node]*anchored{}, names: map[string]bool{}}
	for i := range p.lines {
		p.lines[i] += start
	}
	document, problem := decode(file, text)
	if problem != nil {
		return
	}
	if document == nil {
		x.ok = len(bytes.TrimSpace(text)) == 0 || text[0] == '#'
		return
	}
	root, _ := p.node(document, -1, 0)
	x.ok = root.Kind == Map && root.Style == Block && !p.failed && len(root.Lost()) == 0
	x.entries = root.Entries
}

// assemble puts the pieces together; nil if one of them could not be read.
func assemble(file *source.File, pieces []piece, diags *source.Diagnostics) *Node {
	p := &parser{file: file, diags: &source.Diagnostics{}}
	count := 0
	for i := range pieces {
		if !pieces[i].ok {
			return nil
		}
		count += len(pieces[i].entries)
	}
	head, tail := pieces[0].entries, pieces[len(pieces)-1].entries
	if len(head) == 0 || head[len(head)-1].Name != "resources" {
		return nil
	}
	resources := &Node{Kind: Map, Style: Block, Entries: make([]Entry, 0, count)}
	resources.Entries = append(resources.Entries, lists.Flat(pieces[1:len(pieces)-1], func(x piece) []Entry { return x.entries })...)
	if len(resources.Entries) == 0 {
		return nil
	}
	last := &resources.Entries[len(resources.Entries)-1]
	resources.Span = source.Span{Start: resources.Entries[0].Key.Span.Start, End: max(last.Key.Span.End, last.Value.Span.End)}
	p.settle(resources, resources.Entries)
	head[len(head)-1].Value = resources
	root := &Node{Kind: Map, Style: Block, Entries: append(head, tail...)}
	root.Span = source.Span{Start: head[0].Key.Span.Start, End: resources.Span.End}
	for _, e := range tail {
		root.Span.End = max(root.Span.End, e.Key.Span.End, e.Value.Span.End)
	}
	p.settle(root, root.Entries)
	if len(p.diags.All()) > 0 {
		return nil // a name stands twice: one reading finds all of its places
	}
	for i := range pieces {
		for _, d := range pieces[i].diags.All() {
			diags.Add(d)
		}
	}
	return root
}

// hasExplicitKey says whether a line has a key in the form `? key`, whose empty
// value has its place behind the piece.
func hasExplicitKey(text []byte) bool {
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], []byte("? "))
		if i < 0 {
			return false
		}
		at += i
		line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
		if len(bytes.Trim(line, " -")) == 0 {
			return true
		}
	}
}
