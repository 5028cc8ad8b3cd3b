package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var neverRead = Rule{Code: source.NeverRead, Category: Roles, Severity: source.Warning, Evidence: TextShows, Whole: true, Role: findNeverRead}

// findNeverRead finds run-time inputs that the role's script never reads. Inputs that
// are known before the script starts are in its environment, where any program that
// it calls may read them.
func findNeverRead(l *roles, role *program.Role) {
	if !read(role) {
		return
	}
	unread(l, role)
	lost := role.Meaning.Sequence.Lost
	if (!role.Meaning.Sequence.Complete || readsAny(role)) && len(lost) == 0 {
		return
	}
	read := names(role, program.ReadInput)
	for in, bound := range l.analysis.Bound(role) {
		if bound.Time != contract.Run || in.Eager || read[in.Name] != nil {
			continue
		}
		why, isLost := lost[in.Name]
		switch {
		case isLost:
			message := fmt.Sprintf("%s reads input %q from a variable, which will be empty: the value arrives at run time, and no wait can be inserted into the script", sourceName(role), in.Name)
			l.diags.Warning(source.NeverRead, in.At, message, "`$(hotc-agent get "+in.Name+")` waits for it; `eager: true` makes the whole role wait").Note(why.At, why.Why)
			continue
		case !role.Meaning.Sequence.Complete || readsAny(role) || taskReads(role, in.Name):
			continue
		}
		hint := "remove the input, or read it where it is needed"
		if role.Driver == "script" {
			hint += ": `$(hotc-agent get " + in.Name + ")`"
		}
		message := fmt.Sprintf("%s never reads input %q", sourceName(role), in.Name)
		l.diags.Warning(source.NeverRead, in.At, message, hint)
	}
}

// unread finds inputs of any time that no file of the role's tool mentions.
func unread(l *roles, role *program.Role) {
	files := map[string]*program.Step{}
	for _, f := range role.Files {
		f.Walk(noteIn(files, program.ReadInput))
	}
	for _, in := range role.Inputs {
		meant, is := role.Meaning.Sequence.Unread[in.Name]
		if !is || files[in.Name] != nil || in.Eager || taskReads(role, in.Name) {
			continue
		}
		hint := "remove the input, or correct its name"
		if meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		l.diags.Warning(source.NeverRead, in.At, fmt.Sprintf("nothing that the %s driver runs for role %s reads input %q", role.Driver, role.Key(), in.Name), hint)
	}
}

// taskReads says whether an action or a hook may read an input.
func taskReads(role *program.Role, input string) bool {
	for _, t := range role.Apart() {
		if t.Meaning == nil || t.Meaning.Sequence == nil {
			return true
		}
		if _, is := t.Meaning.Sequence.Unread[input]; is {
			continue
		}
		if !t.Meaning.Sequence.Complete {
			return true
		}
		if read := namesIn(t.Meaning.Sequence, program.ReadInput); read[input] != nil {
			return true
		}
		if any := namesIn(t.Meaning.Sequence, program.ReadAny); any[""] != nil {
			return true
		}
	}
	return false
}
