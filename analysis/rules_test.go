package analysis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The examples on each rule's page give what the page says.
func TestRulePages(t *testing.T) {
	pages, err := filepath.Glob("../docs/rules/H*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	for _, page := range pages {
		code := strings.TrimSuffix(filepath.Base(page), ".md")
		t.Run(code, func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			examples := strings.Split(string(text), "```yaml\n")
			if len(examples) < 2 {
				t.Fatal("the page has no example")
			}
			for i, part := range examples[1:] {
				example, _, found := strings.Cut(part, "```\n")
				before, rest, there := strings.Cut(part, "```text\n")
				want, after, ends := strings.Cut(rest, "```\n")
				if !found || !there || !ends {
					t.Fatal("an example without what it gives")
				}
				got := check("example.yaml", []byte(example))
				if !strings.Contains(got, "["+code+"]") {
					t.Errorf("the example does not give %s:\n%s", code, got)
				}
				if diff := cmp.Diff(want, got); diff != "" && !*update {
					t.Errorf("(-page +got; go test -update writes it anew):\n%s", diff)
				}
				examples[i+1] = before + "```text\n" + got + "```\n" + after
			}
			if *update {
				if err := os.WriteFile(page, []byte(strings.Join(examples, "```yaml\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
