package hot

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// The references: calls that a Resolve function answers. Apply of a reference only
// checks its argument (heat/engine/hot/functions.py: GetParam, GetAttThenSelect,
// GetAtt, GetAttAllAttributes, GetResource, GetFile, ResourceFacade).

var (
	getParam    = &Function{Name: "get_param", Reference: true, refers: ToParameter, Apply: paramArgument}
	getResource = &Function{Name: "get_resource", Reference: true, refers: ToResource, Gives: contract.String, Apply: nameArgument("get_resource", "a resource")}
	getFile     = &Function{Name: "get_file", Reference: true, refers: ToFile, Apply: nameArgument("get_file", "a file")}

	// get_attr selects from the attribute's value in 2013-05-23, passes the whole path
	// to the resource since 2014-10-16, and can return all attributes of a resource
	// since 2015-10-15.
	getAttrThenSelect = &Function{Name: "get_attr", Reference: true, refers: ToAttribute, Check: sized("get_attr", 2, anyNumber, "the resource, the attribute and a path"), Apply: attrArgument(false, false), Lazy: foldThenSelect}
	getAttr           = &Function{Name: "get_attr", Reference: true, refers: ToAttribute, Check: sized("get_attr", 2, anyNumber, "the resource, the attribute and a path"), Apply: attrArgument(false, true), Positional: 2}
	getAttrAll        = &Function{Name: "get_attr", Reference: true, refers: ToAttribute, Check: checkGetAttrAll, Apply: attrArgument(true, true), Positional: 2, Lazy: foldAttributes}

	resourceFacade = &Function{Name: "resource_facade", Reference: true, HeatOnly: true,
		Check: checkFacade("resource_facade", "metadata", "deletion_policy", "update_policy")}
	yaql = &Function{Name: "yaql", HeatOnly: true, Check: checkYaql, Apply: applyYaql, Parts: []string{"expression", "data"}}
)

func paramArgument(_ *work, arg value.Value) (value.Value, error) {
	_, _, err := readParam(arg)
	return nil, err
}

// readParam checks get_param's argument: a parameter's name, or a list of that
// and a path into its value.
func readParam(arg value.Value) (name string, path []value.Value, err error) {
	switch arg := arg.(type) {
	case string:
		if arg != "" {
			return arg, nil, nil
		}
	case []value.Value:
		if len(arg) == 0 {
			break
		}
		if name, ok := arg[0].(string); ok {
			return name, arg[1:], nil
		}
		return "", nil, fmt.Errorf("get_param: the parameter's name must be a string, not %s", value.TypeName(arg[0]))
	}
	return "", nil, fmt.Errorf("get_param needs a parameter's name, or a list of the name and a path")
}

func nameArgument(function, what string) func(*work, value.Value) (value.Value, error) {
	return func(_ *work, arg value.Value) (value.Value, error) {
		if _, ok := arg.(string); !ok {
			return nil, fmt.Errorf("%s needs %s's name, not %s", function, what, value.TypeName(arg))
		}
		return nil, nil
	}
}

func checkGetAttrAll(arg *Expr) error {
	if n, ok := arg.size(); ok && n > 0 {
		return nil
	}
	if s, ok := arg.text(); ok && len(characters(s)) == 1 {
		return nil // Heat reads a string as a list of characters
	}
	return wants("get_attr", "a list of the resource, and optionally an attribute and a path", arg)
}

// attrArgument checks get_attr's argument by the rules of a version: null for all
// attributes, and which steps a path may have.
func attrArgument(all, pathToResource bool) func(*work, value.Value) (value.Value, error) {
	return func(_ *work, arg value.Value) (value.Value, error) {
		_, attribute, path, err := readAttr(arg)
		if err != nil {
			return nil, err
		}
		if _, ok := attribute.(string); !ok && (attribute != nil || !all) {
			return nil, fmt.Errorf("get_attr: the attribute's name must be a string, not %s", value.TypeName(attribute))
		}
		for _, step := range path {
			switch step.(type) {
			case []value.Value, *value.Dict:
				if pathToResource && attribute != nil {
					return nil, fmt.Errorf("get_attr: a step of the path cannot be %s", value.TypeName(step))
				}
			}
		}
		return nil, nil
	}
}

// foldThenSelect folds the path only if there is an attribute to select from: Heat
// only validates it if that is null.
func foldThenSelect(f *folder, call *Expr) (*Expr, error) {
	items, _ := call.arg.list()
	first, err := f.list(call, items[:2])
	if err != nil {
		return nil, err
	}
	parts, _ := first.list()
	rest, err := f.fold(&Expr{Kind: ListExpr, At: call.arg.At, Items: items[2:]})
	if err == nil {
		path, _ := rest.list()
		return f.applied(call, part{expr: (&Expr{Kind: ListExpr, At: call.arg.At, Items: slices.Concat(parts, path)}).collapse()})
	}
	attribute, attributeErr := f.applied(call, part{expr: first})
	switch {
	case attributeErr != nil:
		return nil, attributeErr
	case attribute.IsValue() && attribute.Value == nil:
		if settled, wrong := f.unusedParts(items[2:]); settled || wrong != nil {
			return attribute, wrong
		}
	case attribute.IsValue():
		return nil, err
	}
	return call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: slices.Concat(parts, items[2:])}), nil
}

