package driver

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Text is a text that is read in its turn: a script, a template of a role's file. It
// finds where a part of it stands: in its own file or, if it stands in the role's
// template as a literal block or on one line, there.
type Text struct {
	// Name is how the user finds it: beside the template that names it.
	Name string
	file *source.File
	// lines are where its lines begin in the file, by their offset in the text, or
	// bytes where each byte does; both are nil where file and text are the same.
	lines map[int]uint32
	bytes []uint32
	text  string
}

// TextAt is a text whose expression stands at a place of a template; file is the name
// of the file that it came from, "" if it stands there itself. What is how it is
// called then.
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

// TextName is what people call a text whose expression stands at a place of a template; file
// is that of TextAt.
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

// within finds the lines of a literal block again.
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

// escapes are the escapes of double quotes that stand for one byte.
const escapes = "0abtnvfre\"/\\ "

// onOneLine finds the bytes of a plain or quoted text again that is written on one
// line, without the rarer escapes.
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

// Place is the part from one offset to another.
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
