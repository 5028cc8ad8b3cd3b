// Package references checks every expression that Heat will evaluate: for unknown names,
// and for arguments that a function does not accept. Heat would find them after the
// upload, some of them in the middle of a deployment.
//
// Expressions in roles' blocks are checked by binding.
package references

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Check checks each template once.
func Check(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	uses := map[*hot.Template][]*program.Stack{}
	var templates []*hot.Template
	p.Root.WalkAll(func(s *program.Stack) {
		if uses[s.Template] == nil {
			templates = append(templates, s.Template)
		}
		uses[s.Template] = append(uses[s.Template], s)
	})
	for _, t := range templates {
		c := &checker{program: p, template: t, uses: uses[t], placeholders: a.Placeholders, off: a.SwitchedOff, looked: map[*yaml.Node]bool{}, diags: diags}
		c.check()
	}
	for _, server := range p.Servers {
		for _, role := range server.Roles {
			c := &checker{program: p, template: role.Stack.Template, uses: []*program.Stack{role.Stack}, diags: diags}
			for _, bound := range a.Bound(role) {
				c.attributes(bound.Expr)
				c.leftWithoutElse(bound.Expr)
			}
		}
	}
}

type checker struct {
	program  *program.Program
	template *hot.Template
	uses     []*program.Stack
	// placeholders are values that hotc replaces for Heat.
	placeholders map[*yaml.Node]*hot.Parameter
	off          map[source.Place]bool
	looked       map[*yaml.Node]bool
	inCondition  bool // inside the definition of a condition
	// inOutput says that Heat accepts what it cannot evaluate, and returns no value then.
	inOutput bool
	// unread says that Heat creates nothing of a resource, and so reads none of its properties: it
	// follows references to resources alone.
	unread bool
	diags  *source.Diagnostics
}

func (c *checker) check() {
	for _, r := range c.template.Resources {
		if c.absent(r.Name) {
			continue
		}
		_, severity := c.enabled(r.Condition)
		c.nameTwice(r, severity)
		for p := range lists.Find(c.uses, func(s *program.Stack) bool { return !s.Absent(r.Name) }).PlacesOf(r) {
			switch {
			case p.Kind == program.InDependsOn:
				c.dependsOn(p.Node, severity)
			case p.Entry != r.Condition && !c.looked[p.Node]: // an alias is checked once
				c.looked[p.Node] = true
				kind, _ := c.kind(r.Name)
				c.unread = p.Kind == program.InProperty && c.program.Types.DoesNothing(kind)
				c.calls(p.Node, severity)
				c.unread = false
				c.withoutElse(p.Node)
			}
		}
	}
	for _, o := range c.template.Outputs {
		if there, severity := c.enabled(o.Condition); there && o.Value != nil {
			c.inOutput = true
			c.calls(o.Value, severity)
			c.inOutput = false
		}
	}
	c.inCondition = true
	for _, condition := range c.template.Conditions {
		c.call(condition.Expr, source.Warning) // those in use are checked already
	}
}

// absent says whether a resource is absent in all uses of the template.
func (c *checker) absent(resource string) bool {
	return !slices.ContainsFunc(c.uses, func(s *program.Stack) bool { return !s.Absent(resource) })
}

// enabled says whether something exists, or may exist, and the severity of a mistake in it:
// Heat checks only what exists.
func (c *checker) enabled(condition *yaml.Entry) (bool, source.Severity) {
	if condition == nil {
		return true, source.Error
	}
	folded, err := c.fold(c.template.Enabled(condition))
	switch {
	case err != nil:
		c.wrong(err, source.Error)
	case folded.IsValue():
		return folded.Value == true, source.Error
	default:
		c.names(folded, source.Error)
	}
	return true, source.Warning
}

// fold evaluates an expression with the supplied values. Where a template has several uses,
// with values of their own, its parameters are left open.
func (c *checker) fold(e *hot.Expr) (*hot.Expr, error) {
	return hot.Fold(e, c.supplied)
}

func (c *checker) supplied(call *hot.Expr) (*hot.Expr, error) {
	r := call.Ref()
	if r.Kind == hot.ToFile && source.IsRemote(r.Name) {
		c.diags.NotFetched(call.At, r.Name)
		return call, nil
	}
	if len(c.uses) == 1 && r.Kind == hot.ToParameter {
		return c.uses[0].Supplied.Peek(call)
	}
	return call, nil
}

// calls checks all calls below a node, the outer ones first.
func (c *checker) calls(n *yaml.Node, severity source.Severity) {
	if n.Target() != nil || c.placeholders[n] != nil || c.off[c.template.Place(n)] {
		return // an alias is checked at its anchor
	}
	if r, is := c.template.NamedAt(n); is && r.Kind != hot.ToFile {
		c.reference(r, severity)
		return
	}
	if c.template.IsCall(n) {
		c.call(c.template.Expr(n), severity)
		return
	}
	for x := range n.Below() {
		c.calls(x, severity)
	}
}

func (c *checker) call(e *hot.Expr, severity source.Severity) {
	var seen []*hot.Expr
	folded, err := hot.Fold(e, func(call *hot.Expr) (*hot.Expr, error) {
		seen = append(seen, call)
		return c.supplied(call)
	})
	if err != nil {
		if (c.inOutput || c.unread) && e.Malformed() == nil {
			severity = source.Warning
		}
		c.wrong(err, severity)
		return
	}
	c.names(folded, severity)
	c.dropped(folded, seen, severity)
}

