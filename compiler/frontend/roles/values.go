package roles

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// inputOptions are the keys of an input's detailed form, with `value` or `fact`.
var inputOptions = []string{"value", "fact", "type", "default", "optional", "timeout", "if_down", "eager", "watch", "at_least", "bind"}

// isDetailed distinguishes an input's detailed form from a value that is a map.
func isDetailed(n *yaml.Node) bool {
	return isMapOf(n, "value", inputOptions) || isMapOf(n, "fact", inputOptions)
}

// isMapOf reports whether a node is a map with a key, and otherwise only keys of a list.
func isMapOf(n *yaml.Node, key string, of []string) bool {
	return n.Kind == yaml.Map && n.Get(key) != nil && !slices.ContainsFunc(n.Entries, func(e yaml.Entry) bool { return !slices.Contains(of, e.Name) })
}

func (l *lowering) inputs(role *program.Role, n *yaml.Node) {
	for _, e := range n.All() {
		in := &program.Input{Role: role, Name: e.Name, At: l.template.Place(e.Key)}
		value := e.Value
		if isDetailed(value) {
			if !l.check(inputSchema(), value, "input "+e.Name) {
				continue
			}
			l.inputOptions(in, value)
			if fact := value.Get("fact"); fact != nil {
				at := l.template.Place(fact)
				in.Expr = hot.NewCall(hot.OwnFact, at, hot.Constant(fact.Data(), at))
			}
			value = value.Get("value")
		}
		if in.Expr == nil {
			l.misspelt(value)
			l.yesNo(fmt.Sprintf("input %q", e.Name), value)
			in.Expr = l.template.Expr(value)
		}
		role.Inputs = append(role.Inputs, in)
	}
}

func (l *lowering) inputOptions(in *program.Input, n *yaml.Node) {
	if d := n.Get("default"); d != nil {
		e, err := hot.Fold(l.template.Expr(d), l.given.Resolve)
		switch {
		case err != nil:
			hot.Report(l.diags, source.BadArgument, l.template.Place(d), err)
		case !e.IsValue():
			l.diags.Error(source.BadMetadata, l.template.Place(d), fmt.Sprintf("the default of input %q must be known when compiling", in.Name), "")
		default:
			in.Default, in.HasDefault = e.Value, true
		}
	}
	in.Optional = n.Get("optional").IsTrue()
	in.Eager, in.EagerSaid = n.Get("eager").IsTrue(), n.Get("eager") != nil
	if n.Get("watch").IsTrue() {
		in.WatchAt = l.template.Place(n.Entry("watch").Key)
	}
	if least := n.Entry("at_least"); least != nil {
		number, _ := least.Value.Value.(int64)
		in.AtLeast, in.AtLeastAt = int(number), l.template.Place(least.Key)
	}
	in.Timeout = seconds(n.Get("timeout"))
	in.IfDown = seconds(n.Get("if_down"))
	bind, _ := n.Get("bind").Text()
	in.Bind = contract.Time(bind)
	in.Type = typeOf(n)
}

// typeOf returns the declared type of an input or output; "" if none.
func typeOf(n *yaml.Node) contract.Type {
	text, _ := n.Get("type").Text()
	return contract.Type(text)
}

func (l *lowering) outputs(role *program.Role, n *yaml.Node) {
	for _, e := range n.All() {
		o := &program.Output{Role: role, Name: e.Name, Attribute: e.Name, At: l.template.Place(e.Key), Secret: e.Value.Get("secret").IsTrue()}
		at := o.At
		if a := e.Value.Get("attribute"); a != nil {
			o.Attribute, _ = a.Text()
			at = l.template.Place(a)
		}
		o.Type = typeOf(e.Value)
		if v := e.Value.Get("value"); v != nil {
			l.misspelt(v)
			l.yesNo(fmt.Sprintf("output %q", e.Name), v)
			o.Value = l.template.Expr(v)
		}
		o.Resource, _ = e.Value.Get("resource").Text()
		o.AtEnd = e.Value.Get("publish") != nil
		if serverType.Gives(o.Attribute) {
			l.diags.Error(source.AttributeTaken, at, fmt.Sprintf("%q is an attribute that Heat gives every server", o.Attribute),
				fmt.Sprintf("rename the output, or only its attribute: `%s: {attribute: my_%s}`", o.Name, o.Attribute))
			continue
		}
		if taken := role.Server.Declare(o); taken != nil {
			l.diags.Error(source.DuplicateOutput, at, fmt.Sprintf("server %q already has an output %q", role.Server.Path, o.Attribute), "rename one of them with `attribute:`").Note(taken.At, "declared by role "+taken.Role.Name)
			continue
		}
		role.Outputs = append(role.Outputs, o)
	}
}

// seconds reads a validated duration; nil is 0.
func seconds(n *yaml.Node) float64 {
	if n == nil {
		return 0
	}
	switch v := n.Value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case string:
		unit := map[byte]float64{'s': 1, 'm': 60, 'h': 3600}[v[len(v)-1]]
		f, _ := strconv.ParseFloat(v[:len(v)-1], 64)
		return f * unit
	}
	return 0
}
