package rule

import (
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/types"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// checkRoles runs every rule about roles on every role. Most check only scripts that were
// fully parsed: others may do anything.
func checkRoles(p *program.Program, a *binding.Analysis, rules []*Rule, profile *Profile, diags *source.Diagnostics) {
	l := &roles{analysis: a, diags: &source.Diagnostics{}}
	defer l.report(diags)
	for role := range p.Roles {
		for _, r := range rules {
			if r.Role != nil {
				began := profile.Begin()
				r.Role(l, role)
				profile.add(r, began)
			}
		}
	}
}

// read says whether a role's source was parsed.
func read(role *program.Role) bool { return role.Meaning != nil && role.Meaning.Sequence != nil }

// report reports the findings. One that members of a group, or uses of a template, have in
// common is reported for the first. Places are compared as strings, since each member's
// script is a file of its own, and with the role that a note names, since one line may
// contain two scripts.
func (l *roles) report(diags *source.Diagnostics) {
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

// roles is one run of the rules about roles.
type roles struct {
	analysis *binding.Analysis
	diags    *source.Diagnostics
	readers  map[contract.CellName][]*program.Input // by cell; built when needed
	hooks    *source.Diagnostic                     // the only one of findHooksByHand
	inferred *types.Inference                       // built when needed
}

// types infers the types of expressions.
func (l *roles) types() *types.Inference {
	if l.inferred == nil {
		l.inferred = types.Infer(l.analysis)
	}
	return l.inferred
}

// readersOf are the inputs that wait for an output.
func (l *roles) readersOf(o *program.Output) []*program.Input {
	if l.readers == nil {
		l.readers = map[contract.CellName][]*program.Input{}
		for r := range l.analysis.Program.Roles {
			for in, bound := range l.analysis.Bound(r) {
				l.index(in, bound)
			}
		}
	}
	return l.readers[o.Cell()]
}

func (l *roles) index(in *program.Input, bound *binding.Bound) {
	seen := map[contract.CellName]bool{}
	for _, ref := range bound.References {
		if ref.Cell != "" && !seen[ref.Cell] {
			seen[ref.Cell] = true
			l.readers[ref.Cell] = append(l.readers[ref.Cell], in)
		}
	}
}

// names are the inputs that the steps of a role's files and source read, or the outputs
// that they write.
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

// sourceName names a role's source in messages.
func sourceName(role *program.Role) string {
	if len(role.Meaning.Files) == 1 && role.Meaning.Files[0].Name != "" {
		return role.Meaning.Files[0].Name
	}
	return "its script"
}