// dropped checks the references that folding has removed: their value does not matter, but
// Heat follows them nevertheless.
func (c *checker) dropped(folded *hot.Expr, seen []*hot.Expr, severity source.Severity) {
	references := 0
	for x := range folded.Calls() {
		if x.Func.Reference {
			references++
		}
	}
	if references == len(seen) {
		return // none was removed
	}
	left := map[source.Place]bool{}
	var open []source.Span // of what Heat may not evaluate
	for x := range folded.Calls() {
		left[x.At] = true
		if x.Func.Meaning() == "if" {
			open = append(open, x.At.Span)
		}
	}
	for _, call := range seen {
		switch {
		case left[call.At]:
		case slices.ContainsFunc(open, func(s source.Span) bool { return s.Contains(call.At.Span) }):
			c.reference(call.Ref(), source.Warning)
		default:
			c.reference(call.Ref(), severity)
		}
	}
}

// wrong reports why an expression cannot be evaluated.
func (c *checker) wrong(err error, severity source.Severity) {
	if wrong := (*hot.Error)(nil); errors.As(err, &wrong) {
		if c.inCondition && !wrong.NoCondition {
			severity = source.Error // Heat parses the arguments even of an unused condition
		}
		message := wrong.Message
		if wrong.Err != nil {
			message = wrong.Err.Error()
		}
		c.add(severity, source.BadArgument, wrong.At, message, "")
	}
}

// names checks the references that are left in an expression: those that Heat will follow.
func (c *checker) names(e *hot.Expr, severity source.Severity) {
	if e.Kind == hot.CallExpr {
		if e.Func.Meaning() == "if" {
			if choice, is := e.If(); is {
				in := c.inOutput
				c.inOutput = false // Heat evaluates conditions
				c.names(choice.Condition, severity)
				c.inOutput = in
			}
			severity = source.Warning // it is unknown which branch is taken
		}
		c.reference(e.Ref(), severity)
	}
	for x := range e.Inside() {
		c.names(x, severity)
	}
}

// reference checks that the named parameter or resource exists.
func (c *checker) reference(r hot.Ref, severity source.Severity) {
	if r.Name == "" && r.Computed {
		return
	}
	if c.inOutput && r.Kind != hot.ToAttribute || c.unread && r.Kind == hot.ToParameter {
		severity = source.Warning
	}
	switch r.Kind {
	case hot.ToParameter:
		c.parameter(r, severity)
	case hot.ToResource:
		c.find(r.At, r.Name, severity)
	case hot.ToAttribute: // binding checks outputs of roles and of nested stacks, and servers' attributes
		c.find(r.At, r.Name, severity)
		c.ofType(r, severity)
	}
}

func (c *checker) parameter(r hot.Ref, severity source.Severity) {
	if c.template.Parameter(r.Name) != nil || slices.Contains(c.template.Version.PseudoParameters(), r.Name) {
		return
	}
	known := append(c.template.Version.PseudoParameters(), c.template.ParameterNames()...)
	c.unknown(severity, source.UnknownParameter, r.At, fmt.Sprintf("there is no parameter %q", r.Name), r.Name, known)
}

// find checks that a resource exists.
func (c *checker) find(at source.Place, name string, severity source.Severity) {
	r := c.template.Resource(name)
	switch {
	case r == nil && c.template.Root.Get(c.template.Keywords().Resources).Get(name) != nil: // it exists, but is malformed
	case r == nil:
		known := c.template.ResourceNames()
		c.unknown(severity, source.UnknownResource, at, fmt.Sprintf("there is no resource %q", name), name, known)
	case c.absent(name):
		c.add(severity, source.UnknownResource, at, fmt.Sprintf("there is no resource %q: its condition is false", name), "").Note(c.template.Place(r.Condition.Value), "the condition")
	}
}

// nameTwice reports a resource with the name of a parameter, which Heat refuses
// (heat/engine/stack.py, validate).
func (c *checker) nameTwice(r *hot.Resource, severity source.Severity) {
	if p := c.template.Parameter(r.Name); p != nil {
		c.add(severity, source.NameTwice, c.template.Place(r.Entry.Key), fmt.Sprintf("a parameter is also named %q, which Heat refuses", r.Name), "rename one of them").Note(c.template.Place(p.Entry.Key), "the parameter")
	}
}

func (c *checker) dependsOn(n *yaml.Node, severity source.Severity) {
	for _, item := range n.OneOrMore() {
		// a name with a dot is a role, which binding checks
		if name, is := item.Text(); is && !strings.Contains(name, ".") && !c.absent(name) {
			c.find(c.template.Place(item), name, severity)
		}
	}
}

// unknown reports an unknown name, with the nearest known one.
func (c *checker) unknown(severity source.Severity, code source.Code, at source.Place, message, name string, known []string) *source.Diagnostic {
	d := c.add(severity, code, at, message, "")
	d.Meant(name, hot.Nearest(name, known))
	return d
}

// add adds a diagnostic, unless that place has an error already.
func (c *checker) add(severity source.Severity, code source.Code, at source.Place, message, hint string) *source.Diagnostic {
	d := &source.Diagnostic{Code: code, Severity: severity, At: at, Message: message, Hint: hint}
	if !c.diags.FailedAt(at) {
		c.diags.Add(d)
	}
	return d
}
