package heat

import (
	"github.com/hotc-dev/hotc/compiler/hot"
)

// language says what hotc adds in the words and functions of a template's version.
type language struct{ version hot.Version }

func (l language) words() *hot.Words { return l.version.Words() }

// parameter is a parameter's value.
func (l language) parameter(name string) tree {
	if l.version.CFN() {
		return dict("Ref", name)
	}
	return dict("get_param", name)
}

// id is a resource's reference id.
func (l language) id(resource string) tree {
	if l.version.CFN() {
		return dict("Ref", resource)
	}
	return dict("get_resource", resource)
}

// attribute is an attribute of a resource, or what a path leads to in it: maps by
// name, which may be JSON in a text where the template is one of CloudFormation.
func (l language) attribute(resource, name string, path ...hot.Value) tree {
	if l.version.CFN() {
		return l.part(dict("Fn::GetAtt", []hot.Value{resource, name}), path...)
	}
	return dict("get_attr", append([]hot.Value{resource, name}, path...))
}

// part selects from a value, with a function that only CloudFormation has.
func (l language) part(from tree, path ...hot.Value) tree {
	for _, key := range path {
		from = dict("Fn::Select", []hot.Value{key, from})
	}
	return from
}

// choice is an `if`.
func (l language) choice(condition, then, otherwise tree) tree {
	name := "if"
	if l.version.CFN() {
		name = "Fn::If"
	}
	return dict(name, []hot.Value{condition, then, otherwise})
}

func (l language) join(delimiter string, items ...hot.Value) tree {
	if l.version.CFN() {
		return dict("Fn::Join", []hot.Value{delimiter, items})
	}
	return dict("list_join", []hot.Value{delimiter, items})
}

// filled is a template with texts put in.
func (l language) filled(template tree, params *hot.Dict) tree {
	if l.version.CFN() {
		return dict("Fn::Replace", []hot.Value{params, template})
	}
	return section{dict("str_replace", section{dict("template", template, "params", section{params})})}
}

// resource is a resource of hotc's own.
func (l language) resource(typeName string, properties tree, dependsOn ...hot.Value) section {
	w := l.words()
	d := dict(w.Type, typeName)
	if len(dependsOn) > 0 {
		d.Set(w.DependsOn, dependsOn)
	}
	d.Set(w.Properties, properties)
	return section{d}
}

// stackName and stackID are the template's own stack's. CloudFormation knows the id
// as the end of an ARN: arn:openstack:heat::TENANT:stacks/NAME/ID.
func (l language) stackName() tree {
	if l.version.CFN() {
		return l.parameter(hot.CFNStackName)
	}
	return l.parameter(hot.StackName)
}

func (l language) stackID() tree {
	if l.version.CFN() {
		return l.part(dict("Fn::Split", []hot.Value{"/", l.parameter(hot.CFNStackID)}), int64(2))
	}
	return l.parameter(hot.StackID)
}

// declaration is what hotc says of a parameter of its own; a null default is none.
type declaration struct {
	kind, description string
	preset            hot.Value
	hidden            bool
	pattern           string // that the value must match
	patternIs         string
}

// declare writes a declaration.
func (l language) declare(p declaration) *hot.Dict {
	kind, w := p.kind, l.words()
	if l.version.CFN() {
		kind = hot.CFNType(kind)
	}
	d := dict(w.Type, kind)
	if p.preset != nil {
		d.Set(w.Default, p.preset)
	}
	if p.hidden {
		d.Set(w.Hidden, true)
	}
	d.Set(w.Description, p.description)
	switch {
	case p.pattern == "":
	case l.version.CFN():
		d.Set("AllowedPattern", p.pattern)
		d.Set("ConstraintDescription", p.patternIs)
	default:
		d.Set("constraints", []hot.Value{dict("allowed_pattern", p.pattern, "description", p.patternIs)})
	}
	return d
}
