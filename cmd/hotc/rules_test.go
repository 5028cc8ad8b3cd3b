package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/analysis/rule/pack"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/docs/rules"
)

// Every code has its page, and every page its code.
func TestEveryCodeHasItsPage(t *testing.T) {
	codes, err := os.ReadFile("../../compiler/source/code.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`= "(H\d+)"`).FindAllStringSubmatch(string(codes), -1) {
		declared[m[1]] = true
		if _, err := os.Stat(filepath.Join("../../docs/rules", m[1]+".md")); err != nil {
			t.Error(err)
		}
	}
	for _, r := range pack.Rules() {
		if _, known := rules.Page(string(r.Code)); !known {
			t.Errorf("the rule %s has no page", r.Code)
		}
		declared[string(r.Code)] = true
	}
	for _, page := range rulePages(t) {
		if code := codeOf(page); !declared[code] {
			t.Errorf("no diagnostic has the code of %s", page)
		}
	}
}

// The page of a rule about templates says, right under its title, what kind of rule it is
// and how its truth is known. Where the rule is one of analysis/rule, its last example is a
// good one, without the finding.
func TestRulePagesSayHowTheyAreKnown(t *testing.T) {
	for _, page := range rulePages(t) {
		r := pack.Of(source.Code(codeOf(page)))
		if r == nil {
			continue
		}
		want := fmt.Sprintf("*%s about %s. How it is known: %s.*", map[source.Severity]string{source.Error: "An error", source.Warning: "A warning", source.Info: "A note"}[r.Severity], r.Category, r.Evidence)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		title, rest, _ := strings.Cut(string(text), "\n\n")
		got, rest, said := strings.Cut(rest, "\n\n")
		switch {
		case said && got == want:
		case !*update:
			t.Errorf("%s says %q, its rule %q (go test -update writes it)", page, got, want)
			continue
		case !strings.HasPrefix(got, "*A"):
			rest = got + "\n\n" + rest
			fallthrough
		default:
			if err := os.WriteFile(page, []byte(title+"\n\n"+want+"\n\n"+rest), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The examples on a rule's page give what the page says. Cookbooks beside them are
// the prototype's.
func TestRulePages(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(binary(t, "hotc-agent"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	examples := 0
	for _, page := range rulePages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(text), "```text\n")
		if len(parts) == 1 {
			continue
		}
		examples++
		t.Run(codeOf(page), func(t *testing.T) {
			for i, part := range parts[1:] {
				shown, after, _ := strings.Cut(part, "```\n")
				got := replay(t, parts[i], shown)
				r := pack.Of(source.Code(codeOf(page)))
				good := r != nil && r.Template != nil && i == len(parts)-2
				if gives := strings.Contains(got, "["+codeOf(page)+"]"); gives == good {
					t.Errorf("the example gives it: %v, and it should: %v\n%s", gives, !good, got)
				}
				if diff := cmp.Diff(shown, got); diff != "" && !*update {
					t.Errorf("(-page +got; go test -update writes it anew):\n%s", diff)
				}
				parts[i+1] = got + "```\n" + after
			}
			if *update {
				if err := os.WriteFile(page, []byte(strings.Join(parts, "```text\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if examples < 40 {
		t.Errorf("only %d pages have examples", examples)
	}
}

func rulePages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/rules/H*.md")
	packs, _ := filepath.Glob("../../docs/rules/*/*.md")
	if err != nil || len(pages) == 0 || len(packs) == 0 {
		t.Fatal("no pages", err)
	}
	pages = append(pages, packs...)
	for i := range pages {
		if pages[i], err = filepath.Abs(pages[i]); err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

func codeOf(page string) string { return strings.TrimSuffix(filepath.Base(page), ".md") }

// exampleFile is a file on a page: example.yaml, unless a line before says
// otherwise.
var exampleFile = regexp.MustCompile("(?s)(?:with `([^`]+)`\n\n)?```yaml\n(.*?)```\n")

// replay runs the commands that a page shows in a folder with the files that it
// shows before, and returns them with what they print.
func replay(t *testing.T, page, shown string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "cookbooks"), os.DirFS("../../testdata/prototype/cookbooks")); err != nil {
		t.Fatal(err)
	}
	for _, m := range exampleFile.FindAllStringSubmatch(page, -1) {
		name := m[1]
		if name == "" {
			name = "example.yaml"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(m[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chdir(back) }()
	if err := os.Chdir(dir); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	commands := 0
	for _, line := range strings.Split(shown, "\n") {
		if command, is := strings.CutPrefix(line, "$ hotc "); is {
			commands++
			fmt.Fprintln(&out, line)
			run(t.Context(), strings.Fields(command), streams{in: strings.NewReader(""), out: &out, err: &out})
		}
	}
	if commands == 0 {
		t.Error("the page shows no command")
	}
	return out.String()
}
