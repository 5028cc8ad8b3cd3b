// Package lint finds what is allowed and yet hardly meant: a file a rule, a line
// in the list each. A rule looks only at scripts that were read to the end: what
// cannot be looked into may do anything.
package lint

import (
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// rule looks at one role.
type rule func(l *linter, role *program.Role)

// rules are those about a role's own source, rulesOfTasks those about its actions
// and hooks.
func rules() []rule        { return []rule{neverWritten, neverRead, notDeclared} }
func rulesOfTasks() []rule { return []rule{hooksByHand, taskWrites} }

// Check looks at every role by every rule.
func Check(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	l := &linter{analysis: a, diags: &source.Diagnostics{}}
	defer l.tell(diags)
	for _, s := range p.Servers {
		for _, role := range s.Roles {
			for _, look := range rulesOfTasks() {
				look(l, role)
			}
			computedRead(l, role)
			if role.Meaning == nil || role.Meaning.Sequence == nil {
				continue
			}
			for _, look := range rules() {
				look(l, role)
			}
		}
	}
}

// tell reports what was found. What the members of a group, or the uses of a template,
// have in common is told of the first. Places are compared as text, since each member
// has its script from a file of its own, and with the role that a note names, since two
// scripts may stand in one line.
func (l *linter) tell(diags *source.Diagnostics) {
	told := map[string]bool{}
	for _, d := range l.diags.All() {
		finding := string(d.Code) + " " + d.At.String()
		if d.Code == source.NotDeclared && len(d.Notes) > 0 {
			finding += " " + d.Notes[0].At.String()
		}
		if !told[finding] {
			told[finding] = true
			diags.Add(d)
		}
	}
}

// linter is one run of the rules.
type linter struct {
	analysis *binding.Analysis
	diags    *source.Diagnostics
	readers  map[string][]*program.Input // by cell; made when needed
	byHand   *source.Diagnostic          // that of hooksByHand
}

// readersOf are the inputs that wait for an output.
func (l *linter) readersOf(o *program.Output) []*program.Input {
	if l.readers == nil {
		l.readers = map[string][]*program.Input{}
		for _, s := range l.analysis.Program.Servers {
			for _, r := range s.Roles {
				for _, in := range r.Inputs {
					l.index(in)
				}
			}
		}
	}
	return l.readers[o.Cell()]
}

func (l *linter) index(in *program.Input) {
	bound := l.analysis.Inputs[in]
	if bound == nil {
		return
	}
	seen := map[string]bool{}
	for _, ref := range bound.References {
		if ref.Cell != "" && !seen[ref.Cell] {
			seen[ref.Cell] = true
			l.readers[ref.Cell] = append(l.readers[ref.Cell], in)
		}
	}
}

// names are what the steps of a role's files and source read, or write.
func names(role *program.Role, op program.StepOp) map[string]*program.Step {
	out := namesIn(role.Meaning.Sequence, op)
	for _, f := range role.Files {
		f.Walk(noteIn(out, op))
	}
	return out
}

func namesIn(sequence *program.Sequence, op program.StepOp) map[string]*program.Step {
	out := map[string]*program.Step{}
	sequence.Walk(noteIn(out, op))
	return out
}

func noteIn(names map[string]*program.Step, op program.StepOp) func(*program.Step) {
	return func(s *program.Step) {
		if s.Op == op && names[s.Name] == nil {
			names[s.Name] = s
		}
	}
}

// readsAny says whether a step may read any input.
func readsAny(role *program.Role) bool { return names(role, program.ReadAny)[""] != nil }

// sourceName is how a role's source is called.
func sourceName(role *program.Role) string {
	if len(role.Meaning.Files) == 1 && role.Meaning.Files[0].Name != "" {
		return role.Meaning.Files[0].Name
	}
	return "its script"
}
