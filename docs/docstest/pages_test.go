package docstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const root = "../.."

// pages are the documentation's pages, the README among them, as paths from the root.
func pages(t *testing.T) (all []string) {
	t.Helper()
	all = []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			path, err = filepath.Rel(root, path)
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) < 40 {
		t.Fatal(len(all), err)
	}
	return all
}

func text(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// prose calls with each line that is not code, a table or a comment.
func prose(text string, each func(line string, number int)) {
	open := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case fence.MatchString(line):
			open = !open
		case !open && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "<!--"):
			each(line, i+1)
		}
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	code = regexp.MustCompile("`[^`]*`")
)

// links are what a page leads to, outside of code.
func links(text string) (all []string) {
	open := false
	for line := range strings.Lines(text) {
		if fence.MatchString(strings.TrimSuffix(line, "\n")) {
			open = !open
		}
		if open {
			continue
		}
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(line, "x"), -1) {
			if !strings.Contains(found[1], "://") {
				all = append(all, found[1])
			}
		}
	}
	return all
}

// Links between the pages lead somewhere, headings included.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, to := range links(text(t, page)) {
			file, heading, _ := strings.Cut(to, "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: %s is not there", page, to)
			} else if heading != "" && !slices.Contains(anchors(text(t, target)), heading) {
				t.Errorf("%s: %s has no such heading", page, to)
			}
		}
	}
}

// anchors are the names that headings have in links.
func anchors(page string) (names []string) {
	prose(page, func(line string, _ int) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			name := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			names = append(names, strings.ReplaceAll(name, " ", "-"))
		}
	})
	return names
}

// Every page is in the index, from which all others are reached; a rule's page is printed by
// `hotc rule`.
func TestIndex(t *testing.T) {
	var named []string
	for _, to := range links(text(t, "docs/README.md")) {
		file, _, _ := strings.Cut(to, "#")
		named = append(named, filepath.Join("docs", file))
	}
	for _, page := range pages(t) {
		switch {
		case page == "README.md", page == "docs/README.md", strings.HasPrefix(page, "docs/rules/"):
		case !slices.Contains(named, page):
			t.Errorf("docs/README.md does not name %s", page)
		}
	}
}

// long are the pages that are still to be wrapped.
var long = []string{}

// Lines of text can be read in a terminal. Tables and code are as wide as they must be, and
// so are lines of one word.
func TestLinesAreShort(t *testing.T) {
	for _, page := range pages(t) {
		if slices.Contains(long, page) || strings.HasPrefix(page, "docs/rules/") {
			continue
		}
		prose(text(t, page), func(line string, number int) {
			if utf8.RuneCountInString(line) > 100 && strings.Contains(strings.TrimLeft(line, " -*#0123456789."), " ") {
				t.Errorf("%s:%d has %d characters, and not 100", page, number, utf8.RuneCountInString(line))
			}
		})
	}
}

// Commands in the tutorial and the how-to pages are run by TestPages (cmd/hotc) or, in a
// cloud, by TestPages of emit/heat/bed, or the page says to its tests why not. Templates are
// saved under the name that the line above them ends with.
func TestEveryCommandIsRun(t *testing.T) {
	for _, page := range pages(t) {
		if page != "docs/tutorial.md" && filepath.Dir(page) != "docs/howto" {
			continue
		}
		p, err := Read(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range p.Blocks {
			shell := slices.Contains([]string{"sh", "bash", "shell", "console", "console cloud"}, b.Info) || strings.HasPrefix(b.Text, "$ ") || strings.Contains(b.Text, "\n$ ")
			run := strings.HasPrefix(b.Info, "console") && strings.HasPrefix(b.Text, "$ ")
			if strings.Contains(b.Text, "heat_template_version:") && b.File == "" {
				t.Errorf("%s:%d: nobody saves this template, so its commands run without it", page, b.Line)
			}
			if shell && !run && b.File == "" && b.Why == "" {
				t.Errorf("%s:%d: nobody runs this, and no comment above it says why: <!-- not run: … -->\n%s", page, b.Line, b.Text)
			}
		}
	}
}

func TestShows(t *testing.T) {
	for _, x := range []struct {
		want, out string
		shows     bool
	}{
		{"a\nb\n", "b\na\n", true},
		{"a\n", "a\nb\n", false},
		{"a\na\n", "a\n", false},
		{"…\na\n", "b\na\nc\n", true},
		{"done in 1.0s\n", "done in 12.3s\n", true},
		{"id …, up\n", "id 5f, up\n", true},
		{"id …, up\n", "id 5f, down\n", false},
		{"", "a\n", false},
	} {
		if got := Shows(x.want, x.out); got != x.shows {
			t.Errorf("%q shows %q: %v", x.want, x.out, got)
		}
	}
}

// The bounds of a paragraph or an item of a list, and of a table's cell, in words.
const (
	mostWords     = 120
	mostCellWords = 40
)

// walls are the pages that are still to be split.
var walls = []string{}

// A page is read in paragraphs: none is a wall, and no cell of a table is one.
func TestParagraphsAreShort(t *testing.T) {
	for _, page := range pages(t) {
		if slices.Contains(walls, page) {
			continue
		}
		paragraphs(text(t, page), func(words, number int) {
			if words > mostWords {
				t.Errorf("%s:%d: a paragraph has %d words, and not %d", page, number, words, mostWords)
			}
		}, func(words, number int) {
			if words > mostCellWords {
				t.Errorf("%s:%d: a cell has %d words, and not %d", page, number, words, mostCellWords)
			}
		})
	}
}

func TestParagraphs(t *testing.T) {
	var blocks, cells []int
	paragraphs("# a head\none two\nthree\n\n* four\n  five\n* six\n\n    $ code is not counted\n\n```\nnor here\n```\nseven\n| a b | c |\n|---|---|\n| d | e f g |\n",
		func(words, _ int) { blocks = append(blocks, words) }, func(words, _ int) { cells = append(cells, words) })
	if want := []int{3, 3, 2, 1}; !slices.Equal(blocks, want) {
		t.Errorf("paragraphs of %d words, not %d", blocks, want)
	}
	if want := []int{2, 1, 1, 1, 1, 3}; !slices.Equal(cells, want) {
		t.Errorf("cells of %d words, not %d", cells, want)
	}
}

var item = regexp.MustCompile(`^ *(?:[-*]|\d+\.) `)

// paragraphs calls block with the words and the first line of each paragraph and item of a list,
// and cell with those of each cell of a table.
func paragraphs(text string, block, cell func(words, number int)) {
	words, first, open := 0, 0, false
	end := func() {
		if words > 0 {
			block(words, first)
		}
		words = 0
	}
	for i, line := range strings.Split(text, "\n") {
		found := len(strings.Fields(line))
		switch {
		case fence.MatchString(line):
			end()
			open = !open
		case open, strings.HasPrefix(line, "    ") && words == 0:
		case strings.HasPrefix(line, "|"):
			end()
			for _, c := range strings.Split(strings.Trim(line, "|"), "|") {
				cell(len(strings.Fields(c)), i+1)
			}
		case found == 0, strings.HasPrefix(line, "#"), strings.HasPrefix(line, "<!--"):
			end()
		default:
			if item.MatchString(line) {
				end()
			}
			if words == 0 {
				first = i + 1
			}
			words += found
		}
	}
	end()
}
