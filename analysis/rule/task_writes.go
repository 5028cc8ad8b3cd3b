package rule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// taskWrites finds actions and hooks that write an output: a role's outputs are final,
// and its agent refuses the write.
func taskWrites(l *roles, role *program.Role) {
	for _, t := range role.Apart() {
		if t.Meaning == nil || t == role.Update() {
			continue
		}
		written := namesIn(t.Meaning.Sequence, program.WriteOutput)
		for _, name := range slices.Sorted(maps.Keys(written)) {
			l.diags.Warning(source.NotDeclared, written[name].At, fmt.Sprintf("%q of role %s writes the output %q, which only the role itself may write", t.Name, role.Key(), name), "print it: `hotc action --wait` shows what an action prints").Note(t.At, "it runs after the role has ended")
		}
	}
}
