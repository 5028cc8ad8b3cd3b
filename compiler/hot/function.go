package hot

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Function is an intrinsic function of HOT in one of its variants: some change
// their meaning between template versions.
type Function struct {
	Name string
	// means is HOT's name of it, if different: get_attr for Fn::GetAtt.
	means string
	// Check inspects the argument as written, before any value is known: what
	// Heat's function classes refuse when a template is parsed or validated. As in
	// Heat, calls within the argument are not resolved: `list_join: {get_param: x}`
	// is wrong whatever x is.
	Check func(arg *Expr) error
	// Apply computes a call whose argument is known.
	Apply func(w *work, arg value.Value) (value.Value, error)
	// Partial folds a call whose argument is partly known; nil leaves it as it is.
	Partial func(f *folder, call *Expr) (*Expr, error)
	// Lazy folds a call whose argument must not be evaluated eagerly.
	Lazy func(f *folder, call *Expr) (*Expr, error)
	// Reference says that Resolve answers the call.
	Reference bool
	// HeatOnly says that only Heat can compute the call, never an agent.
	HeatOnly bool
	// Parts are the keys of the argument's map that Heat evaluates; it checks the
	// others but never evaluates them. Nil means all.
	Parts []string
	// Positional is how many items of the argument's list keep their position even if
	// an `if` without an else omits them; they are null then.
	Positional int

	// Gives is the type of every successful result, JSON meaning a map; "" is any type.
	Gives contract.Type
	// works says which parts of its argument are its operands.
	works Operands
	// refers is the target of a reference.
	refers RefKind

	// leftToHeat decides by the known part of an argument whether only Heat can compute
	// the call.
	leftToHeat func(arg *Expr) bool

	usesNames bool   // its argument may contain names of conditions or mappings
	omittable bool   // the item or entry with the call may be omitted
	refusal   string // why every call is an error
}

// Meaning is the HOT name of the function: get_attr for Fn::GetAtt too.
func (f *Function) Meaning() string { return cmp.Or(f.means, f.Name) }

// OnlyHeat reports whether the expression is a call that only Heat can compute, whatever
// its unknown parts are.
func (e *Expr) OnlyHeat() bool {
	return e.Kind == CallExpr && (e.Func.HeatOnly || e.Func.leftToHeat != nil && e.Func.leftToHeat(e.arg))
}

// everyItem is Positional for functions that unpack their list.
const everyItem = 1 << 30

// Table maps names to the functions that expressions and conditions may call, and
// resolves the names in them.
type Table struct {
	expressions map[string]*Function
	conditions  map[string]*Function
	names       *names
}

// names are what strings in a template's expressions may refer to.
type names struct {
	conditions map[string]*Expr
	mappings   *value.Dict            // of a CloudFormation template
	isResource func(name string) bool // for Ref
	parameter  func(name string) *Parameter
}

// since is a function variant and the versions that have it.
type since struct {
	from, until Version // inclusive
	function    *Function
}

// functions are all functions of expressions (heat/engine/hot/template.py, the
// `functions` of each class), one per line.
var functions = []since{
	{V20130523, V20210416, getParam},
	{V20130523, V20130523, getAttrThenSelect},
	{V20141016, V20150430, getAttr},
	{V20151015, V20210416, getAttrAll},
	{V20130523, V20210416, getResource},
	{V20130523, V20210416, getFile},
	{V20130523, V20210416, resourceFacade},
	{V20130523, V20150430, strReplaceText},
	{V20151015, V20210416, strReplace},
	{V20130523, V20150430, listJoinOne},
	{V20151015, V20210416, listJoin},
	{V20150430, V20160408, repeatLists},
	{V20161014, V20170224, repeatMaps},
	{V20170901, V20210416, repeat},
	{V20150430, V20210416, digest},
	{V20151015, V20210416, strSplit},
	{V20160408, V20210416, mapMerge},
	{V20161014, V20210416, yaql},
	{V20161014, V20210416, mapReplace},
	{V20161014, V20180831, ifElse},
	{V20210416, V20210416, ifNullable},
	{V20170224, V20210416, filter},
	{V20170224, V20210416, strReplaceStrict},
	{V20170901, V20210416, strReplaceVeryStrict},
	{V20170901, V20210416, makeURL},
	{V20170901, V20210416, listConcat},
	{V20170901, V20210416, listConcatUnique},
	{V20170901, V20210416, contains},
	{V20130523, V20130523, ref},
	{V20130523, V20130523, fnGetAZs},
	{V20130523, V20130523, fnJoin},
	{V20130523, V20130523, fnSplit},
	{V20130523, V20130523, fnReplace},
	{V20130523, V20130523, fnBase64},
	{V20130523, V20130523, fnMemberListToMap},
	{V20130523, V20130523, fnResourceFacade},
	{V20130523, V20150430, fnSelect},
}

