package rule

import (
	"cmp"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var neverSignalled = Rule{Code: source.NeverSignalled, Category: Resources, Severity: source.Warning, Evidence: CreationFails, LintOnly: true, Template: findNeverSignalled}

// findNeverSignalled finds wait conditions whose handle nothing else reads: no one knows
// how to signal it.
func findNeverSignalled(l *Checker) {
	for b := range l.BlocksOf("OS::Heat::WaitCondition", "AWS::CloudFormation::WaitCondition") {
		handle := cmp.Or(b.Get("handle"), b.Get("Handle"))
		of := l.Ref(handle)
		if of.Kind != hot.ToResource || l.Template.Resource(of.Name) == nil {
			continue
		}
		read := false
		l.References(l.Template.Root, func(r hot.Ref, n *yaml.Node) {
			if (r.Kind == hot.ToResource || r.Kind == hot.ToAttribute) && (r.Name == of.Name || r.Name == "") && n != handle {
				read = true
			}
		})
		if !read {
			l.Note(l.Report(handle, fmt.Sprintf("nothing reads the handle %q: it cannot be signalled, and the stack waits until the timeout", of.Name),
				"use `{get_attr: ["+of.Name+", curl_cli]}` in a server's user_data"), l.Template.Resource(of.Name).Entry.Key, "the handle")
		}
	}
}
