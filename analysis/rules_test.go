package analysis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The example on each rule's page gives what the page says.
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
			_, rest, _ := strings.Cut(string(text), "```yaml\n")
			example, _, found := strings.Cut(rest, "```\n")
			before, rest, there := strings.Cut(string(text), "```text\n")
			want, after, ends := strings.Cut(rest, "```\n")
			if !found || !there || !ends {
				t.Fatal("the page has no example, or not what it gives")
			}
			got := check("example.yaml", []byte(example))
			if !strings.Contains(got, "["+code+"]") {
				t.Errorf("the example does not give %s:\n%s", code, got)
			}
			if *update {
				if err := os.WriteFile(page, []byte(before+"```text\n"+got+"```\n"+after), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-page +got; go test -update writes it anew):\n%s", diff)
			}
		})
	}
}
