package binding

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// DeployParameter is the parameter of a nested template through which values that only
// Heat knows reach the agents in it: a map by key.
const DeployParameter = "hotc_deploy"

// BetweenStacks is what the emitted templates need for references between stacks.
type BetweenStacks struct {
	// DeployArguments are the expressions, in the enclosing stack, whose values the members
	// of a stack resource get in hotc_deploy.
	DeployArguments map[*program.StackResource]map[string]*hot.Expr
	// Exports are the outputs added to a nested stack for roles' inputs elsewhere.
	Exports map[*program.Stack]map[string]*hot.Expr
	// Placeholders are properties that pass a role's output, which Heat cannot know,
	// to a parameter of the nested template.
	Placeholders map[*yaml.Node]*hot.Parameter
	// Removed are outputs of nested templates that need a role's output.
	Removed map[*hot.Output]bool
}

func newBetweenStacks() BetweenStacks {
	return BetweenStacks{DeployArguments: map[*program.StackResource]map[string]*hot.Expr{}, Exports: map[*program.Stack]map[string]*hot.Expr{}, Placeholders: map[*yaml.Node]*hot.Parameter{},
		Removed: map[*hot.Output]bool{}}
}

// addNamed adds an expression to those of a stack, or of a stack resource.
func addNamed[Of comparable](all map[Of]map[string]*hot.Expr, of Of, name string, e *hot.Expr) {
	if all[of] == nil {
		all[of] = map[string]*hot.Expr{}
	}
	if all[of][name] == nil {
		all[of][name] = e
	}
}

// Key derives a name from an expression that only Heat can resolve: different
// expressions have different names.
func Key(e *hot.Expr) string { return contract.Digest(value.EncodeJSON(Written(e)))[:12] }

// Written is an expression as the value that a template would contain.
func Written(e *hot.Expr) value.Value { return e.AsValue(nil) }

// exportUp turns an expression of a member into one of the enclosing stack.
func (b *binder) exportUp(n *program.StackResource, m *program.Member, e *hot.Expr) *hot.Expr {
	return Slots(e, func(x *hot.Expr) *hot.Expr {
		key := "hotc_" + Key(x)
		name := key
		b.effects.add(func() { addNamed(b.analysis.Exports, m.Stack, key, x) })
		switch {
		case n.Slots(): // all members decide alike; gather refuses other values
			return hot.NewItem(b.template.Version.AttributeCall(x.At, n.Resource.Name, program.OutputsList, name), n.Number(m))
		case n.Open(): // Heat may not have this member
			return hot.NewItem(b.template.Version.AttributeCall(x.At, n.Resource.Name, name), n.Number(m))
		case n.Group():
			name = "resource." + m.Name + "." + name
		}
		return b.template.Version.AttributeCall(x.At, n.Resource.Name, name)
	})
}

// passDown turns an expression of the stack that contains a stack resource into one of
// its members'.
func (b *binder) passDown(n *program.StackResource, e *hot.Expr) (*hot.Expr, error) {
	var err error
	out := Slots(e, func(x *hot.Expr) *hot.Expr {
		if own := b.dependOn(n, x); own != nil {
			err = &source.Diagnostic{Code: source.SelfReference, At: own.At, Message: "this needs a value of " + n.Resource.Name + " itself that Heat knows only once it exists",
				Hint: ownHint(n.In.Template, n.Definition(), own)}
			return x
		}
		key := Key(x)
		b.effects.add(func() { addNamed(b.analysis.DeployArguments, n, key, x) })
		return hot.ParameterCall(x.At, DeployParameter, key)
	})
	return out, err
}

// dependOn notes what a stack resource depends on for a value that it passes to its members.
// It returns the call that needs the stack resource itself, if there is one.
func (b *binder) dependOn(n *program.StackResource, e *hot.Expr) (own *hot.Expr) {
	path := n.OwnPath()
	for x := range e.Calls() {
		switch r := x.Ref(); {
		case !r.OfResource():
		case r.Name == n.Resource.Name:
			own = x
		default:
			b.effects.add(func() {
				if !slices.ContainsFunc(b.analysis.Edges[path], func(e Edge) bool { return e.Added && e.On == n.In.PathOf(r.Name) }) {
					b.analysis.Edges[path] = append(b.analysis.Edges[path], Edge{On: n.In.PathOf(r.Name), At: x.At, Added: true})
				}
			})
		}
	}
	return own
}

// inMember turns an input's expression into one of a group's member: the group's
// definition is evaluated in the enclosing stack.
func (b *binder) inMember(s *program.Server, e *hot.Expr) (*hot.Expr, error) {
	out, err := b.passDown(s.StackResource, e)
	if err != nil {
		return nil, err
	}
	return s.StackResource.Indexed(out, s.Member.Name), nil
}
