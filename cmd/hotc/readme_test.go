package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the README shows of diagnostics is what hotc prints.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	shown := 0
	for _, block := range strings.Split(string(text), "```")[1:] {
		line, want, _ := strings.Cut(strings.TrimPrefix(block, "\n"), "\n")
		command, ok := strings.CutPrefix(line, "$ hotc ")
		if !ok || !strings.HasPrefix(command, "lint ") {
			continue
		}
		shown++
		var out strings.Builder
		var args []string
		for _, word := range strings.Fields(command) {
			if files, _ := filepath.Glob(word); len(files) > 0 {
				args = append(args, files...)
			} else {
				args = append(args, word)
			}
		}
		if status := run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &out}); status != exitError {
			t.Errorf("%s: status %d", line, status)
		}
		if out.String() != want {
			t.Errorf("%s prints now:\n%s", line, out.String())
		}
	}
	if shown != 2 {
		t.Errorf("%d examples were found, not 2", shown)
	}
}

// The pictures of the documentation are what hotc draws of the examples.
func TestPicturesOfTheDocumentation(t *testing.T) {
	dir := t.TempDir()
	for picture, args := range map[string][]string{
		"timeline.svg": {"simulate", "testdata/three-tier/site.yaml", "--svg", filepath.Join(dir, "timeline.svg")},
		"cluster.svg":  {"graph", "testdata/slurm/cluster.yaml"},
	} {
		t.Run(picture, func(t *testing.T) {
			t.Chdir("../..")
			var out, said strings.Builder
			if status := run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &said}); status != 0 {
				t.Fatalf("status %d: %s", status, said.String())
			}
			got := []byte(out.String())
			if written, err := os.ReadFile(filepath.Join(dir, picture)); err == nil {
				got = written
			}
			path := filepath.Join("docs", "pictures", picture)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%s is not what hotc draws now (go test -update writes it anew)", path)
			}
		})
	}
}

// Links between the pages lead somewhere, headings included.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`[^\x60'"]\]\(([^)#:' ]*)(#[^)]+)?\)`)
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target := page
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(page), found[1])
			}
			linked, err := os.ReadFile(target)
			if _, missing := os.Stat(target); missing != nil {
				t.Errorf("%s: %s is not there", page, found[1])
			} else if found[2] != "" && err == nil && !slices.Contains(anchors(string(linked)), found[2][1:]) {
				t.Errorf("%s: %s has no heading %s", page, found[1], found[2])
			}
		}
	}
}

// anchors are the names that headings have in links.
func anchors(page string) (names []string) {
	for line := range strings.Lines(page) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			name := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			names = append(names, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return names
}
