// Package secrecy follows secrets through expressions, value by value, from stack
// to stack (analysis/trace). A hidden parameter and an output that is declared
// secret are secret, and so is every expression with such a part, except a digest of it.
// There is no other taint: if a role derives a value from a secret, it has to declare
// its own output as secret.
//
// A secret must not reach a place that anyone with access to the stack can read: a
// stack's output, a resource's name, a log, a role's output that is not declared secret.
package secrecy

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Check reports secrets that reach a place where others can read them. A leak that
// several uses of a template have in common is reported once.
func Check(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	c := &checker{finder: finder(), diags: diags, reported: map[string]bool{}}
	c.properties(a)
	for _, s := range p.Stacks() {
		c.outputs(s, a)
		c.names(s)
	}
	for role := range p.Roles {
		for _, f := range role.Files {
			c.file(role, f)
		}
		c.log(role)
		c.environment(role, role.Meaning)
		for _, t := range role.Apart() {
			c.environment(role, t.Meaning)
		}
		for _, o := range role.Outputs {
			if o.Value != nil && !o.Secret {
				c.report(c.finder.Find(role.Stack, o.Value), fmt.Sprintf("output %q of role %s, which is not declared secret", o.Name, role.Key()), "declare it with `secret: true`")
			}
		}
	}
}

// Outputs are the stack's outputs that show a secret.
func Outputs(p *program.Program) map[string]bool {
	f, secret := finder(), map[string]bool{}
	for _, o := range p.Template.Outputs {
		secret[o.Name] = f.Find(p.Root, p.Template.Expr(o.Value)) != nil
	}
	return secret
}

// finder finds the path to a secret.
func finder() *trace.Finder {
	f := trace.NewFinder(isSecret, func(call *hot.Expr) bool { return call.Func.Meaning() == "digest" })
	f.SkipConditions = true
	return f
}

func isSecret(o trace.Origin) bool {
	return o.Parameter != nil && o.Parameter.Hidden || o.Output != nil && o.Output.Secret
}

type checker struct {
	finder *trace.Finder
	diags  *source.Diagnostics
	// reported are the places already reported. They are compared as strings: each member of a
	// group has its script from a file of its own.
	reported map[string]bool
}

// outputs checks a stack's outputs. One of a nested stack that needs a role's output is
// removed from the template: its value takes another path.
func (c *checker) outputs(s *program.Stack, a *binding.Analysis) {
	for _, o := range s.Template.Outputs {
		if a.Removed[o] {
			continue
		}
		c.report(c.finder.Find(s, s.Template.Expr(o.Value)), fmt.Sprintf("the stack's output %q, which anyone who can see the stack can read", o.Name),
			"remove it from the stack's outputs")
	}
}

func (c *checker) names(s *program.Stack) {
	hint := "derive the name from something else, or from a `digest` of it"
	if s.Template.Functions.Lookup("digest") == nil {
		hint = "derive the name from something else"
	}
	for _, r := range s.Template.Resources {
		if !s.Makes(r.Name) {
			continue
		}
		n := s.StackResourceOf(r.Name)
		if name := r.Property("name"); name != nil && (n == nil || n.Group()) { // of a nested stack it is a parameter
			c.report(c.finder.Find(s, s.Template.Expr(name)), fmt.Sprintf("the name of resource %q", r.Name), hint)
		}
		if n != nil && n.Inline() && n.Definition().Property("name") != nil {
			c.report(c.finder.Find(s, s.Template.Expr(n.Definition().Property("name"))), fmt.Sprintf("the names of the members of %q", r.Name), hint)
		}
	}
}

// properties refuses secret outputs in resource properties: they would pass through the
// stack's wait conditions, and stay readable there.
func (c *checker) properties(a *binding.Analysis) {
	for _, r := range a.PropertyReads {
		for _, o := range r.Outputs {
			if o.Secret {
				d := c.diags.Error(source.SecretLeak, r.Template.Place(r.Call), fmt.Sprintf("the secret output %q of role %s reaches resource %q through Heat, where anyone who can see the stack can read it",
					o.Name, o.Role.Key(), r.Resource), "pass it to a role's input instead")
				if path := c.finder.Find(r.In, r.In.Template.Expr(r.Call)); path != nil {
					d.Notes = append(d.Notes, path.Hops...)
				}
				d.Note(o.At, "the output is declared secret")
				break
			}
		}
	}
}

