package main

import (
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/terminal"
)

// table lays out rows in aligned columns, whose cells wrap where a line has no room for
// them. Where even that would be too narrow to read, each row becomes a block of lines.
type table struct {
	width   int // of a line; 0 is without limit
	columns []column
	rows    [][]string
	paint   func(column int, cell, text string) string // colours a part of a cell
}

type column struct {
	title string
	// least is how narrow the column still makes sense; 0 is a column that never wraps.
	least int
}

// narrowest is how little room the last column of a list still makes sense in.
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

// fit gives the columns their widths: as wide as their cells where there is room. What
// is missing is taken from the widest, step by step.
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

// block is a row as lines: what never wraps first, then the others by their titles.
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

// head is what never wraps of a row, in lines of its own where it has to.
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

// wrapTight breaks a text that is longer than a line between words, and words that are, too.
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
			for i := width; i >= max(1, width/2); i-- { // behind a word, where there is one
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
