package lint

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// neverWritten finds outputs that no statement of the role's script writes: the
// role would fail at its end, and all that waits for the output with it.
func neverWritten(l *linter, role *program.Role) {
	if !role.Meaning.Sequence.Complete {
		return
	}
	written := names(role, program.WriteOutput)
	for _, o := range role.Outputs {
		if o.Value != nil || written[o.Name] != nil {
			continue
		}
		hint := fmt.Sprintf("`… | hotc-agent put %s`, or `… > \"$heat_outputs_path.%s\"`", o.Name, o.Name)
		var undeclared []string
		for name := range written {
			if !declares(role, name) {
				undeclared = append(undeclared, name)
			}
		}
		if near := hot.Nearest(o.Name, undeclared); near != "" {
			hint = fmt.Sprintf("it writes %q, at %s", near, written[near].At)
		}
		d := l.diags.Warning(source.NeverWritten, o.At, fmt.Sprintf("no statement of %s writes output %q: role %s would fail when it ends", sourceName(role), o.Name, role.Key()), hint)
		readers := l.readersOf(o)
		for _, in := range readers[:min(len(readers), mostReaders)] {
			d.Notes = append(d.Notes, source.Note{At: in.At, Message: fmt.Sprintf("input %q of %s waits for it", in.Name, in.Role.Key())})
		}
	}
}

func declares(role *program.Role, output string) bool {
	for _, o := range role.Outputs {
		if o.Name == output {
			return true
		}
	}
	return false
}

// mostReaders is how many readers a diagnostic names.
const mostReaders = 3
