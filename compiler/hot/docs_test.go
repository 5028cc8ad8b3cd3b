package hot

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The table of functions in docs/language.md is that of the code.
func TestLanguageDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range functionRows() {
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("docs/language.md lacks the line\n%s", row)
		}
	}
	for _, s := range slices.Concat(cfnFunctions, cfnConditionFunctions) {
		if !strings.Contains(string(text), "`"+s.function.Name+"`") {
			t.Errorf("docs/language.md lacks %s", s.function.Name)
		}
	}
	if want := len(functionRows()); strings.Count(string(text), "\n| `") < want {
		t.Errorf("docs/language.md has fewer than %d rows", want)
	}
}

// functionRows are the lines of the table: where a function can be used, and the
// versions of each variant.
func functionRows() []string {
	var names []string
	versions := map[string][]string{}
	for _, l := range []struct {
		list []since
		in   string
	}{{functions, ""}, {conditionFunctions, " in conditions"}} {
		for _, s := range l.list {
			if !slices.Contains(names, s.function.Name) {
				names = append(names, s.function.Name)
			}
			span := s.from.String() + " to " + s.until.String()
			if s.until == V20210416 {
				span = "from " + s.from.String()
			}
			versions[s.function.Name] = append(versions[s.function.Name], span+l.in)
		}
	}
	var rows []string
	for _, name := range names {
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", name, strings.Join(versions[name], "; ")))
	}
	return rows
}
