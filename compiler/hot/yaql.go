package hot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// yaql is a language of its own (python3-yaql). Paths into the data, and the most common
// queries over lists of well-typed values, are computed here. Everything else is left to
// Heat: other queries, whatever might fail, and data so large that Heat's limits on
// iterators and memory could matter.

// The limits here, far below Heat's defaults of limit_iterators (200 items) and
// memory_quota (10,000 bytes).
const (
	yaqlItems = 100
	yaqlBytes = 2000
)

// applyYaql evaluates the queries that it supports.
func applyYaql(_ *work, arg value.Value) (value.Value, error) {
	d, _ := arg.(*value.Dict)
	text, isText := d.At("expression").(string)
	data, hasData := d.Get("data")
	if !hasData {
		data = value.NewDict()
	}
	if !isText || len(value.EncodeJSON(data)) > yaqlBytes {
		return nil, errLeftToHeat
	}
	root := value.NewDict()
	root.Set("data", data)
	q := &yaqlReader{text: text}
	read := q.chain()
	if q.failed || q.skip() != 0 {
		return nil, errLeftToHeat
	}
	v, ok := read(root)
	switch lazy := v.(type) {
	case iterated:
		v = []value.Value(lazy)
	case view:
		v = []value.Value(lazy)
	}
	if !ok || holdsIterated(v) {
		return nil, errLeftToHeat
	}
	return v, nil
}

// iterated is a list that yaql iterates over once: it has no index.
type iterated []value.Value

// view is what values() gives: it is iterated over again and again, and has neither index nor len().
type view []value.Value

// query is a part of an expression, a function of the current value ("$"). It is not ok
// where the meaning is unclear, or Heat might fail.
type query func(value.Value) (v value.Value, ok bool)

// holdsIterated reports whether a value contains an iterator.
func holdsIterated(v value.Value) bool {
	switch v := v.(type) {
	case iterated, view:
		return true
	case []value.Value:
		return slices.ContainsFunc(v, holdsIterated)
	case *value.Dict:
		return slices.ContainsFunc(v.Values(), holdsIterated)
	}
	return false
}

// yaqlReader reads an expression.
type yaqlReader struct {
	text   string
	at     int
	failed bool
}

// skip skips white space; it returns the next byte, 0 at the end.
func (q *yaqlReader) skip() byte {
	for q.at < len(q.text) && strings.IndexByte(" \t\r\n", q.text[q.at]) >= 0 {
		q.at++
	}
	if q.at == len(q.text) {
		return 0
	}
	return q.text[q.at]
}

func (q *yaqlReader) fail() query {
	q.failed = true
	return func(value.Value) (value.Value, bool) { return nil, false }
}

// word reads a name of ASCII letters, digits and underscores.
func (q *yaqlReader) word() string {
	start := q.at
	for q.at < len(q.text) && (yaml.IsNameStart(q.text[q.at])) {
		q.at++
	}
	return q.text[start:q.at]
}

// reservedInYaql are the words that are operators or literals.
var reservedInYaql = map[string]bool{"and": true, "or": true, "not": true, "in": true, "is": true, "mod": true, "true": true, "false": true, "null": true}

// chain is a value followed by attributes, indices and method calls.
func (q *yaqlReader) chain() query {
	out := q.primary()
	for !q.failed {
		switch q.skip() {
		case '.':
			q.at++
			q.skip()
			name := q.word()
			switch {
			case name == "" || reservedInYaql[name] || name[0] <= '9' || strings.HasPrefix(name, "__"):
				return q.fail()
			case q.at < len(q.text) && q.text[q.at] == '(':
				q.at++
				out = q.method(out, name)
			default:
				out = then(out, func(v value.Value) (value.Value, bool) { return yaqlAttribute(v, name) })
			}
		case '[':
			q.at++
			index := q.number()
			if q.skip() != ']' {
				return q.fail()
			}
			q.at++
			out = then(out, func(v value.Value) (value.Value, bool) {
				list, isList := v.([]value.Value)
				if !isList || index >= len(list) {
					return nil, false
				}
				return list[index], true
			})
		default:
			return out
		}
	}
	return q.fail()
}

func then(first query, next func(value.Value) (value.Value, bool)) query {
	return func(at value.Value) (value.Value, bool) {
		v, ok := first(at)
		if !ok {
			return nil, false
		}
		return next(v)
	}
}

