package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/docs/docstest"
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

// The README's first example is a template that is compiled, and takes as long as the text says.
func TestReadmeExample(t *testing.T) {
	t.Chdir("../..")
	page, err := docstest.Read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("testdata/two/site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Blocks) == 0 || page.Blocks[0].Text != string(example) {
		t.Errorf("the first example is not testdata/two/site.yaml")
	}
	var out strings.Builder
	if status := run(t.Context(), []string{"simulate", "testdata/two/site.yaml"}, streams{in: strings.NewReader(""), out: &out, err: &out}); status != 0 {
		t.Fatalf("status %d: %s", status, out.String())
	}
	if !strings.Contains(out.String(), "2m20s in all, 4m30s if Heat ordered whole servers") {
		t.Errorf("it takes another time now:\n%s", out.String())
	}
}

// The pictures of the documentation are what hotc draws of the examples.
func TestPicturesOfTheDocumentation(t *testing.T) {
	dir := t.TempDir()
	for picture, args := range map[string][]string{
		"timeline.svg": {"simulate", "testdata/two/site.yaml", "--svg", filepath.Join(dir, "timeline.svg")},
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
