package rule

import (
	"fmt"
	"sort"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var notDeclared = Rule{Code: source.NotDeclared, Category: Roles, Severity: source.Warning, Truth: CreationFails, Whole: true, Role: findNotDeclared}

// findNotDeclared finds statements that read an input, or write an output, which the
// role does not declare: the agent refuses them.
func findNotDeclared(l *roles, role *program.Role) {
	taskWrites(l, role)
	if !read(role) {
		return
	}
	var inputs, outputs []string
	for _, in := range role.Inputs {
		inputs = append(inputs, in.Name)
	}
	for _, o := range role.Outputs {
		outputs = append(outputs, o.Name)
	}
	undeclared(role, program.ReadInput, "input", inputs, l.diags)
	undeclared(role, program.WriteOutput, "output", outputs, l.diags)
}

func undeclared(role *program.Role, op program.StepOp, kind string, declared []string, diags *source.Diagnostics) {
	known := map[string]bool{}
	for _, name := range declared {
		known[name] = true
	}
	steps := names(role, op)
	var wrong []string
	for name := range steps {
		if !known[name] {
			wrong = append(wrong, name)
		}
	}
	sort.Strings(wrong)
	for _, name := range wrong {
		hint := hot.Meant(name, declared, fmt.Sprintf("declare it under `%ss:` of the role", kind))
		d := diags.Warning(source.NotDeclared, steps[name].At, fmt.Sprintf("role %s declares no %s %q", role.Key(), kind, name), hint)
		d.Notes = append(d.Notes, source.Note{At: role.At, Message: "the role"})
	}
}