func (q *yaqlReader) number() int {
	q.skip()
	word := q.word()
	n, err := strconv.Atoi(word)
	if err != nil || len(word) > 9 {
		q.failed = true
	}
	return n
}

// primary is "$" or a literal.
func (q *yaqlReader) primary() query {
	switch c := q.skip(); {
	case c == '$':
		q.at++
		if q.at < len(q.text) && yaml.IsNameStart(q.text[q.at]) {
			return q.fail()
		}
		return func(v value.Value) (value.Value, bool) { return v, true }
	case '0' <= c && c <= '9':
		n := int64(q.number())
		return q.constant(n)
	case c == '\'' || c == '"':
		end := strings.IndexByte(q.text[q.at+1:], c)
		if end < 0 {
			return q.fail()
		}
		text := q.text[q.at+1 : q.at+1+end]
		q.at += end + 2
		if strings.ContainsAny(text, "\\\n") {
			return q.fail()
		}
		return q.constant(text)
	}
	switch q.word() {
	case "true":
		return q.constant(true)
	case "false":
		return q.constant(false)
	case "null":
		return q.constant(nil)
	}
	return q.fail()
}

// constant is a literal; attributes and indices of literals are left to Heat.
func (q *yaqlReader) constant(v value.Value) query {
	if c := q.skip(); c == '.' || c == '[' {
		return q.fail()
	}
	return func(value.Value) (value.Value, bool) { return v, true }
}

// argument is a chain, or a comparison of two.
func (q *yaqlReader) argument() query {
	left := q.chain()
	operator := ""
	for c := q.skip(); strings.IndexByte("=!<>", c) >= 0 && c != 0 && len(operator) < 2 && !q.failed; c = q.text[min(q.at, len(q.text)-1)] {
		operator += string(c)
		q.at++
		if q.at == len(q.text) {
			return q.fail()
		}
	}
	if operator == "" {
		return left
	}
	right := q.chain()
	compare, known := yaqlComparisons[operator]
	if !known {
		return q.fail()
	}
	return func(at value.Value) (value.Value, bool) {
		a, okA := left(at)
		b, okB := right(at)
		if !okA || !okB {
			return nil, false
		}
		return compare(a, b)
	}
}

var yaqlComparisons = map[string]func(a, b value.Value) (value.Value, bool){
	"=": func(a, b value.Value) (value.Value, bool) {
		return value.Equal(a, b), isYaqlScalar(a) && isYaqlScalar(b)
	},
	"!=": func(a, b value.Value) (value.Value, bool) {
		return !value.Equal(a, b), isYaqlScalar(a) && isYaqlScalar(b)
	},
	"<":  yaqlOrder(func(n int) bool { return n < 0 }),
	">":  yaqlOrder(func(n int) bool { return n > 0 }),
	"<=": yaqlOrder(func(n int) bool { return n <= 0 }),
	">=": yaqlOrder(func(n int) bool { return n >= 0 }),
}

// yaqlOrder compares integers with integers.
func yaqlOrder(is func(int) bool) func(a, b value.Value) (value.Value, bool) {
	return func(a, b value.Value) (value.Value, bool) {
		x, okX := a.(int64)
		y, okY := b.(int64)
		return is(cmp.Compare(x, y)), okX && okY
	}
}

// isYaqlScalar reports whether yaql compares the value as we do.
func isYaqlScalar(v value.Value) bool {
	switch v.(type) {
	case nil, string, int64:
		return true
	}
	return false
}

// yaqlAttribute is an entry of a map, or of each map of a list.
func yaqlAttribute(v value.Value, name string) (value.Value, bool) {
	switch v := v.(type) {
	case *value.Dict:
		return v.Get(name)
	case iterated:
		return yaqlAttribute([]value.Value(v), name)
	case view:
		return yaqlAttribute([]value.Value(v), name)
	case []value.Value:
		return mapped(v, func(x value.Value) (value.Value, bool) {
			if d, isMap := x.(*value.Dict); isMap {
				return d.Get(name)
			}
			return nil, false
		})
	}
	return nil, false
}

func mapped(list []value.Value, f func(value.Value) (value.Value, bool)) (value.Value, bool) {
	out := make(iterated, len(list))
	for i, x := range list {
		y, ok := f(x)
		if !ok {
			return nil, false
		}
		out[i] = y
	}
	return out, true
}
