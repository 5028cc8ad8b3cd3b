// Package rules holds the pages about hotc's diagnostics, one a code.
package rules

import (
	"embed"
	"strings"
)

//go:embed H*.md
var pages embed.FS

// Page is the text of a code's page, in Markdown; false if there is no such code.
func Page(code string) (string, bool) {
	text, err := pages.ReadFile(strings.ToUpper(code) + ".md")
	return string(text), err == nil
}

// Titles are the first lines of all pages, `CODE: TITLE`, by code.
func Titles() []string {
	files, err := pages.ReadDir(".")
	if err != nil {
		panic(err) // they are part of the program
	}
	titles := make([]string, len(files))
	for i, f := range files {
		text, _ := Page(strings.TrimSuffix(f.Name(), ".md"))
		line, _, _ := strings.Cut(text, "\n")
		titles[i] = strings.TrimPrefix(line, "# ")
	}
	return titles
}
