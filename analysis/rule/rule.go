// Package rule holds the rules of `hotc lint`: what is wrong with a template, or hardly
// meant. A rule is a value, in a file of its own, with its templates and what is found in
// them beside it (NAME.yaml, NAME.out); a line in rules.go registers it, and
// docs/rules/CODE.md is its page.
//
// A rule looks at a template once, in the light of all its uses (Look), or at the roles of
// the whole program. It finds and never prints. What the stages before it find wrong (a
// text that is not valid YAML, a reference that leads nowhere) has its line in stages.go, so that
// all that hotc says of a template can be listed, chosen and explained in one way.
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

// Rule is one thing that hotc finds in templates.
type Rule struct {
	Code     source.Code
	Category Category
	// Severity is that of what is surely wrong; a finding that depends on what is not known
	// yet may be less.
	Severity source.Severity
	Truth    Truth
	// LintOnly says that `hotc compile` has nothing to say of it.
	LintOnly bool
	// Whole says that it looks only at programs without errors: one may be why something
	// looks unused.
	Whole bool
	// Everywhere says that what is found in a file holds only if it is found with every
	// template by way of which the file is looked at.
	Everywhere bool

	// Template looks at a template, Role at a role; both are nil where a stage finds it.
	Template func(*Look)
	Role     func(*roles, *program.Role)
}

// Truth is how it is known that a finding is right.
type Truth uint8

// How it is known: stock Heat refuses the template; it takes it, and what it makes of it
// fails, or does not what it says; stock Heat's own tables say so; or it is there for
// everybody to read.
const (
	HeatRefuses Truth = iota
	CreationFails
	HeatsTables
	TextShows
)

func (t Truth) String() string {
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

// Of finds the rule of a code; nil if hotc's stages that look at templates have none.
func Of(code source.Code) *Rule {
	all := All()
	return lists.Find(all, func(r *Rule) bool { return r.Code == code })
}

// Pack is the rules of one community, which look only where they are wanted. They lie in a
// folder of their own (analysis/rule/pack).
type Pack struct {
	Name, About string
	Rules       []*Rule
}

// Wanted says which rules look.
type Wanted struct {
	Lint  bool    // those, too, of which a deployment is none the worse
	Packs []*Rule // of the packs that are on
	// Environment is what the environment files say; nil if that is no matter.
	Environment *environment.Environment
	// Shell looks at a script of a shell; nil if nothing is to.
	Shell func(script string) []Advice
	// Now is what the time is; zero if that is no matter.
	Now time.Time
	// Profile takes down how long rules take; nil if nobody asks.
	Profile *Profile
}

// Check looks at a program by every rule that is wanted, and is not found by a stage.
func Check(p *program.Program, a *binding.Analysis, want Wanted, diags *source.Diagnostics) {
	whole := !diags.Failed()
	rules := lists.Only(slices.Concat(All(), want.Packs), func(r *Rule) bool { return (want.Lint || !r.LintOnly) && (whole || !r.Whole) })
	for _, l := range looks(p) {
		l.Types, l.diags, l.lint, l.shell, l.environment, l.now = p.Types, diags, want.Lint, want.Shell, want.Environment, want.Now
		for _, t := range l.Typed() {
			l.valuesOf(t) // here, so that no rule seems to take what all are given
		}
		for _, r := range rules {
			if l.rule = r; r.Template != nil {
				began := want.Profile.Begin()
				r.Template(l)
				want.Profile.look(r, began)
			}
		}
	}
	checkRoles(p, a, rules, want.Profile, diags)
}

// looks are the templates of a program, each with all its uses.
func looks(p *program.Program) []*Look {
	var out []*Look
	of := map[*hot.Template]*Look{}
	p.Root.WalkAll(func(s *program.Stack) {
		l := of[s.Template]
		if l == nil {
			l = &Look{Program: p, Template: s.Template}
			of[s.Template] = l
			out = append(out, l)
		}
		l.Uses = append(l.Uses, s)
	})
	return out
}
