package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var computedRead = Rule{Code: source.ComputedRead, Category: Roles, Severity: source.Warning, Evidence: CreationFails, Whole: true, Role: findComputedReads}

// findComputedReads finds run-time inputs that a script may read from its environment by a
// computed name: they are not there.
func findComputedReads(l *roles, role *program.Role) {
	meanings := append([]*program.Meaning{role.Meaning}, lists.Map(role.Apart(), func(t *program.Task) *program.Meaning { return t.Meaning })...)
	for _, m := range meanings {
		if m == nil {
			continue
		}
		var missing []string
		var first program.EnvironmentRead
		for _, in := range role.Inputs {
			read, is := m.Environment[in.Name]
			if bound := l.analysis.Inputs[in]; is && read.Perhaps && !in.Eager && bound != nil && bound.Time == contract.Run {
				if len(missing) == 0 {
					first = read
				}
				missing = append(missing, fmt.Sprintf("%q", in.Name))
			}
		}
		if len(missing) > 0 {
			message := fmt.Sprintf("role %s reads its environment by computed names: its run-time inputs are not there, namely %s", role.Key(), strings.Join(missing, ", "))
			if first.Unknown != "" {
				message = fmt.Sprintf("role %s is a script for %s, which hotc cannot parse: its run-time inputs are not in its environment, namely %s", role.Key(), first.Unknown, strings.Join(missing, ", "))
			}
			l.diags.Warning(source.ComputedRead, first.At, message,
				"`eager: true` on an input awaits it before the script starts; `eager: false` declares that it is read in another way").Note(role.At, "the role")
		}
	}
}
