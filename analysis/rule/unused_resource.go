package rule

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var unusedResource = Rule{Code: source.UnusedResource, Category: Style, Severity: source.Warning, Truth: TextShows, LintOnly: true, Whole: true, Template: findUnusedResources}

// forOthers are types that do nothing but for who refers to them.
var forOthers = []string{"OS::Heat::SoftwareConfig", "OS::Heat::StructuredConfig", "OS::Heat::SoftwareComponent", "OS::Heat::CloudConfig", "OS::Heat::MultipartMime",
	"OS::Heat::RandomString", "OS::Heat::Value", "OS::Heat::WaitConditionHandle", "OS::Heat::SwiftSignalHandle", "AWS::CloudFormation::WaitConditionHandle"}

// findUnusedResources leaves nested templates alone: the stack around may look into them.
func findUnusedResources(l *Look) {
	if slices.ContainsFunc(l.Uses, func(s *program.Stack) bool { return s.StackResource != nil }) {
		return
	}
	used, all := l.named(hot.ToResource, hot.ToAttribute)
	if all {
		return
	}
	for b := range l.BlocksOf("OS::Heat::AccessPolicy", "AWS::IAM::User") { // name resources without a function
		for _, n := range slices.Concat(l.items(b.Get("AllowedResources")), l.items(b.Get("Policies"))) {
			used[l.text(n)] = true
		}
	}
	lone := 0
	for r := range l.Resources {
		kind := l.Use(r.Name).Type(r)
		if slices.Contains(forOthers, kind) {
			lone++
		}
	}
	if lone == len(l.Template.Resources) {
		return // it is an example, or a piece of one
	}
	for r := range l.Resources {
		if kind := l.Use(r.Name).Type(r); slices.Contains(forOthers, kind) && !used[r.Name] {
			l.Found(r.Entry.Key, fmt.Sprintf("nothing refers to %q: an %s does nothing by itself", r.Name, kind), "").Fix = l.perhapsWithout(r.Entry, "")
		}
	}
}
