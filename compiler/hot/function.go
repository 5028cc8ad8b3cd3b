package hot

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Function is one intrinsic function of HOT, in one of its variants: some change
// their meaning from one template version to another.
type Function struct {
	Name string
	// means is what HOT calls this, if the name is another: get_attr of Fn::GetAtt.
	means string
	// Check looks at the argument as it is written, before anything is known of
	// its values: what Heat's function classes refuse when a template is parsed or
	// validated. A call within the argument is not looked through, as in Heat:
	// `list_join: {get_param: x}` is wrong whatever x is.
	Check func(arg *Expr) error
	// Apply computes a call whose argument is known.
	Apply func(w *work, arg value.Value) (value.Value, error)
	// Partial folds a call whose argument is known in part; nil leaves it.
	Partial func(f *folder, call *Expr) (*Expr, error)
	// Lazy folds a call whose argument must not simply be evaluated first.
	Lazy func(f *folder, call *Expr) (*Expr, error)
	// Reference says that the call is answered by the Resolve function.
	Reference bool
	// HeatOnly says that only Heat can compute the call: no agent ever will.
	HeatOnly bool
	// Parts are the keys of the argument's map that Heat evaluates; it checks the
	// others but never looks at their values. Nil means all.
	Parts []string
	// Positional is how many items of the argument's list keep their place even if
	// an `if` without an else leaves them out; they are then null.
	Positional int

	// Gives is what every call gives that can be computed, a map where it is JSON; "" is anything.
	Gives contract.Type
	// works says on which parts of its argument it works.
	works Operands
	// refers is what a reference leads to.
	refers RefKind

	// heats says of some calls, by what is known of the argument, that only Heat can
	// compute them.
	heats func(arg *Expr) bool

	usesNames   bool   // its argument may hold names of conditions, or of mappings
	mayLeaveOut bool   // the item or entry with the call may be left out
	refusal     string // why every call is an error
}

// Meaning is HOT's name of what the function does: get_attr for Fn::GetAtt too.
func (f *Function) Meaning() string { return cmp.Or(f.means, f.Name) }

// OnlyHeat says whether the expression is a call that only Heat can compute, whatever is
// still unknown in it.
func (e *Expr) OnlyHeat() bool {
	return e.Kind == CallExpr && (e.Func.HeatOnly || e.Func.heats != nil && e.Func.heats(e.arg))
}

// everyItem is Positional of functions that take their list apart.
const everyItem = 1 << 30

// Table are the functions that a text may call, by name: in expressions, and in
// conditions. It also knows what the names in them mean.
type Table struct {
	expressions map[string]*Function
	conditions  map[string]*Function
	names       *names
}

// names are what strings in expressions of one template may refer to.
type names struct {
	conditions map[string]*Expr
	mappings   *value.Dict            // of a CloudFormation template
	isResource func(name string) bool // for Ref
}

// since is a function and the versions that have it in this form.
type since struct {
	from, until Version // until is the last one
	function    *Function
}

// functions are all functions of expressions (heat/engine/hot/template.py, the
// `functions` of each class). Adding one is one line here.
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

// conditionFunctions are the functions of conditions (condition_functions).
var conditionFunctions = []since{
	{V20161014, V20210416, getParam},
	{V20161014, V20210416, equals},
	{V20161014, V20210416, not},
	{V20161014, V20210416, and},
	{V20161014, V20210416, or},
	{V20170901, V20210416, yaql},
	{V20170901, V20210416, contains},
}

// Functions is the table of a template version. A function that the version lost
// is in it as one that refuses every call (Heat: Removed); one that may not stand
// in a condition likewise (Heat: Invalid).
func (v Version) Functions() Table {
	if t, made := tables.Load(v); made {
		return t.(Table)
	}
	t, _ := tables.LoadOrStore(v, v.functions())
	return t.(Table)
}

// tables are those that were made already: one never changes but in the names of its template.
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
		t.conditions[name] = f
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
	return refusing(s.function.Name, fmt.Sprintf("heat_template_version %s has no function %s any more, %s was the last that had it",
		v, s.function.Name, s.until))
}

func notInConditions(name string) *Function {
	return refusing(name, "the function "+name+" may not stand in a condition")
}

func refusing(name, message string) *Function {
	return &Function{Name: name, refusal: message, Check: func(*Expr) error { return fmt.Errorf("%s", message) }}
}

// everyFunction lists the tables of the functions that plans may have.
var everyFunction = [][]since{functions, conditionFunctions}

// FirstVersion is the first version of HOT that has a function.
func FirstVersion(name string) (Version, bool) {
	for _, s := range functions {
		if s.function.Name == name {
			return s.from, true
		}
	}
	return 0, false
}

// MeantFunction is the function of HOT that a key is a slip for, "" if there is none. Only names
// of several words are meant: any map may have one of the others, or nearly, as its only key.
func MeantFunction(key string) string {
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

// LastVersion is the last version of HOT that has a function.
func LastVersion(name string) (last Version, ok bool) {
	for _, s := range functions {
		if s.function.Name == name {
			last, ok = max(last, s.until), true
		}
	}
	return last, ok
}

// Has says whether a function is one of the table's, in expressions or in conditions.
func (t Table) Has(f *Function) bool { return t.expressions[f.Name] == f || t.conditions[f.Name] == f }

// Lookup finds the function that a name calls in an expression.
func (t Table) Lookup(name string) *Function { return t.expressions[name] }
