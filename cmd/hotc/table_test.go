package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func exampleTable(width int) *table {
	t := &table{width: width, columns: []column{{"AT", 0}, {"RULE", 12}, {"NEEDS", 0}, {"LEAVES", 14}}}
	t.add("site.yaml:22:31", "a role writes it", "db", `{"$cell":"db.mysql:url"}`)
	t.add("site.yaml:3:1", "the parameter was given to the compiler", "", `[1,"two words",{"a":"ausführlich"}]`)
	return t
}

// In a pipe a row is a line, whatever its length.
func TestTableInAPipe(t *testing.T) {
	want := `AT               RULE                                     NEEDS  LEAVES
site.yaml:22:31  a role writes it                         db     {"$cell":"db.mysql:url"}
site.yaml:3:1    the parameter was given to the compiler         [1,"two words",{"a":"ausführlich"}]
`
	if got := exampleTable(0).String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// Where a line has not enough room, cells wrap.
func TestTableWraps(t *testing.T) {
	want := `AT               RULE               NEEDS  LEAVES
site.yaml:22:31  a role writes it   db     {"$cell":
                                           "db.mysql:url"}
site.yaml:3:1    the parameter was         [1,"two
                 given to the              words",{"a":
                 compiler                  "ausführlich"}]
`
	if got := exampleTable(60).String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// On a line that is too narrow for that, each row is a block.
func TestNarrowTable(t *testing.T) {
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
	if got := exampleTable(34).String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// No line is longer than the terminal, however narrow that is, and nothing is lost.
func TestTableKeepsItsWidth(t *testing.T) {
	for width := 1; width < 120; width++ {
		got := exampleTable(width).String()
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

// A list whose last column has no title, as hotc status prints it, on every terminal.
func TestListOnNarrowTerminals(t *testing.T) {
	painted := func(column int, _, text string) string {
		if column == 2 {
			return "\x1b[31m" + text + "\x1b[0m"
		}
		return text
	}
	for width := range 121 {
		list := table{width: width, columns: []column{{"SERVER", 0}, {"ROLE", 0}, {"STATUS", 0}, {"", narrowest}}}
		list.add("application", "wordpress", "blocked", "on db.mysql:endpoint (db.mysql running), db:first_address (db is lost)")
		list.add("db", "", "", "")
		got := list.String()
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 0 && n > width {
				t.Errorf("width %d: a line of %d: %q", width, n, line)
			}
		}
		if flat := strings.Join(strings.Fields(got), ""); !strings.Contains(flat, "wordpressblocked") && width < 34 || strings.Count(flat, "lost") != 1 {
			t.Errorf("width %d: a part is lost:\n%s", width, got)
		}
		if width == 60 {
			golden(t, "narrow.txt", got)
		}
		list.paint = painted
		if plain := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(list.String()); plain != got {
			t.Errorf("width %d: colours move text:\n%s\n%s", width, plain, got)
		}
	}
}
