package binding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// A hidden parameter that the user names with --secret-param bypasses Heat: `hotc
// apply` supplies its value, sealed to the servers whose roles read it. To roles it
// is an ordinary cell. Heat gets a placeholder in its place, so nothing that Heat
// evaluates may need it.

// secretParameters finds the parameters named with --secret-param.
func (b *binder) secretParameters() {
	b.secretParams = map[string]*hot.Parameter{}
	for _, name := range b.options.SecretParameters {
		p := b.program.Template.Parameter(name)
		switch {
		case p == nil:
			b.unknownSecret(name)
		case !p.Hidden:
			b.diags.Error(source.SecretParameter, b.program.Template.Place(p.Entry.Key), fmt.Sprintf("`--secret-param` names the parameter %q, but it is not hidden", name),
				fmt.Sprintf("set `%s: true` to keep its value secret everywhere", b.program.Template.Keywords().Hidden))
		default:
			b.secretParams[name] = p
		}
	}
	b.analysis.Secrets = lists.Only(b.program.Template.Parameters, func(p *hot.Parameter) bool { return b.secretParams[p.Name] != nil })
}

func (b *binder) unknownSecret(name string) {
	hidden := lists.Map(lists.Only(b.program.Template.Parameters, func(p *hot.Parameter) bool { return p.Hidden }), func(p *hot.Parameter) string { return p.Name })
	hint := "the template has no hidden parameter"
	if len(hidden) > 0 {
		hint = hot.DidYouMean(name, hidden, "the hidden parameters are "+strings.Join(hidden, ", "))
	}
	b.diags.Error(source.UnknownParameter, source.Place{}, fmt.Sprintf("--secret-param: the template has no parameter %q", name), hint)
}

// secretParameter is the parameter that a call gets, if `hotc apply` supplies it; otherwise nil.
func (b *binder) secretParameter(call *hot.Expr) *hot.Parameter {
	if b.stack != b.program.Root || len(b.secretParams) == 0 {
		return nil
	}
	return b.secretParams[call.Ref().Name]
}

// inUserData warns of a secret that Heat puts into the user_data of the role's server: a
// hidden parameter, perhaps passed down from an enclosing stack, or a random string.
func (b *binder) inUserData(call *hot.Expr) {
	if b.reader == nil {
		return
	}
	if b.hidden == nil {
		b.hidden = trace.NewFinder(func(o trace.Origin) bool { return o.Parameter != nil && o.Parameter.Hidden || o.Secret != nil }, nil)
	}
	path := b.hidden.Find(b.stack, call)
	if path == nil {
		return
	}
	what, hint := "", "if it is a secret, generate it in a role that writes it as an output with `secret: true`, or supply it with --secret-param"
	switch {
	case path.Secret != nil:
		what = fmt.Sprintf("the secret value of %q", path.Secret.Name)
	case call.Ref().Kind == hot.ToParameter:
		what = fmt.Sprintf("the hidden parameter %q", call.Ref().Name)
	default:
		what = fmt.Sprintf("the hidden parameter %q", path.Parameter.Name)
	}
	if path.Parameter != nil && path.Stack == b.program.Root {
		hint = fmt.Sprintf("compile with --secret-param %s, and supply it, sealed, with `hotc apply --secret-param %s=FILE`", path.Parameter.Name, path.Parameter.Name)
	}
	b.diags.Warning(source.HiddenInUserData, call.At, fmt.Sprintf("%s reaches input %q through the server's user_data, which any process there can read from the metadata service", what, b.reader.Name), hint)
}

// checkSecretParameters refuses uses by Heat of parameters that `hotc apply` supplies.
func (b *binder) checkSecretParameters() {
	if len(b.secretParams) == 0 {
		return
	}
	find := trace.NewFinder(func(o trace.Origin) bool {
		return o.Parameter != nil && o.Stack == b.program.Root && b.secretParams[o.Parameter.Name] == o.Parameter
	}, nil)
	told := map[string]bool{}
	b.program.Root.Walk(func(s *program.Stack) {
		refuse := func(what string, n *yaml.Node) {
			path := find.Find(s, s.Template.Expr(n))
			if path == nil || told[path.Parameter.Name] {
				return
			}
			told[path.Parameter.Name] = true
			d := b.diags.Error(source.SecretParameter, path.At, fmt.Sprintf("%s needs the parameter %q, which `hotc apply --secret-param` passes to roles only", what, path.Parameter.Name),
				"read it in roles only; or omit --secret-param: then Heat gets it, and puts it into the user_data of the roles' servers")
			d.Notes = append(append(d.Notes, path.Hops...), source.Note{At: b.program.Template.Place(path.Parameter.Entry.Key), Message: "the parameter"})
		}
		b.in(s).visitHeatUses(refuse)
	})
	b.unreadSecrets()
}

// unreadSecrets warns of parameters that no role reads.
func (b *binder) unreadSecrets() {
	read := map[contract.CellName]bool{}
	for _, bound := range b.analysis.Inputs {
		for _, cell := range bound.Expr.Cells() {
			read[cell] = true
		}
	}
	for _, p := range b.analysis.Secrets {
		if !read[contract.SecretCell(p.Name)] {
			b.diags.Warning(source.SecretParameter, b.program.Template.Place(p.Entry.Key), fmt.Sprintf("no role reads the parameter %q: `hotc apply` will not ask for it", p.Name), "")
		}
	}
}

// visitHeatUses visits everything that Heat evaluates in a stack, except properties that
// only pass values to roles of a nested stack.
func (b *binder) visitHeatUses(visit func(what string, n *yaml.Node)) {
	for p := range b.stack.Places {
		what := "a condition"
		switch {
		case p.Resource != nil:
			what = fmt.Sprintf("the resource %q", p.Resource.Name)
		case p.Kind == program.InOutput:
			what = fmt.Sprintf("the output %q", p.Output.Name)
		}
		switch {
		case p.Kind == program.InOutput && b.stack.StackResource != nil && b.analysis.Removed[p.Output]:
		case p.Kind == program.InArgument && !b.heatNeeds(p.StackResource, p.Entry.Name):
			b.passesSecret(p.StackResource, p.Entry)
		default:
			visit(what, p.Node)
		}
	}
}

// passesSecret puts a placeholder where the root passes on a parameter that Heat does
// not have. A nested stack passes on the placeholder.
func (b *binder) passesSecret(n *program.StackResource, e *yaml.Entry) {
	if b.stack != b.program.Root {
		return
	}
	mentioned := slices.ContainsFunc(b.analysis.Secrets, func(p *hot.Parameter) bool { return mentions(b.template, e.Value, p.Name) })
	if p := n.First().Stack.Template.Parameter(e.Name); mentioned && p != nil {
		b.analysis.Placeholders[e.Value] = p
	}
}
