package driver

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Text is an embedded text, a script or a file's template, that maps its offsets to
// places: in its own file or, if it is written in the role's template as a literal block
// or on one line, there.
type Text struct {
	// Name is shown to the user: the path beside the template that names it.
	Name string
	file *source.File
	// lines maps the offset of each line in the text to its offset in the file, bytes does so
	// for each byte; both are nil if file and text are the same.
	lines map[int]uint32
	bytes []uint32
	text  string
}

// TextAt returns the text of an expression at a place of a template; file is the name
// of the file that it was read from, "" if it is inline and described by what.
func TextAt(at source.Place, file, text, what string) Text {
	name := TextName(at, file, what)
	own := source.NewFile(name, []byte(text))
	p := Text{Name: name, file: own, text: text}
	if file != "" || at.File == nil || at.Span.Len() == 0 {
		return p
	}
	own.Within = at
	if at.File.Slice(at.Span)[0] == '|' {
		return p.within(at)
	}
	return p.onOneLine(at)
}

// TextName describes such a text in diagnostics; the arguments are those of TextAt.
func TextName(at source.Place, file, what string) string {
	switch {
	case file == "" && at.File == nil:
		return what
	case file == "":
		line, _ := at.File.Position(at.Span.Start)
		return fmt.Sprintf("%s in line %d of %s", what, line, at.File.Name)
	}
	return shown(at, file)
}

// within maps the lines of a literal block.
func (p Text) within(in source.Place) Text {
	lines := map[int]uint32{}
	at, offset, indent := in.File.LineEnd(in.Span.Start), 0, -1
	for _, line := range strings.SplitAfter(p.text, "\n") {
		there := strings.TrimRight(string(in.File.Text[at:in.File.LineEnd(at)]), "\r\n")
		text := strings.TrimRight(line, "\r\n")
		if indent < 0 && text != "" {
			indent = len(there) - len(text)
		}
		if text != "" && (indent < 0 || len(there) < indent || there[indent:] != text) {
			return p
		}
		lines[offset] = at + uint32(max(0, min(indent, len(there))))
		offset += len(line)
		at = in.File.LineEnd(at)
	}
	p.file, p.lines = in.File, lines
	return p
}

// escapes are the double-quoted escapes that stand for one byte.
const escapes = "0abtnvfre\"/\\ "

// onOneLine maps the bytes of a plain or quoted string on one line, without the rarer
// escapes.
func (p Text) onOneLine(in source.Place) Text {
	written := in.File.Slice(in.Span)
	quote := written[0]
	at, end := 0, len(written)
	if quote == '"' || quote == '\'' {
		at, end = 1, len(written)-1
	}
	bytes := make([]uint32, 0, len(p.text)+1)
	for ; at < end; at++ {
		bytes = append(bytes, in.Span.Start+uint32(at))
		switch c := written[at]; {
		case c == '\n':
			return p
		case c == '\'' && quote == '\'':
			at++
		case c == '\\' && quote == '"':
			if at++; !strings.ContainsRune(escapes, rune(written[at])) {
				return p
			}
		case len(bytes) > len(p.text) || c != p.text[len(bytes)-1]:
			return p
		}
	}
	if len(bytes) != len(p.text) {
		return p
	}
	p.file, p.bytes = in.File, append(bytes, in.Span.Start+uint32(end))
	return p
}

// Place returns the place of the text between two offsets.
func (p Text) Place(from, to uint32) source.Place {
	return source.Place{File: p.file, Span: source.Span{Start: p.offset(from), End: p.offset(to)}}
}

func (p Text) offset(o uint32) uint32 {
	o = min(o, uint32(len(p.text)))
	switch {
	case p.bytes != nil:
		return p.bytes[o]
	case p.lines == nil:
		return o
	}
	start := strings.LastIndexByte(p.text[:o], '\n') + 1
	return p.lines[start] + o - uint32(start)
}