// foldAttributes distinguishes a literal null, for all attributes, from a computed one,
// with which Heat fails.
func foldAttributes(f *folder, call *Expr) (*Expr, error) {
	arg, err := f.argument(call.Func, call.arg)
	if err != nil {
		return nil, err
	}
	if before := call.arg.Items; call.arg.Kind == ListExpr && len(before) > 1 && !before[1].IsValue() {
		after, _ := arg.at(call.arg.At).list()
		if len(after) > 1 && after[1].IsValue() && after[1].Value == nil {
			return nil, fmt.Errorf("get_attr: the attribute's name must be a string, not null")
		}
	}
	return f.applied(call, arg)
}

// readAttr checks get_attr's argument: the resource, the attribute (null for
// all of them) and the path.
func readAttr(arg value.Value) (resource string, attribute value.Value, path []value.Value, err error) {
	if s, ok := arg.(string); ok {
		return s, nil, nil, nil
	}
	list, _ := arg.([]value.Value)
	if len(list) == 0 {
		return "", nil, nil, fmt.Errorf("get_attr needs a list of the resource, the attribute and a path")
	}
	resource, ok := list[0].(string)
	if !ok {
		return "", nil, nil, fmt.Errorf("get_attr: the resource's name must be a string, not %s", value.TypeName(list[0]))
	}
	if len(list) == 1 {
		return resource, nil, nil, nil
	}
	return resource, list[1], list[2:], nil
}

func checkFacade(name string, allowed ...string) func(*Expr) error {
	return func(arg *Expr) error {
		if s, ok := arg.text(); ok && slices.Contains(allowed, s) || arg.Kind == CallExpr {
			return nil
		}
		return fmt.Errorf("%s needs one of %q", name, allowed)
	}
}

func checkYaql(arg *Expr) error {
	if !arg.isMap() {
		return wants("yaql", "a map with expression and data", arg)
	}
	expression, ok := arg.entry("expression")
	if !ok {
		return fmt.Errorf("yaql needs the key expression")
	}
	text, isText := expression.text()
	if expression.Kind != CallExpr && !isText {
		return wants("yaql: expression", "a string", expression)
	}
	if isText {
		if err := yaqlSyntax(text); err != nil {
			return err
		}
	}
	keys := arg.Keys
	if d, ok := arg.Value.(*value.Dict); ok {
		keys = d.Keys()
	}
	for _, k := range keys {
		if k != "expression" && k != "data" {
			return fmt.Errorf("yaql: unknown key %q; the keys are expression and data", k)
		}
	}
	return nil
}

// Select follows a path into a value as get_attr does: a missing step gives null
// (heat/engine/attributes.py, select_from_attribute).
func Select(v value.Value, path []value.Value) value.Value {
	for _, step := range path {
		var ok bool
		if v, ok = step1(v, step); !ok {
			return nil
		}
	}
	return v
}

// SelectParam follows a path into a parameter's value as get_param does: a missing step
// gives "", and a list's index may be a string.
func SelectParam(v value.Value, path []value.Value) value.Value {
	for _, step := range path {
		if s, isText := step.(string); isText {
			if _, isMap := v.(*value.Dict); !isMap {
				n, ok := value.ParseInteger(s)
				if !ok {
					return ""
				}
				step = n
			}
		}
		var ok bool
		if v, ok = step1(v, step); !ok {
			return ""
		}
	}
	return v
}

// step1 is Python's collection[key], for string and integer keys.
func step1(v, key value.Value) (value.Value, bool) {
	switch c := v.(type) {
	case *value.Dict:
		s, ok := key.(string)
		if !ok {
			return nil, false
		}
		return c.Get(s)
	case []value.Value:
		i, ok := position(key, len(c))
		if !ok {
			return nil, false
		}
		return c[i], true
	case string: // a sequence of characters
		runes := []rune(c)
		i, ok := position(key, len(runes))
		if !ok {
			return nil, false
		}
		return string(runes[i]), true
	}
	return nil, false
}

// position is an index into n items; negative ones count from the end.
func position(key value.Value, n int) (int, bool) {
	var i int64
	switch k := key.(type) {
	case int64:
		i = k
	case bool:
		if k {
			i = 1
		}
	default:
		return 0, false
	}
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

// meaningOfRef is the function that Ref means with this argument: that of a resource of
// the template, otherwise of a parameter (heat/engine/cfn/functions.py, Ref).
func (n *names) meaningOfRef(f *Function, arg *yaml.Node) *Function {
	name, ok := arg.Text()
	isResource := ok && n.isResource(name)
	switch {
	case !ok:
		return f
	case f == cfnRef && isResource:
		return refResource
	case f == cfnRef:
		return refParameter
	case isResource:
		return getResource
	}
	return getParam
}
