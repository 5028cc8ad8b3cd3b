package hot

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// The CloudFormation functions of early HOT versions (heat/engine/cfn/functions.py).
// Fn::Join, Fn::Split and Fn::Base64 are beside their HOT counterparts.

var (
	ref      = &Function{Name: "Ref", Reference: true, Check: checkRef, Apply: nameArgument("Ref", "a parameter or resource")}
	fnGetAZs = &Function{Name: "Fn::GetAZs", Reference: true, HeatOnly: true}

	fnSelect  = &Function{Name: "Fn::Select", Check: checkUnpacked("Fn::Select", 2, "the index and the collection"), Lazy: foldSelect}
	fnReplace = &Function{Name: "Fn::Replace", Check: checkFnReplace, Apply: applyFnReplace, Positional: everyItem}

	fnMemberListToMap = &Function{Name: "Fn::MemberListToMap", Check: checkMembers, Lazy: foldMembers}
	fnResourceFacade  = &Function{Name: "Fn::ResourceFacade", Reference: true, HeatOnly: true,
		Check: checkFacade("Fn::ResourceFacade", "Metadata", "DeletionPolicy", "UpdatePolicy")}
)

func checkRef(arg *Expr) error {
	if _, ok := arg.text(); !ok && (arg.Value != nil || !arg.IsValue()) { // null is no error before it is evaluated
		return wants("Ref", "the name of a parameter or resource", arg)
	}
	return nil
}

func checkUnpacked(name string, n int, what string) func(*Expr) error {
	return func(arg *Expr) error {
		if _, ok := unpacked(arg, n); !ok {
			return wants(name, "a list of "+what, arg)
		}
		return nil
	}
}

func foldSelect(f *folder, call *Expr) (*Expr, error) {
	written, _ := unpacked(call.arg, 2)
	parts, err := f.inPlace(written)
	if err != nil {
		return nil, err
	}
	index, from := parts[0], parts[1]
	if index.IsValue() && from.IsValue() {
		v, err := selectFrom(index.Value, from.Value)
		return Constant(v, call.At), err
	}
	if index.IsValue() && from.Kind == ListExpr && from.harmless() {
		n, _ := value.Integer(index.Value)
		if i, ok := position(n, len(from.Items)); ok {
			return from.Items[i], nil
		}
	}
	return call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: parts}), nil
}

func selectFrom(index, from value.Value) (value.Value, error) {
	if text, ok := from.(string); ok {
		if text == "" {
			return "", nil
		}
		v, err := yaml.DecodeJSON([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("Fn::Select: the string is not valid JSON: %w", err)
		}
		from = v
	}
	if d, ok := from.(*value.Dict); ok {
		key, isText := index.(string)
		if !isText {
			return nil, fmt.Errorf("Fn::Select: the index into a map must be a string, not %s", value.TypeName(index))
		}
		if v, ok := d.Get(key); ok {
			return v, nil
		}
		return "", nil
	}
	if f, ok := index.(float64); ok && f-f != 0 && f == f {
		return nil, fmt.Errorf("Fn::Select: the index is infinite")
	}
	switch list := from.(type) {
	case []value.Value:
		n, ok := value.Integer(index)
		if !ok {
			return nil, fmt.Errorf("Fn::Select: the index must be a number, not %s", shown(index))
		}
		if i, ok := position(n, len(list)); ok {
			return list[i], nil
		}
		return "", nil
	case nil:
		return "", nil
	}
	return nil, fmt.Errorf("Fn::Select selects from a list or map, not from %s", value.TypeName(from))
}

func checkFnReplace(arg *Expr) error {
	items, ok := arg.list()
	if !ok || len(items) != 2 {
		return wants("Fn::Replace", "a list of a map and the template", arg)
	}
	if items[0].Kind != CallExpr && !items[0].isMap() {
		return wants("Fn::Replace: the params", "to be a map", items[0])
	}
	return nil
}

func applyFnReplace(w *work, arg value.Value) (value.Value, error) {
	args := arg.([]value.Value)
	return replacing{name: "Fn::Replace"}.replace(w, args[1], args[0])
}

func checkMembers(arg *Expr) error {
	parts, ok := unpacked(arg, 3)
	if !ok {
		return wants("Fn::MemberListToMap", "a list of the key's name, the value's name and the list", arg)
	}
	for _, x := range parts[:2] {
		if _, isText := x.text(); !isText {
			return wants("Fn::MemberListToMap: the names", "to be strings", x)
		}
	}
	return nil
}

func foldMembers(f *folder, call *Expr) (*Expr, error) {
	parts, _ := unpacked(call.arg, 3)
	list, err := f.fold(parts[2])
	if err != nil {
		return nil, err
	}
	list = list.orNull()
	if !list.IsValue() {
		return call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: []*Expr{parts[0], parts[1], list}}), nil
	}
	v, err := membersToMap(parts[0].Value.(string), parts[1].Value.(string), list.Value)
	return Constant(v, call.At), err
}

var member = regexp.MustCompile(`^\.member\.([0-9]+)\.([^\n]*)`)

// membersToMap groups items such as ".member.1.Name=x" by their numbers
// (heat/api/aws/utils.py, extract_param_pairs).
func membersToMap(keyName, valueName string, from value.Value) (value.Value, error) {
	items, err := memberItems(from)
	if err != nil {
		return nil, err
	}
	groups := map[string]*value.Dict{}
	var numbers []string
	for _, name := range items.Keys() {
		m := member.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		number := strings.TrimLeft(m[1], "0")
		if groups[number] == nil {
			groups[number] = value.NewDict()
			numbers = append(numbers, number)
		}
		groups[number].Set(m[2], items.At(name))
	}
	slices.SortFunc(numbers, func(a, b string) int { return cmp.Or(len(a)-len(b), cmp.Compare(a, b)) })
	out := value.NewDict()
	for _, n := range numbers {
		k, hasKey := groups[n].Get(keyName)
		v, hasValue := groups[n].Get(valueName)
		if hasKey && hasValue {
			out.Set(k.(string), v)
		}
	}
	return out, nil
}

func memberItems(from value.Value) (*value.Dict, error) {
	var texts []value.Value
	switch from := from.(type) {
	case []value.Value:
		texts = from
	case *value.Dict:
		texts = value.Texts(from.Keys())
	case string:
		texts = value.Texts(characters(from))
	default:
		return nil, fmt.Errorf("Fn::MemberListToMap needs a list, not %s", value.TypeName(from))
	}
	items := value.NewDict()
	for _, x := range texts {
		s, ok := x.(string)
		name, value, hasValue := strings.Cut(s, "=")
		if !ok || !hasValue {
			return nil, fmt.Errorf("Fn::MemberListToMap: the items must be strings like .member.1.Name=x, not %s", shown(x))
		}
		items.Set(name, value)
	}
	return items, nil
}
