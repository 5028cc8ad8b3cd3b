package rule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var neverWritten = Rule{Code: source.NeverWritten, Category: Roles, Severity: source.Warning, Evidence: CreationFails, Whole: true, Role: findNeverWritten}

// findNeverWritten finds outputs that no statement of the role's script writes: the
// role would fail at its end, and so would everything that waits for the output.
func findNeverWritten(l *roles, role *program.Role) {
	if !read(role) {
		return
	}
	unwritten(l, role)
	lost := role.Meaning.Sequence.Lost
	if !role.Meaning.Sequence.Complete && len(lost) == 0 {
		return
	}
	written := names(role, program.WriteOutput)
	for _, o := range role.Outputs {
		if o.Value != nil || written[o.Name] != nil {
			continue
		}
		why, isLost := lost[o.Name]
		if !isLost && !role.Meaning.Sequence.Complete {
			continue
		}
		message := fmt.Sprintf("no statement of %s writes output %q: role %s would fail when it ends", sourceName(role), o.Name, role.Key())
		hint := ""
		if role.Driver == "script" {
			hint = fmt.Sprintf("`… | hotc-agent put %s`, or `… > \"$heat_outputs_path.%s\"`", o.Name, o.Name)
		}
		undeclared := slices.DeleteFunc(slices.Collect(maps.Keys(written)), func(name string) bool { return declares(role, name) })
		if near := hot.Nearest(o.Name, undeclared); near != "" {
			hint = fmt.Sprintf("it writes %q, at %s", near, written[near].At)
		}
		if isLost {
			message = fmt.Sprintf("%s assigns output %q to a variable that cannot be published: role %s would fail when it ends", sourceName(role), o.Name, role.Key())
		}
		d := l.diags.Warning(source.NeverWritten, o.At, message, hint)
		if isLost {
			d.Note(why.At, why.Why)
		}
		l.noteReaders(d, o)
	}
}

// unwritten finds outputs that no file of the role's tool mentions.
func unwritten(l *roles, role *program.Role) {
	for _, o := range role.Outputs {
		meant, is := role.Meaning.Sequence.Unwritten[o.Name]
		if !is || o.Value != nil {
			continue
		}
		hint := ""
		if meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		what := fmt.Sprintf("writes output %q", o.Name)
		if o.Resource != "" {
			what = fmt.Sprintf("declares %s, whose completion output %q is", o.Resource, o.Name)
		}
		l.noteReaders(l.diags.Warning(source.NeverWritten, o.At, fmt.Sprintf("nothing that the %s driver runs for role %s %s: the role would fail when it ends", role.Driver, role.Key(), what), hint), o)
	}
}

// noteReaders adds notes on some inputs that wait for an output.
func (l *roles) noteReaders(d *source.Diagnostic, o *program.Output) {
	readers := l.readersOf(o)
	for _, in := range readers[:min(len(readers), maxReaders)] {
		d.Note(in.At, fmt.Sprintf("input %q of %s waits for it", in.Name, in.Role.Key()))
	}
}

func declares(role *program.Role, output string) bool {
	return slices.ContainsFunc(role.Outputs, func(o *program.Output) bool { return o.Name == output })
}

// maxReaders bounds how many readers a diagnostic names.
const maxReaders = 3
