package hot

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// CheckFunctions finds uses of functions that this version of HOT lacks. A removed one
// is an error, as in Heat. A later one is data to Heat, so it is a warning, and only if
// its argument fits: a property may well be called `filter`.
func (t *Template) CheckFunctions(diags *source.Diagnostics) {
	c := functionChecker{t: t, diags: diags, later: map[string]*Function{}, gone: map[string]bool{}}
	for _, s := range functions {
		name := s.function.Name
		if s.from > t.Version && c.later[name] == nil {
			c.later[name] = s.function
		}
		last, _ := LastVersion(name)
		c.gone[name] = last < t.Version
	}
	for _, r := range t.Resources {
		for _, e := range r.Entry.Value.Entries {
			c.visit(e.Value, false)
		}
	}
	for _, o := range t.Outputs {
		c.visit(o.Value, false)
	}
}

type functionChecker struct {
	t     *Template
	diags *source.Diagnostics
	later map[string]*Function // of later versions
	gone  map[string]bool      // removed in this version
}

func (c *functionChecker) visit(n *yaml.Node, inBranch bool) {
	if n.Target() != nil {
		return // an alias: visited at its anchor
	}
	for _, x := range n.Items {
		c.visit(x, inBranch)
	}
	if len(n.Entries) == 1 {
		c.call(&n.Entries[0], inBranch)
		inBranch = inBranch || n.Entries[0].Name == "if"
	}
	for i := range n.Entries {
		if x := n.Entries[i].Value; x.Kind != yaml.Scalar {
			c.visit(x, inBranch)
		}
	}
}

func (c *functionChecker) call(e *yaml.Entry, inBranch bool) {
	f := c.t.Functions.Lookup(e.Name)
	if f != nil {
		c.checkConsumed(f, e.Value)
		if c.gone[e.Name] {
			d := c.diags.Error(source.UnknownFunction, c.t.Place(e.Key), f.Check(nil).Error(), replacementOf[e.Name])
			if inBranch {
				d.Severity = source.Warning // Heat never evaluates a branch not taken
			}
		}
		return
	}
	later := c.later[e.Name]
	if later == nil {
		return
	}
	arg := NewExpr(c.t.File, e.Value, c.t.Functions)
	if later.Check != nil && later.Check(arg) != nil || later.Check == nil && !arg.isList() {
		return
	}
	first, _ := FirstVersion(e.Name)
	if c.t.Version.CFN() {
		c.diags.Warning(source.UnknownFunction, c.t.Place(e.Key), fmt.Sprintf("%s is a function of HOT; in a CloudFormation template Heat reads it as data", e.Name),
			replacementInCFN[e.Name])
		return
	}
	c.diags.Warning(source.UnknownFunction, c.t.Place(e.Key),
		fmt.Sprintf("the function %s needs version %s or later; in %s Heat reads it as data", e.Name, first, c.t.Version),
		"raise heat_template_version to "+first.String()+", after checking that nothing else you use changes")
}

// checkConsumed warns of a list parameter as the whole argument of a function that
// removes items from it: Heat changes the parameter's own list
// (heat/engine/hot/functions.py: StrSplit and MapReplace, result), and evaluates a
// resource more than once.
func (c *functionChecker) checkConsumed(f *Function, arg *yaml.Node) {
	if f != strSplit && f != mapReplace {
		return
	}
	switch called, inner := c.t.callOf(arg); {
	case called == nil:
	case called.Meaning() == "if" && len(inner.Items) > 1:
		for _, branch := range inner.Items[1:] {
			c.checkConsumed(f, branch)
		}
	case called.refers == ToParameter:
		c.diags.Warning(source.BadArgument, c.t.Place(arg), fmt.Sprintf("%s empties the parameter's own list when Heat evaluates it, and Heat evaluates it more than once: this resource cannot be created", f.Name),
			fmt.Sprintf("write the argument of %s as a list, whose items are get_param with an index", f.Name))
	}
}

// replacementInCFN are the hints for CloudFormation templates.
var replacementInCFN = map[string]string{
	"get_param": "use Ref", "get_resource": "use Ref", "get_attr": "use Fn::GetAtt", "str_replace": "use Fn::Replace",
	"list_join": "use Fn::Join", "str_split": "use Fn::Split", "if": "use Fn::If", "resource_facade": "use Fn::ResourceFacade",
}

// replacementOf are the hints for removed functions.
var replacementOf = map[string]string{
	"Ref": "use get_param or get_resource", "Fn::Join": "use list_join", "Fn::Select": "use get_attr or get_param with an index",
	"Fn::Split": "use str_split, from 2015-10-15 on", "Fn::Replace": "use str_replace", "Fn::Base64": "remove it: it does nothing",
	"Fn::ResourceFacade": "use resource_facade",
}
