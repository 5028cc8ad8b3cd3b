package rule

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

var unusedResource = Rule{Code: source.UnusedResource, Category: Style, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Whole: true, Template: findUnusedResources}

// forOthers are types that have no effect unless something refers to them.
var forOthers = []string{"OS::Heat::SoftwareConfig", "OS::Heat::StructuredConfig", "OS::Heat::SoftwareComponent", "OS::Heat::CloudConfig", "OS::Heat::MultipartMime",
	"OS::Heat::RandomString", "OS::Heat::Value", "OS::Heat::WaitConditionHandle", "OS::Heat::SwiftSignalHandle", "AWS::CloudFormation::WaitConditionHandle"}

// findUnusedResources skips nested templates: the enclosing stack may read their resources.
func findUnusedResources(l *Checker) {
	used, all := l.referred(hot.ToResource, hot.ToAttribute)
	if l.nested() || all {
		return
	}
	for b := range l.BlocksOf("OS::Heat::AccessPolicy", "AWS::IAM::User") { // name resources without a function
		for _, n := range slices.Concat(b.Get("AllowedResources").List(), b.Get("Policies").List()) {
			used[l.text(n)] = true
		}
	}
	lone := slices.DeleteFunc(slices.Collect(l.Resources), func(r *hot.Resource) bool { return !slices.Contains(forOthers, l.Use(r.Name).Type(r)) })
	if len(lone) == len(l.Template.Resources) {
		return // an example or a fragment
	}
	for _, r := range lone {
		if !used[r.Name] {
			l.Report(r.Entry.Key, fmt.Sprintf("nothing refers to %q: an %s has no effect by itself", r.Name, l.Use(r.Name).Type(r)), "").Fix = l.unsafeRemove(r.Entry, "")
		}
	}
}
