package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var unusedEntry = Rule{Code: source.UnusedEntry, Category: Style, Severity: source.Info, Evidence: TextShows, LintOnly: true, Whole: true, Everywhere: true, Template: findUnusedEntries}

// findUnusedEntries finds entries of environments that no template of the program uses:
// defaults of undeclared parameters, and types without resources. Entries below
// `resources` are skipped, and so are programs with templates that cannot be read.
func findUnusedEntries(l *Checker) {
	if l.environment == nil || len(l.environment.Files) == 0 || l.nested() {
		return
	}
	declared, words, whole := map[string]bool{}, map[string]bool{}, true
	l.Program.Root.WalkAll(func(s *program.Stack) {
		for _, p := range s.Template.Parameters {
			declared[p.Name] = true
		}
		for _, r := range s.Template.Resources {
			if environment.IsTemplate(s.Type(r)) && !s.Absent(r.Name) && s.StackResourceOf(r.Name) == nil {
				whole = false
			}
		}
		collectWords(s.Template.Root, words)
	})
	if !whole {
		return
	}
	for _, f := range l.environment.Files { // a type may be mapped to another mapped type
		for _, e := range f.Root.Get("resource_registry").All() {
			if text, is := e.Value.Text(); is {
				words[text] = true
			} else {
				collectWords(e.Value, words)
			}
		}
	}
	for _, f := range l.environment.Files {
		for _, e := range f.Root.Get("parameter_defaults").All() {
			if !declared[e.Name] {
				l.ReportAt(f.Place(e.Key), fmt.Sprintf("no template declares the parameter %q: its default is unused", e.Name), "")
			}
		}
		for _, e := range f.Root.Get("resource_registry").All() {
			if _, is := e.Value.Text(); is && e.Name != "base_url" && !mapped(e.Name, words) {
				l.ReportAt(f.Place(e.Key), fmt.Sprintf("no resource has the type %q: the entry is unused", e.Name), "")
			}
		}
	}
}

// mapped says whether a registry's type, which may end in *, is among some words.
func mapped(pattern string, words map[string]bool) bool {
	before, many := strings.CutSuffix(pattern, "*")
	if !many {
		return words[pattern]
	}
	for w := range words {
		if strings.HasPrefix(w, before) {
			return true
		}
	}
	return false
}

// collectWords adds all strings in a node.
func collectWords(n *yaml.Node, words map[string]bool) {
	for x := range n.Nodes() {
		if text, is := x.Text(); is {
			words[text] = true
		}
	}
}
