package main

import (
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/terminal"
)

// table lays out rows in aligned columns, whose cells wrap if the line is too short. If even
// that would be too narrow to read, each row becomes a block of lines.
type table struct {
	width   int // of a line; 0: unlimited
	columns []column
	rows    [][]string
	paint   func(column int, cell, text string) string // colours a part of a cell
}

type column struct {
	title string
	// least is the column's minimum width; 0: it never wraps.
	least int
}

// narrowest is the minimum width of a list's last column.
const narrowest = 24

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = terminal.Line(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *table) String() string {
	var b strings.Builder
	widths, fits := t.fit()
	if !fits {
		for i, row := range t.rows {
			if i > 0 {
				b.WriteByte('\n')
			}
			t.block(&b, row)
		}
		return b.String()
	}
	titles := lists.Map(t.columns, func(c column) string { return c.title })
	if strings.Join(titles, "") != "" {
		t.row(&b, titles, widths, false)
	}
	for _, row := range t.rows {
		t.row(&b, row, widths, t.paint != nil)
	}
	return b.String()
}

// fit computes the widths of the columns: as wide as their cells if there is room. What is
// missing is taken from the widest column, step by step.
func (t *table) fit() (widths []int, fits bool) {
	total := -2
	for i, c := range t.columns {
		w := utf8.RuneCountInString(c.title)
		for _, row := range t.rows {
			w = max(w, utf8.RuneCountInString(row[i]))
		}
		widths = append(widths, w)
		total += w + 2
	}
	for t.width > 0 && total > t.width {
		widest := -1
		for i, c := range t.columns {
			if c.least > 0 && widths[i] > c.least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
		total--
	}
	return widths, true
}

func (t *table) row(b *strings.Builder, row []string, widths []int, painted bool) {
	cells := make([][]string, len(row))
	height := 1
	for i, cell := range row {
		cells[i] = wrapTight(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	for y := range height {
		var line strings.Builder
		for i := range row {
			part := ""
			if y < len(cells[i]) {
				part = cells[i][y]
			}
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(part))+2)
			if painted && part != "" {
				part = t.paint(i, row[i], part)
			}
			line.WriteString(part + pad)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// block prints a row as lines: first the columns that never wrap, then the others with their titles.
func (t *table) block(b *strings.Builder, row []string) {
	t.head(b, row)
	longest := 0
	for _, c := range t.columns {
		if c.least > 0 {
			longest = max(longest, utf8.RuneCountInString(c.title))
		}
	}
	indent, room := 2, t.width-longest-4
	if room < narrowest/2 { // no room for titles
		indent, longest, room = 0, 0, t.width
	}
	for i, c := range t.columns {
		if c.least == 0 || row[i] == "" {
			continue
		}
		title := strings.ToLower(c.title)
		if indent == 0 {
			title = ""
		}
		for _, part := range wrapTight(row[i], room) {
			before := ""
			if indent > 0 {
				before = "  " + title + strings.Repeat(" ", longest-utf8.RuneCountInString(title)+2)
			}
			b.WriteString(before + part + "\n")
			title = ""
		}
	}
}

// head prints a row's columns that never wrap, wrapped only if the line is too short for them.
func (t *table) head(b *strings.Builder, row []string) {
	var plain, painted []string
	for i, c := range t.columns {
		if c.least > 0 {
			continue
		}
		plain, painted = append(plain, row[i]), append(painted, row[i])
		if t.paint != nil && row[i] != "" {
			painted[len(painted)-1] = t.paint(i, row[i], row[i])
		}
	}
	text := strings.TrimRight(strings.Join(plain, "  "), " ")
	if utf8.RuneCountInString(text) <= t.width {
		b.WriteString(strings.TrimRight(strings.Join(painted, "  "), " ") + "\n")
		return
	}
	for _, line := range wrapTight(text, t.width) {
		b.WriteString(line + "\n")
	}
}

// wrapTight breaks text between words, and breaks words that are longer than a line.
func wrapTight(text string, width int) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	width = max(1, width)
	var lines []string
	line := ""
	end := func() {
		for utf8.RuneCountInString(line) > width {
			runes := []rune(line)
			at := width
			for i := width; i >= max(1, width/2); i-- { // after a separator, if there is one
				if strings.ContainsRune(" ,:", runes[i-1]) {
					at = i
					break
				}
			}
			lines = append(lines, strings.TrimRight(string(runes[:at]), " "))
			line = strings.TrimLeft(string(runes[at:]), " ")
		}
		lines = append(lines, line)
	}
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			end()
			line = ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	end()
	return lines
}
