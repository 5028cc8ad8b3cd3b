// Package source has what every stage needs of the user's text: files, positions in
// them, edits of them, and diagnostics about them.
//
// Offsets count bytes; users see lines and columns, with columns in characters. A
// position is kept from the first byte read to the last failure on a server.
package source

import (
	"bytes"
	"sort"
	"strconv"
	"sync"
	"unicode/utf8"
)

// File is a text that was read. Name is the user's name for it; Portable, if not "", is
// its name in files for other machines.
type File struct {
	Name     string
	Portable string
	Text     []byte
	// Within is the position of a text that is part of another file, such as a script in
	// a template.
	Within Place

	once   sync.Once
	lines  []uint32 // where each line starts
	remote bool     // it is on another machine, and Name includes the position
}

// NewFile makes a file of a text.
func NewFile(name string, text []byte) *File { return &File{Name: name, Text: text} }

// Span is a range of bytes, excluding the end.
type Span struct{ Start, End uint32 }

// Len is the number of bytes.
func (s Span) Len() int { return int(s.End) - int(s.Start) }

// Extent implements Spanned.
func (s Span) Extent() Span { return s }

// Spanned is anything with an extent in a text: a node, a key.
type Spanned interface{ Extent() Span }

// Contains reports whether o is within s.
func (s Span) Contains(o Span) bool { return s.Start <= o.Start && o.End <= s.End }

// Position returns the line and column of an offset, both from 1.
func (f *File) Position(offset uint32) (line, column int) {
	starts := f.lineStarts()
	i := sort.Search(len(starts), func(i int) bool { return starts[i] > offset }) - 1
	end := min(int(offset), len(f.Text))
	return i + 1, utf8.RuneCount(f.Text[starts[i]:end]) + 1
}

// Line is the text of a line (from 1) without its line end.
func (f *File) Line(n int) string {
	starts := f.lineStarts()
	if n < 1 || n > len(starts) {
		return ""
	}
	text := f.Text[starts[n-1]:]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return string(bytes.TrimSuffix(text, []byte("\r")))
}

// LineOffset is where a line (from 1) starts.
func (f *File) LineOffset(n int) uint32 {
	starts := f.lineStarts()
	return starts[min(max(n, 1), len(starts))-1]
}

// Slice is the text of a span.
func (f *File) Slice(s Span) string { return string(f.Text[s.Start:s.End]) }

// LineStart is the offset at which the line of an offset starts.
func (f *File) LineStart(offset uint32) uint32 {
	return uint32(bytes.LastIndexByte(f.Text[:offset], '\n') + 1)
}

// LineEnd is the offset after the line of an offset and its line end.
func (f *File) LineEnd(offset uint32) uint32 {
	if i := bytes.IndexByte(f.Text[offset:], '\n'); i >= 0 {
		return offset + uint32(i) + 1
	}
	return uint32(len(f.Text))
}

func (f *File) lineStarts() []uint32 {
	f.once.Do(func() {
		f.lines = append(make([]uint32, 0, bytes.Count(f.Text, []byte("\n"))+1), 0)
		for i, c := range f.Text {
			if c == '\n' {
				f.lines = append(f.lines, uint32(i+1))
			}
		}
	})
	return f.lines
}

// Place is a position: a span of a file.
type Place struct {
	File *File
	Span Span
}

// Remote is a position read from a plan, of which only the string form is known.
func Remote(text string) Place {
	if text == "" {
		return Place{}
	}
	return Place{File: &File{Name: text, remote: true}}
}

// Known reports whether the position is known.
func (p Place) Known() bool { return p.File != nil }

// Portable is String with a file name that is meaningful on other machines, as in
// plans.
func (p Place) Portable() string {
	if p.File == nil || p.File.Portable == "" {
		return p.String()
	}
	return p.in(p.File.Portable)
}

// String is FILE:LINE:COLUMN, or "" if unknown.
func (p Place) String() string {
	switch {
	case p.File == nil:
		return ""
	case p.File.remote:
		return p.File.Name
	}
	return p.in(p.File.Name)
}

func (p Place) in(name string) string {
	line, column := p.File.Position(p.Span.Start)
	return name + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(column)
}

// InFile is the position in a file that an editor can open: for an embedded text, that of
// the enclosing file.
func (p Place) InFile() Place {
	for p.File != nil && p.File.Within.Known() {
		p = p.File.Within
	}
	return p
}
