// Package rule contains the rules of `hotc lint`: what is wrong, or probably unintended, in
// a template. A rule is a value, in a file of its own, with test templates and their expected
// findings beside it (NAME.yaml, NAME.out); a line in rules.go registers it, and
// docs/rules/CODE.md is its page.
//
// A rule checks a template once, considering all its uses (Checker), or the roles of the
// whole program. It finds and never prints. Findings of earlier stages (invalid YAML, a
// dangling reference) are registered in stages.go, so that everything hotc reports about
// a template can be listed, selected and explained in one way.
package rule

import (
	"slices"
	"time"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Rule is one kind of finding in templates.
type Rule struct {
	Code     source.Code
	Category Category
	// Severity applies to what is certainly wrong; a finding that depends on unknown values
	// may be less severe.
	Severity source.Severity
	Evidence Evidence
	// LintOnly says that `hotc compile` does not report it.
	LintOnly bool
	// Whole says that it checks only programs without errors: an error may be the reason
	// why something looks unused.
	Whole bool
	// Everywhere says that a finding in a file counts only if it is found by way of every
	// root template from which the file is checked.
	Everywhere bool

	// Template checks a template, Role a role; both are nil where a stage finds it.
	Template func(*Checker)
	Role     func(*roles, *program.Role)
}

// Evidence is the evidence that a finding is right.
type Evidence uint8

// Stock Heat refuses the template; it accepts the template, but the result fails or does
// not do what it says; stock Heat's own tables say so; or the text itself shows it.
const (
	HeatRefuses Evidence = iota
	CreationFails
	HeatsTables
	TextShows
)

func (t Evidence) String() string {
	return [...]string{"Heat refuses it", "creation fails", "Heat's own tables say so", "the text shows it"}[t]
}

// Category is what a rule is about.
type Category string

// The categories.
const (
	Reading   Category = "reading"
	Language  Category = "language"
	Resources Category = "resources"
	Roles     Category = "roles"
	Order     Category = "order"
	Emission  Category = "emission"
	Style     Category = "style"
	UserData  Category = "user-data"
	Security  Category = "security"
)

// Of finds the rule of a code; nil if no rule or stage for templates has it.
func Of(code source.Code) *Rule {
	all := All()
	return lists.Find(all, func(r *Rule) bool { return r.Code == code })
}

// Pack is the rules of one community, which are opt-in. Packs have a folder of their own
// (analysis/rule/pack).
type Pack struct {
	Name, About string
	Rules       []*Rule
}

// Options selects the rules that run, and what they know.
type Options struct {
	Lint  bool    // include rules that matter only to `hotc lint`
	Packs []*Rule // the rules of the enabled packs
	// Environment is the merged environment files; nil to skip checking them.
	Environment *environment.Environment
	// Shell checks a shell script; nil to skip that.
	Shell func(script string) []Advice
	// Now is the current time; zero to skip checks of times.
	Now time.Time
	// Profile records how long rules take; nil to record nothing.
	Profile *Profile
}

// Check runs every selected rule that is not found by a stage.
func Check(p *program.Program, a *binding.Analysis, want Options, diags *source.Diagnostics) {
	whole := !diags.Failed()
	rules := lists.Only(slices.Concat(All(), want.Packs), func(r *Rule) bool { return (want.Lint || !r.LintOnly) && (whole || !r.Whole) })
	for _, l := range checkers(p) {
		l.Types, l.diags, l.lint, l.shell, l.environment, l.now = p.Types, diags, want.Lint, want.Shell, want.Environment, want.Now
		for _, t := range l.Typed() {
			l.valuesOf(t) // here, so that the profile charges no rule for what all share
		}
		for _, r := range rules {
			if l.rule = r; r.Template != nil {
				began := want.Profile.Begin()
				r.Template(l)
				want.Profile.add(r, began)
			}
		}
	}
	checkRoles(p, a, rules, want.Profile, diags)
}

// checkers returns the templates of a program, each with all its uses.
func checkers(p *program.Program) []*Checker {
	var out []*Checker
	of := map[*hot.Template]*Checker{}
	p.Root.WalkAll(func(s *program.Stack) {
		l := of[s.Template]
		if l == nil {
			l = &Checker{Program: p, Template: s.Template}
			of[s.Template] = l
			out = append(out, l)
		}
		l.Uses = append(l.Uses, s)
	})
	return out
}
