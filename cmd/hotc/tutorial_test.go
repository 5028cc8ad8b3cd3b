package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the tutorial says to save is saved, and what it shows in a console is typed, in
// order, and prints what stands there. "…" stands for any lines, and times differ.
func TestTutorial(t *testing.T) {
	text, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin+string(filepath.Separator), ".", "../hotc-agent").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Chdir(t.TempDir())
	saved := regexp.MustCompile("this\nas `([^`]+)`:\\s*$|this as `([^`]+)`:\\s*$")
	parts := strings.Split(string(text), "```")
	files, commands := 0, 0
	for i := 1; i < len(parts); i += 2 {
		kind, body, _ := strings.Cut(parts[i], "\n")
		if name := saved.FindStringSubmatch(parts[i-1]); name != nil {
			files++
			if err := os.WriteFile(name[1]+name[2], []byte(body), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if kind != "console" {
			continue
		}
		for _, command := range strings.Split("\n"+body, "\n$ ")[1:] {
			commands++
			line, want, _ := strings.Cut(command, "\n")
			out, _ := exec.Command("sh", "-c", line).CombinedOutput()
			if !shows(want, string(out)) {
				t.Errorf("$ %s\nprints\n%s\nand not\n%s", line, out, want)
			}
		}
	}
	if files != 3 || commands < 10 {
		t.Errorf("%d files and %d commands were found", files, commands)
	}
}

var seconds = regexp.MustCompile(` *[0-9]+\.[0-9]s`)

// shows says whether a console's lines are there, and no others unless "…" stands for
// them. Roles of different servers take turns as they like, so the order is free.
func shows(want, out string) bool {
	lines := func(text string) map[string]int {
		count := map[string]int{}
		for line := range strings.Lines(seconds.ReplaceAllString(text, " 0s")) {
			if line = strings.TrimSpace(line); line != "" {
				count[line]++
			}
		}
		return count
	}
	printed, shown := lines(out), lines(want)
	open := shown["…"] > 0
	delete(shown, "…")
	for line, n := range shown {
		if printed[line] != n {
			return false
		}
		delete(printed, line)
	}
	return open || len(printed) == 0
}