// conditionFunctions are the functions of conditions (Heat's condition_functions).
var conditionFunctions = []since{
	{V20161014, V20210416, getParam},
	{V20161014, V20210416, equals},
	{V20161014, V20210416, not},
	{V20161014, V20210416, and},
	{V20161014, V20210416, or},
	{V20170901, V20210416, yaql},
	{V20170901, V20210416, contains},
}

// Functions is the table of a template version. A function removed from the version
// is in it as one that refuses every call (Heat: Removed), as is one that cannot be
// used in a condition (Heat: Invalid).
func (v Version) Functions() Table {
	if t, made := tables.Load(v); made {
		return t.(Table)
	}
	t, _ := tables.LoadOrStore(v, v.functions())
	return t.(Table)
}

// tables caches them: only the names differ between the templates of a version.
var tables sync.Map

func (v Version) functions() Table {
	t := Table{expressions: map[string]*Function{}, conditions: map[string]*Function{}}
	if v.CFN() {
		t.cfn(v)
		return t
	}
	for _, s := range functions {
		switch {
		case s.from <= v && v <= s.until:
			t.expressions[s.function.Name] = s.function
		case s.until < v && t.expressions[s.function.Name] == nil:
			t.expressions[s.function.Name] = removed(s, v)
		}
	}
	if v < V20161014 {
		return t
	}
	for name, f := range t.expressions {
		t.conditions[name] = notValidated(f)
		if last, _ := LastVersion(name); last >= v {
			t.conditions[name] = notInConditions(name)
		}
	}
	for _, s := range conditionFunctions {
		if s.from <= v && v <= s.until {
			t.conditions[s.function.Name] = s.function
		}
	}
	return t
}

func removed(s since, v Version) *Function {
	return refusing(s.function.Name, fmt.Sprintf("the function %s does not exist in version %s; %s was the last with it",
		s.function.Name, v, s.until))
}

// notValidated is a removed function in a condition within an if, which Heat evaluates without validating it: the
// call is data there, and an error only where a condition is needed (hot/functions.py, If.parse_args).
func notValidated(removed *Function) *Function {
	return &Function{Name: removed.Name, refusal: removed.refusal, Apply: func(_ *work, arg value.Value) (value.Value, error) {
		return value.DictOf([]string{removed.Name}, []value.Value{arg}), nil
	}}
}

func notInConditions(name string) *Function {
	return refusing(name, "the function "+name+" cannot be used in a condition")
}

func refusing(name, message string) *Function {
	return &Function{Name: name, refusal: message, Check: func(*Expr) error { return fmt.Errorf("%s", message) }}
}

// everyFunction lists the tables of the functions that plans may contain.
var everyFunction = [][]since{functions, conditionFunctions}

// FirstVersion is the first version of HOT with a function.
func FirstVersion(name string) (Version, bool) {
	for _, s := range functions {
		if s.function.Name == name {
			return s.from, true
		}
	}
	return 0, false
}

// IntendedFunction is the HOT function that a key probably misspells, "" if none. Only names of
// several words count: the others, or similar words, may be the only key of any map.
func IntendedFunction(key string) string {
	var several []string
	for _, s := range functions {
		switch {
		case s.function.Name == key:
			return ""
		case strings.Contains(s.function.Name, "_"):
			several = append(several, s.function.Name)
		}
	}
	return Nearest(key, several)
}

// LastVersion is the last version of HOT with a function.
func LastVersion(name string) (last Version, ok bool) {
	for _, s := range functions {
		if s.function.Name == name {
			last, ok = max(last, s.until), true
		}
	}
	return last, ok
}

// Has reports whether the table contains a function, for expressions or conditions.
func (t Table) Has(f *Function) bool { return t.expressions[f.Name] == f || t.conditions[f.Name] == f }

// Lookup finds the function that a name calls in an expression.
func (t Table) Lookup(name string) *Function { return t.expressions[name] }
