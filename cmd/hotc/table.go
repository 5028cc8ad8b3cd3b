package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// table lays out rows in aligned columns. The last column takes what is left of
// the line; where that is too little, it goes on indented lines of its own.
type table struct {
	width int // of a line; 0 is without limit
	rows  [][]string
	paint map[int]func(text string) string // of a column's cells
}

// narrowest is how little room the last column still makes sense in.
const narrowest = 24

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = visible(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *table) String() string {
	widths := t.columns()
	before := 0
	for _, w := range widths[:max(0, len(widths)-1)] {
		before += w + 2
	}
	room := t.width - before
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row[:len(row)-1] {
			text := cell
			if paint := t.paint[i]; paint != nil {
				text = paint(cell)
			}
			line.WriteString(text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		last := row[len(row)-1]
		switch {
		case last == "":
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		case t.width == 0 || utf8.RuneCountInString(last) <= room:
			b.WriteString(line.String() + last + "\n")
		case room >= narrowest:
			parts := wrap(last, room)
			b.WriteString(line.String() + parts[0] + "\n")
			for _, part := range parts[1:] {
				b.WriteString(strings.Repeat(" ", before) + part + "\n")
			}
		default:
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
			for _, part := range wrap(last, max(narrowest, t.width-4)) {
				b.WriteString("    " + part + "\n")
			}
		}
	}
	return b.String()
}

func (t *table) columns() []int {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// wrap breaks a text between words; a word that is longer than a line stays whole.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// visible takes line ends and control characters out of what agents wrote, so
// that it can neither break a table nor steer the terminal.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r):
			return '\uFFFD'
		default:
			return r
		}
	}, text)
}
