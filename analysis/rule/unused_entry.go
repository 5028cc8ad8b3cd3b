package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var unusedEntry = Rule{Code: source.UnusedEntry, Category: Style, Severity: source.Info, Truth: TextShows, LintOnly: true, Whole: true, Everywhere: true, Template: findUnusedEntries}

// findUnusedEntries finds what environments say and no template of the program asks for:
// defaults of parameters that none declares, and types of which none has a resource. What
// stands below `resources` is left alone, and so is all of a program of which a part is not
// there to be read.
func findUnusedEntries(l *Look) {
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
	for _, f := range l.environment.Files { // a type may stand for another that is mapped, too
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
				l.FoundAt(f.Place(e.Key), fmt.Sprintf("no template declares the parameter %q: its default is used nowhere", e.Name), "")
			}
		}
		for _, e := range f.Root.Get("resource_registry").All() {
			if _, is := e.Value.Text(); is && e.Name != "base_url" && !mapped(e.Name, words) {
				l.FoundAt(f.Place(e.Key), fmt.Sprintf("no resource has the type %q: the entry is used nowhere", e.Name), "")
			}
		}
	}
}

// mapped says whether a type of a registry, which may end in *, is among some words.
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

// collectWords adds all texts in a node.
func collectWords(n *yaml.Node, words map[string]bool) {
	if n == nil {
		return
	}
	if text, is := n.Text(); is {
		words[text] = true
	}
	for x := range n.Below() {
		collectWords(x, words)
	}
}
