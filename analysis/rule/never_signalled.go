package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var neverSignalled = Rule{Code: source.NeverSignalled, Category: Resources, Severity: source.Warning, Evidence: CreationFails, LintOnly: true, Template: findNeverSignalled}

// findNeverSignalled finds wait conditions whose handle nothing else reads, so that no one knows
// how to signal it, or only who waits for the condition, or is none
// (heat/engine/resources/openstack/heat/wait_condition.py, _validate_handle_resource).
func findNeverSignalled(l *Checker) {
	var waits []*yaml.Node
	for b := range l.BlocksOf("OS::Heat::WaitCondition", "AWS::CloudFormation::WaitCondition") {
		waits = append(waits, cmp.Or(b.Get("handle"), b.Get("Handle")))
	}
	if len(waits) == 0 {
		return
	}
	readers := l.readers(waits)
	for b := range l.BlocksOf("OS::Heat::WaitCondition", "AWS::CloudFormation::WaitCondition") {
		handle := cmp.Or(b.Get("handle"), b.Get("Handle"))
		of := l.Ref(handle)
		if of.Kind != hot.ToResource || l.Template.Resource(of.Name) == nil {
			continue
		}
		at := l.Template.Resource(of.Name).Entry.Key
		if r, kind := l.present(of.Name); r != nil && l.Types.Lookup(kind) != nil && !strings.HasSuffix(kind, "WaitConditionHandle") {
			l.Note(l.Report(handle, fmt.Sprintf("the handle of a wait condition must be an OS::Heat::WaitConditionHandle, but %q is an %s", of.Name, kind), ""), at, "the resource")
			continue
		}
		if len(readers[of.Name])+len(readers[""]) == 0 {
			l.Note(l.Report(handle, fmt.Sprintf("nothing reads the handle %q: it cannot be signalled, and the stack waits until the timeout", of.Name),
				"use `{get_attr: ["+of.Name+", curl_cli]}` in a server's user_data"), at, "the handle")
		} else if by := l.heldBack(readers, of.Name, b.Resource.Name, map[string]bool{}); len(by) > 0 {
			d := l.Report(handle, fmt.Sprintf("all that can signal %q wait for this condition: the stack waits until the timeout", of.Name), "let a resource signal it that does not wait for it")
			for _, name := range by {
				l.Note(d, l.Template.Resource(name).Entry.Key, "it waits")
			}
		}
	}
}

// readers are the names of the resources that read each resource, but for some nodes; "" reads what is
// no resource, such as an output, and is read by a computed name.
func (l *Checker) readers(but []*yaml.Node) map[string][]string {
	readers, inside := map[string][]string{}, map[*yaml.Node]bool{}
	note := func(by string) func(hot.Ref, *yaml.Node) {
		return func(r hot.Ref, n *yaml.Node) {
			if (r.Kind == hot.ToResource || r.Kind == hot.ToAttribute) && !slices.Contains(but, n) && !inside[n] {
				readers[r.Name], inside[n] = append(readers[r.Name], by), true
			}
		}
	}
	for _, r := range l.Template.Resources {
		l.References(r.Entry.Value, note(r.Name))
	}
	l.References(l.Template.Root, note(""))
	return readers
}

// heldBack are the resources that know a handle, if all of them wait for its condition: none can signal
// it before. Who knows a config that has the handle in it knows the handle.
func (l *Checker) heldBack(readers map[string][]string, handle, condition string, seen map[string]bool) (by []string) {
	seen[handle] = true
	for _, name := range slices.Concat(readers[handle], readers[""]) {
		_, kind := l.present(name)
		switch config := strings.HasSuffix(kind, "Config") || kind == "OS::Heat::MultipartMime"; {
		case config && seen[name]:
		case config:
			more := l.heldBack(readers, name, condition, seen)
			if len(more) == 0 {
				return nil
			}
			by = append(by, more...)
		case !l.waitsFor(name, condition, map[string]bool{}): // such as an output: anybody may signal it
			return nil
		default:
			by = append(by, name)
		}
	}
	slices.Sort(by)
	return slices.Compact(by)
}

// waitsFor reports whether a resource waits for another one, whatever the conditions are.
func (l *Checker) waitsFor(name, on string, seen map[string]bool) bool {
	r := l.Template.Resource(name)
	if r == nil || seen[name] {
		return false
	}
	seen[name] = true
	needs := map[string]*yaml.Node{}
	if r.Properties != nil {
		l.certain(r.Properties.Value, needs)
	}
	if r.DependsOn != nil {
		for _, n := range r.DependsOn.Value.OneOrMore() {
			needs[l.text(n)] = n
		}
	}
	for other := range needs {
		if x := l.Template.Resource(other); other == on || x != nil && x.Condition == nil && l.waitsFor(other, on, seen) {
			return true
		}
	}
	return false
}
