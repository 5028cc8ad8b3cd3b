package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var misspeltFunction = Rule{Code: source.MisspeltFunction, Category: Language, Severity: source.Warning, Evidence: TextShows, Template: findMisspeltFunctions}

func findMisspeltFunctions(l *Checker) {
	if l.Template.Version.CFN() {
		return
	}
	for r := range l.Resources {
		if r.Properties != nil {
			l.misspelt(r.Properties.Value)
		}
	}
	for _, o := range l.Template.Outputs {
		l.misspelt(o.Value)
	}
}

func (l *Checker) misspelt(in *yaml.Node) {
	for n := range in.Nodes() {
		if name := firstName(n); len(name) > 6 && strings.Contains(name, "_") && !l.IsCall(n) {
			if near := l.nearFunction(name); near != "" {
				l.Report(n.Entries[0].Key, fmt.Sprintf("%q is not a function: this map is passed unchanged", name), "").Meant(name, near)
			}
		}
	}
}

// nearFunction is the function that a misspelt name means, "" if there is none. Templates
// repeat the same few names.
func (l *Checker) nearFunction(name string) string {
	near, is := l.near[name]
	if !is {
		near = hot.IntendedFunction(name)
		if l.near == nil {
			l.near = map[string]string{}
		}
		l.near[name] = near
	}
	return near
}
