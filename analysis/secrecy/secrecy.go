// Package secrecy follows secrets through expressions, value by value. A hidden
// parameter and an output that is declared secret are secret, and so is every
// expression with such a part; a digest of it is not. Nothing else becomes secret
// by contagion: what a role makes of a secret is for its outputs to declare.
//
// A secret must not reach what anybody with access to the stack can read: a
// stack's output, a resource's name, a role's output that is not declared secret.
package secrecy

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Check reports secrets that reach a place where others can read them.
func Check(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	properties(a, diags)
	t := &tracer{program: p}
	for _, o := range p.Template.Outputs {
		t.report(t.trace(p.Template.Expr(o.Value), nil), fmt.Sprintf("the stack's output %q, which anybody who may see the stack can read", o.Name),
			"leave it out of the stack's outputs", diags)
	}
	for _, r := range p.Template.Resources {
		if n := r.Property("name"); n != nil {
			t.report(t.trace(p.Template.Expr(n), nil), fmt.Sprintf("the name of resource %q", r.Name), "name it by something else, or by a `digest` of it", diags)
		}
	}
	for _, s := range p.Servers {
		for _, role := range s.Roles {
			for _, o := range role.Outputs {
				if o.Value != nil && !o.Secret {
					t.report(t.trace(o.Value, nil), fmt.Sprintf("output %q of role %s, which is not declared secret", o.Name, role.Key()), "declare it `secret: true`", diags)
				}
			}
		}
	}
}

// properties refuses secret outputs in what Heat makes resources of: they would have
// to travel, and stay, readable in the stack's wait conditions.
func properties(a *binding.Analysis, diags *source.Diagnostics) {
	for _, r := range a.PropertyReads {
		for _, o := range r.Outputs {
			if o.Secret {
				d := diags.Error(source.SecretLeak, r.Template.Place(r.Call), fmt.Sprintf("the secret output %q of role %s reaches resource %q, and on its way Heat, where anybody who may see the stack can read it",
					o.Name, o.Role.Key(), r.Resource), "give it to a role's input instead")
				d.Notes = append(d.Notes, source.Note{At: o.At, Message: "the output is declared secret"})
				break
			}
		}
	}
}

// leak is the way from a use back to a secret.
type leak struct {
	at    source.Place // of the reference at the use
	what  string
	trace []source.Note
}

type tracer struct{ program *program.Program }

// trace finds the first secret in an expression; nil if there is none.
func (t *tracer) trace(e *hot.Expr, through []*program.Output) *leak {
	var found *leak
	e.Walk(func(x *hot.Expr) bool {
		if found != nil || x.Kind == hot.CallExpr && x.Func.Meaning() == "digest" {
			return false
		}
		if x.Kind == hot.CallExpr {
			found = t.reference(x, through)
		}
		return found == nil
	})
	return found
}

func (t *tracer) reference(call *hot.Expr, through []*program.Output) *leak {
	first, second := names(call.Arg())
	switch call.Func.Meaning() {
	case "get_param":
		if p := t.program.Template.Parameter(first); p != nil && p.Hidden {
			return &leak{at: call.At, what: fmt.Sprintf("the hidden parameter %q", first),
				trace: []source.Note{{At: t.program.Template.Place(p.Entry.Key), Message: "the parameter is hidden"}}}
		}
	case "get_attr":
		s := t.program.Server(first)
		if s == nil || s.Output(second) == nil {
			return nil
		}
		o := s.Output(second)
		if o.Secret {
			return &leak{at: call.At, what: fmt.Sprintf("the secret output %q of role %s", o.Name, o.Role.Key()),
				trace: []source.Note{{At: o.At, Message: "the output is declared secret"}}}
		}
		for _, seen := range through {
			if seen == o {
				return nil
			}
		}
		if o.Value == nil {
			return nil
		}
		if l := t.trace(o.Value, append(through, o)); l != nil {
			l.trace = append([]source.Note{{At: l.at, Message: fmt.Sprintf("by output %q of role %s", o.Name, o.Role.Key())}}, l.trace...)
			l.at = call.At
			return l
		}
	}
	return nil
}

// names are the first two names of a reference's argument.
func names(arg *hot.Expr) (first, second string) {
	text := func(i int) string {
		switch v := arg.Value.(type) {
		case string:
			if i == 0 {
				return v
			}
		case []hot.Value:
			if i < len(v) {
				s, _ := v[i].(string)
				return s
			}
		}
		if arg.Kind == hot.ListExpr && i < len(arg.Items) {
			s, _ := arg.Items[i].Value.(string)
			return s
		}
		return ""
	}
	return text(0), text(1)
}

func (t *tracer) report(l *leak, where, hint string, diags *source.Diagnostics) {
	if l == nil {
		return
	}
	d := diags.Warning(source.SecretLeak, l.at, fmt.Sprintf("%s reaches %s", l.what, where), hint)
	d.Notes = l.trace
}
