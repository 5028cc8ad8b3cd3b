package rule

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var neverSignalled = Rule{Code: source.NeverSignalled, Category: Resources, Severity: source.Warning, Evidence: CreationFails, LintOnly: true, Template: findNeverSignalled}

// findNeverSignalled finds wait conditions whose handle nothing else reads, so that no one knows
// how to signal it, or is none (heat/engine/resources/openstack/heat/wait_condition.py,
// _validate_handle_resource).
func findNeverSignalled(l *Checker) {
	for b := range l.BlocksOf("OS::Heat::WaitCondition", "AWS::CloudFormation::WaitCondition") {
		handle := cmp.Or(b.Get("handle"), b.Get("Handle"))
		of := l.Ref(handle)
		if of.Kind != hot.ToResource || l.Template.Resource(of.Name) == nil {
			continue
		}
		if r, kind := l.present(of.Name); r != nil && l.Types.Lookup(kind) != nil && !strings.HasSuffix(kind, "WaitConditionHandle") {
			l.Note(l.Report(handle, fmt.Sprintf("the handle of a wait condition must be an OS::Heat::WaitConditionHandle, but %q is an %s", of.Name, kind), ""), r.Entry.Key, "the resource")
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
