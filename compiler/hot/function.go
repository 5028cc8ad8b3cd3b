package hot

import "slices"

// Function is one intrinsic function of HOT, in one of its variants: some change
// their meaning from one template version to another.
type Function struct {
	Name string
	// Apply computes a call whose argument is known.
	Apply func(arg Value) (Value, error)
	// Partial folds a call whose argument is known in part; nil leaves it.
	Partial func(call *Expr) (*Expr, error)
	// Lazy folds a call whose argument must not simply be evaluated first.
	Lazy func(call *Expr, resolve Resolve) (*Expr, error)
	// Reference says that the call is answered by the Resolve function.
	Reference bool
	// Check looks at an argument before anything is known of its values.
	Check func(arg *Expr) error
}

// Table are the functions that a text may call, by name.
type Table map[string]*Function

// since is a function and the versions that have it in this form.
type since struct {
	from, until Version // until is the last one
	function    *Function
}

// functions are all functions of HOT. Adding one is one line here.
var functions = []since{
	{V20130523, V20210416, reference("get_param")},
	{V20130523, V20210416, reference("get_attr")},
	{V20130523, V20210416, reference("get_resource")},
	{V20130523, V20210416, reference("get_file")},
	{V20151015, V20210416, strReplace},
	{V20151015, V20210416, listJoin},
	{V20150430, V20210416, digest},
}

func reference(name string) *Function { return &Function{Name: name, Reference: true} }

// Functions is the table of a template version.
func (v Version) Functions() Table {
	t := Table{}
	for _, s := range functions {
		if s.from <= v && v <= s.until {
			t[s.function.Name] = s.function
		}
	}
	return t
}

// FirstVersion is the first version that has a function.
func FirstVersion(name string) (Version, bool) {
	i := slices.IndexFunc(functions, func(s since) bool { return s.function.Name == name })
	if i < 0 {
		return 0, false
	}
	return functions[i].from, true
}
