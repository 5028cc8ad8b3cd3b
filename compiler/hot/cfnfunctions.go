package hot

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// The functions of CloudFormation templates alone
// (heat/engine/cfn/functions.py: FindInMap, Ref, ParamRef, GetAtt, If, Equals, Not,
// And, Or). Most are HOT's under another name.

var (
	// cfnRef is the table's entry; each call is read as one of the next two.
	cfnRef       = &Function{Name: "Ref", Reference: true, Check: checkRef}
	refParameter = &Function{Name: "Ref", means: "get_param", Reference: true, refers: ToParameter, Apply: nameArgument("Ref", "a parameter")}
	refResource  = &Function{Name: "Ref", means: "get_resource", Reference: true, refers: ToResource, Apply: nameArgument("Ref", "a resource")}

	fnGetAtt = &Function{Name: "Fn::GetAtt", means: "get_attr", Reference: true, refers: ToAttribute, Apply: attrArgument(false, false),
		Check: checkUnpacked("Fn::GetAtt", 2, "the resource and the attribute"), Lazy: foldGetAtt}

	fnFindInMap = &Function{Name: "Fn::FindInMap", Lazy: foldFindInMap, usesNames: true,
		Check: checkUnpacked("Fn::FindInMap", 3, "the mapping, the key and the value's name")}

	fnIf = &Function{Name: "Fn::If", means: "if", Check: sized("Fn::If", 3, 3, branchesOfIf), Lazy: foldIf, usesNames: true}

	fnEquals = &Function{Name: "Fn::Equals", Gives: contract.Boolean, means: "equals", Check: sized("Fn::Equals", 2, 2, "two values"), Apply: applyEquals,
		Positional: everyItem}
	fnNot = &Function{Name: fnNotName, Gives: contract.Boolean, means: "not", Check: sized("Fn::Not", 1, 1, "one condition"), Lazy: foldNot, usesNames: true}
	fnAnd = &Function{Name: "Fn::And", Gives: contract.Boolean, means: "and", Check: sized("Fn::And", 2, anyNumber, "at least two conditions"), Lazy: foldAll(false), usesNames: true}
	fnOr  = &Function{Name: "Fn::Or", Gives: contract.Boolean, means: "or", Check: sized("Fn::Or", 2, anyNumber, "at least two conditions"), Lazy: foldAll(true), usesNames: true}
)

// cfnFunctions are the functions of expressions (heat/engine/cfn/template.py, the
// `functions` of each class).
var cfnFunctions = []since{
	{CFN20121212, CFN20100909, fnFindInMap},
	{CFN20121212, CFN20100909, fnGetAZs},
	{CFN20121212, CFN20100909, cfnRef},
	{CFN20121212, CFN20100909, fnGetAtt},
	{CFN20121212, CFN20100909, fnSelect},
	{CFN20121212, CFN20100909, fnJoin},
	{CFN20121212, CFN20100909, fnSplit},
	{CFN20121212, CFN20100909, fnReplace},
	{CFN20121212, CFN20100909, fnBase64},
	{CFN20121212, CFN20100909, fnMemberListToMap},
	{CFN20121212, CFN20100909, fnResourceFacade},
	{CFN20100909, CFN20100909, fnIf},
}

// cfnConditionFunctions are the functions of conditions.
var cfnConditionFunctions = []since{
	{CFN20100909, CFN20100909, fnEquals},
	{CFN20100909, CFN20100909, refParameter},
	{CFN20100909, CFN20100909, fnFindInMap},
	{CFN20100909, CFN20100909, fnNot},
	{CFN20100909, CFN20100909, fnAnd},
	{CFN20100909, CFN20100909, fnOr},
}

// cfn fills the table of a CloudFormation version.
func (t Table) cfn(v Version) {
	for _, s := range cfnFunctions {
		if s.from <= v && v <= s.until {
			t.expressions[s.function.Name] = s.function
			t.conditions[s.function.Name] = notInConditions(s.function.Name)
		}
	}
	for _, s := range cfnConditionFunctions {
		if s.from <= v && v <= s.until {
			t.conditions[s.function.Name] = s.function
		}
	}
}

func foldGetAtt(f *folder, call *Expr) (*Expr, error) {
	parts, _ := unpacked(call.arg, 2)
	arg, err := f.list(call, parts)
	if err != nil {
		return nil, err
	}
	return f.applied(call, part{expr: arg})
}

// list folds the parts of an unpacked argument into a list.
func (f *folder) list(call *Expr, parts []*Expr) (*Expr, error) {
	folded, err := f.inPlace(parts)
	if err != nil {
		return nil, err
	}
	return (&Expr{Kind: ListExpr, At: call.arg.At, Items: folded}).collapse(), nil
}

// inPlace folds the parts of an unpacked argument, each in its position.
func (f *folder) inPlace(parts []*Expr) ([]*Expr, error) {
	folded := make([]*Expr, len(parts))
	for i, x := range parts {
		y, err := f.fold(x)
		if err != nil {
			return nil, err
		}
		folded[i] = y.orNull()
	}
	return folded, nil
}

func foldFindInMap(f *folder, call *Expr) (*Expr, error) {
	parts, _ := unpacked(call.arg, 3)
	arg, err := f.list(call, parts)
	if err != nil {
		return nil, err
	}
	items, _ := arg.list()
	var found value.Value
	if call.names != nil && call.names.mappings != nil {
		found = call.names.mappings
	}
	for _, x := range items {
		if !x.IsValue() {
			return call.withArg(arg), nil
		}
		if found, err = findIn(found, x.Value); err != nil {
			return nil, err
		}
	}
	return Constant(found, call.At), nil
}

func findIn(from, key value.Value) (value.Value, error) {
	if v, ok := step1(from, key); ok {
		return v, nil
	}
	return nil, fmt.Errorf("Fn::FindInMap: the mapping has no key %s", shown(key))
}
