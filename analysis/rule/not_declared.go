package rule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var notDeclared = Rule{Code: source.NotDeclared, Category: Roles, Severity: source.Warning, Evidence: CreationFails, Whole: true, Role: findNotDeclared}

// findNotDeclared finds statements that read an undeclared input, or write an undeclared
// output: the agent refuses them.
func findNotDeclared(l *roles, role *program.Role) {
	taskWrites(l, role)
	if !read(role) {
		return
	}
	undeclared(role, program.ReadInput, "input", lists.Map(role.Inputs, func(in *program.Input) string { return in.Name }), l.diags)
	undeclared(role, program.WriteOutput, "output", lists.Map(role.Outputs, func(o *program.Output) string { return o.Name }), l.diags)
}

func undeclared(role *program.Role, op program.StepOp, kind string, declared []string, diags *source.Diagnostics) {
	steps := names(role, op)
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		if slices.Contains(declared, name) {
			continue
		}
		hint := hot.DidYouMean(name, declared, fmt.Sprintf("declare it under `%ss:` of the role", kind))
		diags.Warning(source.NotDeclared, steps[name].At, fmt.Sprintf("role %s declares no %s %q", role.Key(), kind, name), hint).Note(role.At, "the role")
	}
}
