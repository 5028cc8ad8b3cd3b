package main

import (
	"os"
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
		command, ok := strings.CutPrefix(line, "$ hotc compile testdata/")
		if !ok {
			continue
		}
		shown++
		var out strings.Builder
		args := append([]string{"compile"}, strings.Fields("testdata/"+command)...)
		if status := run(t.Context(), args, streams{strings.NewReader(""), &out, &out}); status != exitError {
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
