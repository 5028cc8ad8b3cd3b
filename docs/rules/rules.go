// Package rules holds the pages about hotc's diagnostics, one a code.
package rules

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed H*.md */*.md
var pages embed.FS

// Page is the text of a code's page, in Markdown; false if there is no such code.
func Page(code string) (string, bool) {
	name := strings.ToUpper(code) + ".md"
	if pack, _, is := strings.Cut(code, "-"); is { // a pack's have a folder
		name = strings.ToLower(pack) + "/" + name
	}
	text, err := pages.ReadFile(name)
	return string(text), err == nil
}

// Titles are the first lines of all pages, `CODE: TITLE`, by code.
func Titles() []string {
	var titles []string
	for _, pattern := range []string{"*.md", "*/*.md"} { // packs come last
		files, err := fs.Glob(pages, pattern)
		if err != nil {
			panic(err) // the pattern is part of the program
		}
		for _, f := range files {
			text, _ := Page(strings.TrimSuffix(path.Base(f), ".md"))
			line, _, _ := strings.Cut(text, "\n")
			titles = append(titles, strings.TrimPrefix(line, "# "))
		}
	}
	return titles
}
