package main

import (
	"strings"
	"unicode/utf8"
)

// grid is a table with titles, whose cells wrap where a line has no room for them.
// Where even that would be too narrow to read, each row becomes a block of lines.
type grid struct {
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

func (g *grid) add(cells ...string) {
	for i := range cells {
		cells[i] = visible(cells[i])
	}
	g.rows = append(g.rows, cells)
}

func (g *grid) String() string {
	var b strings.Builder
	widths, fits := g.fit()
	if !fits {
		for i, row := range g.rows {
			if i > 0 {
				b.WriteByte('\n')
			}
			g.block(&b, row)
		}
		return b.String()
	}
	var titles []string
	for _, c := range g.columns {
		titles = append(titles, c.title)
	}
	g.row(&b, titles, widths, false)
	for _, row := range g.rows {
		g.row(&b, row, widths, true)
	}
	return b.String()
}

// fit gives the columns their widths: as wide as their cells where there is room. What
// is missing is taken from the widest, step by step.
func (g *grid) fit() (widths []int, fits bool) {
	total := 0
	for i, c := range g.columns {
		w := utf8.RuneCountInString(c.title)
		for _, row := range g.rows {
			w = max(w, utf8.RuneCountInString(row[i]))
		}
		widths = append(widths, w)
		total += w + 2
	}
	total -= 2
	for g.width > 0 && total > g.width {
		widest := -1
		for i, c := range g.columns {
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

func (g *grid) row(b *strings.Builder, row []string, widths []int, painted bool) {
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
			if painted && g.paint != nil && part != "" {
				part = g.paint(i, row[i], part)
			}
			line.WriteString(part + pad)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// block is a row as lines: what never wraps first, then the others by their titles.
func (g *grid) block(b *strings.Builder, row []string) {
	longest := 0
	for _, c := range g.columns {
		if c.least > 0 {
			longest = max(longest, utf8.RuneCountInString(c.title))
		}
	}
	var head []string
	for i, c := range g.columns {
		if c.least == 0 {
			text := row[i]
			if g.paint != nil {
				text = g.paint(i, row[i], text)
			}
			head = append(head, text)
		}
	}
	b.WriteString(strings.TrimRight(strings.Join(head, "  "), " ") + "\n")
	for i, c := range g.columns {
		if c.least == 0 || row[i] == "" {
			continue
		}
		title := strings.ToLower(c.title)
		for _, part := range wrapTight(row[i], max(narrowest, g.width-longest-4)) {
			b.WriteString("  " + title + strings.Repeat(" ", longest-utf8.RuneCountInString(title)+2) + part + "\n")
			title = ""
		}
	}
}

// wrapTight is wrap that also breaks a word which is longer than a line.
func wrapTight(text string, width int) []string {
	var lines []string
	for _, line := range wrap(text, width) {
		for utf8.RuneCountInString(line) > width {
			runes := []rune(line)
			at := width
			for i := width; i >= width/2; i-- { // behind a word, where there is one
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
	return lines
}
