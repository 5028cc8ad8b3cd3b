package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var hookByHand = Rule{Code: source.HookByHand, Category: Roles, Severity: source.Info, Evidence: HeatsTables, Whole: true, Role: findHooksByHand}

// findHooksByHand finds hooks that Heat's own commands do not run: nothing on a server
// notices when its stack is suspended or resumed. All are reported in one diagnostic.
func findHooksByHand(l *roles, role *program.Role) {
	for _, t := range role.Hooks {
		if t.Name != "suspend" && t.Name != "resume" {
			continue
		}
		if l.hooks != nil {
			l.hooks.Notes = append(l.hooks.Notes, source.Note{At: t.At, Message: fmt.Sprintf("nor does it run the %s hook of %s", t.Name, role.Key())})
			continue
		}
		l.hooks = &source.Diagnostic{Code: source.HookByHand, Severity: source.Info, At: t.At,
			Message: fmt.Sprintf("`openstack stack %s` does not run the %s hook of %s", t.Name, t.Name, role.Key()),
			Hint:    "run `hotc suspend --run-hooks` before suspending the stack, `hotc resume --run-hooks` after resuming it"}
		l.diags.Add(l.hooks)
	}
}