// file reports a secret in a file that every user of its server can read.
func (c *checker) file(role *program.Role, f *program.RoleFile) {
	if f.Mode == "" || (f.Mode[len(f.Mode)-1]-'0')&4 == 0 {
		return
	}
	if in := inputsBy(c.finder).InFile(role, f); in != nil {
		c.report(c.finder.Find(role.Stack, in.Expr), fmt.Sprintf("file %q of role %s, whose mode %s lets every user of the server read it", f.Path, role.Key(), f.Mode),
			"remove the mode, which then is 0600, or set a `group` and mode 0640")
	}
}

// log checks what a role's source prints. The agent removes secrets from the log that it
// keeps only where they appear verbatim, and only after the role has ended.
func (c *checker) log(role *program.Role) {
	if role.Meaning == nil || role.Meaning.Sequence == nil || len(role.Meaning.Sequence.Printed) == 0 {
		return
	}
	printed := role.Meaning.Sequence.Printed
	for _, in := range role.Inputs {
		at, named := printed[in.Name]
		hint := "do not print it, or redirect the output"
		if !named {
			if at, named = printed[""]; !named {
				continue
			}
			hint = "use `set +x` before the secret is used"
		}
		path := c.finder.Find(role.Stack, in.Expr)
		if path == nil {
			continue
		}
		place := role.At.String() + " " + at.String() // one line may contain two scripts
		if c.reported[place] {
			continue
		}
		c.reported[place] = true
		what, declared := describe(path.Origin)
		d := c.diags.Warning(source.SecretLeak, at, fmt.Sprintf("%s reaches the log of role %s, through input %q", what, role.Key(), in.Name), hint)
		d.Notes = append(append(append(d.Notes, source.Note{At: path.At, Message: "the input reads it"}), path.Hops...), declared)
	}
}

// Withhold takes secrets out of the environments into which a front-end has put what a source
// reads there, or may: other processes can read them there.
func Withhold(p *program.Program) {
	secret := OfInputs()
	for role := range p.Roles {
		for _, in := range role.Inputs {
			if in.EagerAt.Known() && secret.Secret(in) {
				in.Eager, in.EagerAt = false, source.Place{}
			}
		}
	}
}

// environment reports a secret that a source reads from its environment, or may: it is not put
// there unless the user asks for it.
func (c *checker) environment(role *program.Role, m *program.Meaning) {
	if m == nil {
		return
	}
	for _, in := range role.Inputs {
		read, is := m.Environment[in.Name]
		if !is || read.How == program.NotRead || in.EagerSaid {
			continue
		}
		path := c.finder.Find(role.Stack, in.Expr)
		if path == nil || c.reported[read.At.String()+" "+in.At.String()] {
			continue
		}
		c.reported[read.At.String()+" "+in.At.String()] = true
		_, declared := describe(path.Origin)
		other := fmt.Sprintf("run `hotc-agent get %s` and read its output, or open the file %s in the folder $hotc_inputs; `eager: true` on the input puts it into the environment nevertheless", in.Name, in.Name)
		var d *source.Diagnostic
		if read.How == program.ReadByName {
			d = c.diags.Error(source.SecretInEnvironment, read.At, fmt.Sprintf("role %s reads the secret input %q from its environment, which contains no secrets, as other processes could read them there", role.Key(), in.Name), other)
		} else {
			d = c.diags.Warning(source.SecretPerhapsRead, read.At, fmt.Sprintf("role %s may read the secret input %q from its environment here, which contains no secrets, as other processes could read them there", role.Key(), in.Name),
				other+"; `eager: false` says that the script does not read it there")
		}
		d.Notes = append(append(append(d.Notes, source.Note{At: path.At, Message: "the input reads it"}), path.Hops...), declared)
	}
}

func (c *checker) report(path *trace.Path, where, hint string) {
	if path == nil || c.reported[path.At.String()] {
		return
	}
	c.reported[path.At.String()] = true
	what, declared := describe(path.Origin)
	d := c.diags.Warning(source.SecretLeak, path.At, what+" reaches "+where, hint)
	d.Notes = append(append(d.Notes, path.Hops...), declared)
}

func describe(o trace.Origin) (what string, declared source.Note) {
	if o.Output != nil {
		return fmt.Sprintf("the secret output %q of role %s", o.Output.Name, o.Output.Role.Key()), source.Note{At: o.Output.At, Message: "the output is declared secret"}
	}
	return fmt.Sprintf("the hidden parameter %q", o.Parameter.Name), source.Note{At: o.Stack.Place(o.Parameter.Entry.Key), Message: "the parameter is hidden"}
}
