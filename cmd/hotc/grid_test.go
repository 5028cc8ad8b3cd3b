package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func exampleGrid(width int) *grid {
	g := &grid{width: width, columns: []column{{"AT", 0}, {"RULE", 12}, {"NEEDS", 0}, {"LEAVES", 14}}}
	g.add("site.yaml:22:31", "a role writes it", "db", `{"$cell":"db.mysql:url"}`)
	g.add("site.yaml:3:1", "the parameter was given to the compiler", "", `[1,"two words",{"a":"ausführlich"}]`)
	return g
}

// In a pipe a row is a line, whatever its length.
func TestGridInAPipe(t *testing.T) {
	want := `AT               RULE                                     NEEDS  LEAVES
site.yaml:22:31  a role writes it                         db     {"$cell":"db.mysql:url"}
site.yaml:3:1    the parameter was given to the compiler         [1,"two words",{"a":"ausführlich"}]
`
	if got := exampleGrid(0).String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// Where a line has not enough room, cells wrap.
func TestGridWraps(t *testing.T) {
	want := `AT               RULE               NEEDS  LEAVES
site.yaml:22:31  a role writes it   db     {"$cell":
                                           "db.mysql:url"}
site.yaml:3:1    the parameter was         [1,"two
                 given to the              words",{"a":
                 compiler                  "ausführlich"}]
`
	if got := exampleGrid(60).String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// On a line that is too narrow for that, each row is a block.
func TestNarrowGrid(t *testing.T) {
	want := `site.yaml:22:31  db
  rule    a role writes it
  leaves  {"$cell":"db.mysql:url"}

site.yaml:3:1
  rule    the parameter was given
          to the compiler
  leaves  [1,"two
          words",{"a":
          "ausführlich"}]
`
	if got := exampleGrid(34).String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// No line is longer than the terminal, however narrow that is, and nothing is lost.
func TestGridKeepsItsWidth(t *testing.T) {
	for width := 34; width < 120; width++ {
		got := exampleGrid(width).String()
		for _, line := range strings.Split(got, "\n") {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
		if flat := strings.Join(strings.Fields(got), ""); width > 60 && strings.Count(flat, "db.mysql") != 1 {
			t.Errorf("width %d: a part is lost:\n%s", width, got)
		}
	}
}
