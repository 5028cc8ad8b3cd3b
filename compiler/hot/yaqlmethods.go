package hot

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/value"
)

// The supported methods of yaql (yaql/standard_library: collections.py, queries.py,
// strings.py).

// yaqlMethod is a method with the number of its arguments, which are evaluated for each
// item of the list, or for the enclosing value.
type yaqlMethod struct {
	least, most int
	apply       func(on, at value.Value, args []query) (value.Value, bool)
}

var yaqlMethods = map[string]yaqlMethod{
	"len":      {0, 0, func(on, _ value.Value, _ []query) (value.Value, bool) { return yaqlLen(on) }},
	"sum":      {0, 0, yaqlNumbers(func(sum, n int64) int64 { return sum + n })},
	"max":      {0, 0, yaqlNumbers(func(most, n int64) int64 { return max(most, n) })},
	"min":      {0, 0, yaqlNumbers(func(least, n int64) int64 { return min(least, n) })},
	"first":    {0, 1, yaqlEnd(func(list []value.Value) value.Value { return list[0] })},
	"last":     {0, 0, yaqlEnd(func(list []value.Value) value.Value { return list[len(list)-1] })},
	"toList":   {0, 0, yaqlToList},
	"distinct": {0, 0, yaqlDistinct},
	"flatten":  {0, 0, yaqlFlatten},
	"select":   {1, 1, yaqlSelect},
	"where":    {1, 1, yaqlWhere},
	"contains": {1, 1, yaqlContains},
	"join":     {1, 1, yaqlJoin},
	"values":   {0, 0, yaqlValues},
}

// method reads a method's arguments, after the opening parenthesis.
func (q *yaqlReader) method(on query, name string) query {
	var args []query
	for q.skip() != ')' {
		if len(args) > 0 {
			if q.text[min(q.at, len(q.text)-1)] != ',' {
				return q.fail()
			}
			q.at++
		}
		args = append(args, q.argument())
		if q.failed {
			return q.fail()
		}
	}
	q.at++
	m, known := yaqlMethods[name]
	if !known || len(args) < m.least || len(args) > m.most {
		return q.fail()
	}
	return func(at value.Value) (value.Value, bool) {
		v, ok := on(at)
		if !ok {
			return nil, false
		}
		return m.apply(v, at, args)
	}
}

// yaqlList is a list within the limit.
func yaqlList(v value.Value) ([]value.Value, bool) {
	var list []value.Value
	switch v := v.(type) {
	case []value.Value:
		list = v
	case iterated:
		list = v
	case view:
		list = v
	default:
		return nil, false
	}
	return list, len(list) <= yaqlItems
}

func yaqlLen(on value.Value) (value.Value, bool) {
	switch v := on.(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), true
	case *value.Dict:
		return int64(v.Len()), true
	case view:
		return nil, false
	}
	list, ok := yaqlList(on)
	return int64(len(list)), ok
}

// yaqlNumbers folds a non-empty list of integers.
func yaqlNumbers(join func(a, b int64) int64) func(on, at value.Value, args []query) (value.Value, bool) {
	return func(on, _ value.Value, _ []query) (value.Value, bool) {
		list, ok := yaqlList(on)
		if !ok || len(list) == 0 {
			return nil, false
		}
		out := int64(0)
		for i, x := range list {
			n, isInt := x.(int64)
			if !isInt || n > 1<<50 || n < -1<<50 {
				return nil, false
			}
			if i == 0 {
				out = n
			} else {
				out = join(out, n)
			}
		}
		return out, true
	}
}

// yaqlEnd takes an item of a list; the argument is the default for an empty one.
func yaqlEnd(take func([]value.Value) value.Value) func(on, at value.Value, args []query) (value.Value, bool) {
	return func(on, at value.Value, args []query) (value.Value, bool) {
		list, ok := yaqlList(on)
		switch {
		case !ok || len(list) == 0 && len(args) == 0:
			return nil, false
		case len(list) == 0:
			return args[0](at)
		}
		return take(list), true
	}
}

func yaqlToList(on, _ value.Value, _ []query) (value.Value, bool) {
	list, ok := yaqlList(on)
	return list, ok
}

func yaqlDistinct(on, _ value.Value, _ []query) (value.Value, bool) {
	list, ok := yaqlList(on)
	var out iterated
	for _, x := range list {
		if !isYaqlScalar(x) {
			return nil, false
		}
		if !in(out, x) {
			out = append(out, x)
		}
	}
	return out, ok
}

func yaqlFlatten(on, _ value.Value, _ []query) (value.Value, bool) {
	list, ok := yaqlList(on)
	out := iterated{}
	for _, x := range list {
		switch x := x.(type) {
		case []value.Value, iterated, view:
			inner, innerOK := yaqlFlatten(x, nil, nil)
			ok = ok && innerOK
			if innerOK {
				out = append(out, inner.(iterated)...)
			}
		case *value.Dict:
			return nil, false
		default:
			out = append(out, x)
		}
	}
	return out, ok
}

func yaqlSelect(on, _ value.Value, args []query) (value.Value, bool) {
	list, ok := yaqlList(on)
	if !ok {
		return nil, false
	}
	return mapped(list, args[0])
}

func yaqlWhere(on, _ value.Value, args []query) (value.Value, bool) {
	list, ok := yaqlList(on)
	out := iterated{}
	for _, x := range list {
		v, okItem := args[0](x)
		holds, isBool := v.(bool)
		if !okItem || !isBool {
			return nil, false
		}
		if holds {
			out = append(out, x)
		}
	}
	return out, ok
}

func yaqlContains(on, at value.Value, args []query) (value.Value, bool) {
	list, ok := yaqlList(on)
	v, okArg := args[0](at)
	if !ok || !okArg || !isYaqlScalar(v) {
		return nil, false
	}
	return in(list, v), !slices.ContainsFunc(list, func(x value.Value) bool { return !isYaqlScalar(x) })
}

func yaqlJoin(on, at value.Value, args []query) (value.Value, bool) {
	list, ok := yaqlList(on)
	separator, okArg := args[0](at)
	between, isText := separator.(string)
	if !ok || !okArg || !isText {
		return nil, false
	}
	var parts []string
	for _, x := range list {
		text, isText := x.(string)
		if !isText {
			return nil, false
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, between), true
}

// yaqlValues are a map's values. Its keys and items are unordered sets in yaql.
func yaqlValues(on, _ value.Value, _ []query) (value.Value, bool) {
	d, isMap := on.(*value.Dict)
	if !isMap || d.Len() > yaqlItems {
		return nil, false
	}
	return view(slices.Clone(d.Values())), true
}
