package script

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/source"
)

// places finds where a part of a script stands: in its own file or, for a script
// that stands in the template as a literal block, there.
type places struct {
	file *source.File
	// lines are where the script's lines begin in the file, by their offset in the
	// script; nil where both are the same.
	lines map[int]uint32
	text  string
}

func placesIn(role driver.Role, own *source.File) places {
	p := places{file: own, text: string(own.Text)}
	in := role.SourceAt
	if role.SourceFile != "" || in.File == nil || in.Span.Len() == 0 || in.File.Slice(in.Span)[0] != '|' {
		return p
	}
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

func (p places) of(from, to uint32) source.Place {
	return source.Place{File: p.file, Span: source.Span{Start: p.offset(from), End: p.offset(to)}}
}

func (p places) offset(o uint32) uint32 {
	o = min(o, uint32(len(p.text)))
	if p.lines == nil {
		return o
	}
	start := strings.LastIndexByte(p.text[:o], '\n') + 1
	return p.lines[start] + o - uint32(start)
}
