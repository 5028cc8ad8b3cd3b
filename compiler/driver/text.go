package driver

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Text is a text that is read in its turn: a script, a template of a role's file. It
// finds where a part of it stands: in its own file or, if it stands in the role's
// template as a literal block, there.
type Text struct {
	// Name is how the user finds it: beside the template that names it.
	Name string
	file *source.File
	// lines are where its lines begin in the file, by their offset in the text; nil
	// where both are the same.
	lines map[int]uint32
	text  string
}

// TextAt is a text whose expression stands at a place of a template; file is the name
// of the file that it came from, "" if it stands there itself. What is how it is
// called then.
func TextAt(at source.Place, file, text, what string) Text {
	name := textName(at, file, what)
	own := source.NewFile(name, []byte(text))
	p := Text{Name: name, file: own, text: text}
	if file != "" || at.File == nil || at.Span.Len() == 0 || at.File.Slice(at.Span)[0] != '|' {
		return p
	}
	return p.within(at)
}

func textName(at source.Place, file, what string) string {
	switch {
	case file == "" && at.File == nil:
		return what
	case file == "":
		line, _ := at.File.Position(at.Span.Start)
		return fmt.Sprintf("%s in line %d of %s", what, line, at.File.Name)
	case at.File == nil || filepath.IsAbs(file) || strings.Contains(file, "://"):
		return file
	}
	return path.Join(path.Dir(at.File.Name), file)
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

// Place is the part from one offset to another.
func (p Text) Place(from, to uint32) source.Place {
	return source.Place{File: p.file, Span: source.Span{Start: p.offset(from), End: p.offset(to)}}
}

func (p Text) offset(o uint32) uint32 {
	o = min(o, uint32(len(p.text)))
	if p.lines == nil {
		return o
	}
	start := strings.LastIndexByte(p.text[:o], '\n') + 1
	return p.lines[start] + o - uint32(start)
}
