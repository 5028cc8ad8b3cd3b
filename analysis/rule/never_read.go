package rule

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var neverRead = Rule{Code: source.NeverRead, Category: Roles, Severity: source.Warning, Evidence: TextShows, Whole: true, Role: findNeverRead}

// findNeverRead finds inputs that nothing of a role reads, whenever they are known: its source,
// files, actions or hooks.
func findNeverRead(l *roles, role *program.Role) {
	if role.Meaning == nil {
		return
	}
	files := map[string]*program.Step{}
	for _, f := range role.Files {
		f.Walk(noteReads(files))
	}
	for _, in := range role.Inputs {
		if files[in.Name] != nil || files[""] != nil || in.EagerSaid && in.Eager {
			continue
		}
		if l.lost(role, in) || l.taken(role, in) {
			continue
		}
		meant, never := unreadBy(role.Meaning, in.Name)
		if !never || taskReads(role, in.Name) {
			continue
		}
		message, hint := fmt.Sprintf("%s never reads input %q", sourceName(role), in.Name), "remove the input, or read it where it is needed"
		switch {
		case role.Driver == "script":
			hint += ": `$(hotc-agent get " + in.Name + ")`"
		case role.Meaning.Sequence.Unread != nil:
			message, hint = fmt.Sprintf("nothing that the %s driver runs for role %s reads input %q", role.Driver, role.Key(), in.Name), "remove the input, or correct its name"
		}
		if meant != "" {
			if hint = fmt.Sprintf("did you mean %q?", meant); role.Driver == "script" {
				hint = fmt.Sprintf("it reads %q, which nothing sets", meant)
			}
		}
		l.diags.Warning(source.NeverRead, in.At, message, hint)
	}
}

// lost reports an input that the script reads from a variable in which it cannot be.
func (l *roles) lost(role *program.Role, in *program.Input) bool {
	if role.Meaning.Sequence == nil {
		return false
	}
	why, lost := role.Meaning.Sequence.Lost[in.Name]
	bound := l.analysis.Inputs[in]
	if !lost || bound == nil || bound.Time != contract.Run || in.Eager || namesIn(role.Meaning.Sequence, program.ReadInput)[in.Name] != nil {
		return false
	}
	message := fmt.Sprintf("%s reads input %q from a variable, which will be empty: the value arrives at run time, and no wait can be inserted into the script", sourceName(role), in.Name)
	l.diags.Warning(source.NeverRead, in.At, message, "`$(hotc-agent get "+in.Name+")` waits for it; `eager: true` makes the whole role wait").Note(why.At, why.Why)
	return true
}

// taken reports an input that its script cannot read as a variable, as that has another meaning.
func (l *roles) taken(role *program.Role, in *program.Input) bool {
	v, taken := script.Taken(in.Name, role.Meaning.Sequence != nil)
	if !taken || role.Driver != "script" || role.Meaning.Sequence != nil && namesIn(role.Meaning.Sequence, program.ReadInput)[in.Name] != nil {
		return false
	}
	why := "no variable can have the name " + v
	if v[0] > '9' {
		why = fmt.Sprintf("the shell, or hotc, gives $%s a value of its own", v)
	}
	l.diags.Warning(source.NeverRead, in.At, fmt.Sprintf("%s cannot read input %q as a variable: %s", sourceName(role), in.Name, why),
		fmt.Sprintf("rename the input, or read it with `hotc-agent get %s`", in.Name))
	return true
}

// unreadBy reports whether a source certainly never reads an input, and what may have been
// meant instead.
func unreadBy(m *program.Meaning, input string) (meant string, never bool) {
	if m.Sequence == nil {
		meant, never = m.Unread[input]
		return meant, never
	}
	if meant, never = m.Sequence.Unread[input]; never || !m.Sequence.Complete {
		return meant, never
	}
	if _, lost := m.Sequence.Lost[input]; lost {
		return "", false
	}
	read := map[string]*program.Step{}
	m.Sequence.Walk(noteReads(read))
	return "", read[input] == nil && read[""] == nil
}

// noteReads notes the inputs that steps read; "" is an unknown one.
func noteReads(read map[string]*program.Step) func(*program.Step) {
	known, any := noteIn(read, program.ReadInput), noteIn(read, program.ReadAny)
	return func(s *program.Step) { known(s); any(s) }
}

// taskReads says whether an action or a hook may read an input.
func taskReads(role *program.Role, input string) bool {
	for _, t := range slices.Concat(role.Actions, role.Hooks) {
		if t.Meaning == nil {
			return true
		}
		if _, never := unreadBy(t.Meaning, input); !never {
			return true
		}
	}
	return false
}
