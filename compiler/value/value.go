// Package value represents values with the semantics of Heat, which is written in Python: how
// they compare, convert, and are formatted.
package value

import (
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
)

// Value is nil, bool, int64, *big.Int, float64, string, []Value or *Dict.
type Value any

// Dict is an ordered map, like Python's. Keys are strings: templates are sent to Heat as
// JSON, which has no others.
type Dict struct {
	keys   []string
	values []Value
	index  map[string]int // only for large ones
}

// smallDict is the number of keys up to which a linear search is faster than an index,
// and takes much less memory.
const smallDict = 12

// NewDict makes an empty map.
func NewDict() *Dict { return &Dict{} }

// fewKeys is how many keys are allocated together with the map: most have no more.
const fewKeys = 2

// SizedDict makes an empty map with room for some keys.
func SizedDict(room int) *Dict {
	if room > fewKeys {
		return &Dict{keys: make([]string, 0, room), values: make([]Value, 0, room)}
	}
	if room == 1 {
		made := &struct {
			Dict
			keys   [1]string
			values [1]Value
		}{}
		made.Dict.keys, made.Dict.values = made.keys[:0], made.values[:0]
		return &made.Dict
	}
	made := &struct {
		Dict
		keys   [fewKeys]string
		values [fewKeys]Value
	}{}
	made.Dict.keys, made.Dict.values = made.keys[:0], made.values[:0]
	return &made.Dict
}

// DictOf makes a map of keys, which must not change, and values, which it takes over.
// The last value of a repeated key counts.
func DictOf(keys []string, values []Value) *Dict {
	if len(keys) <= smallDict && allUnlike(keys) {
		return &Dict{keys: keys[:len(keys):len(keys)], values: values}
	}
	d := SizedDict(len(keys))
	for i, k := range keys {
		d.Set(k, values[i])
	}
	return d
}

// DictFrom is DictOf with a function for the value of the i-th key; few values are
// allocated together with the map.
func DictFrom(keys []string, of func(i int) Value) *Dict {
	if len(keys) > fewKeys || !allUnlike(keys) {
		values := make([]Value, len(keys))
		for i := range keys {
			values[i] = of(i)
		}
		return DictOf(keys, values)
	}
	made := &struct {
		Dict
		values [fewKeys]Value
	}{Dict: Dict{keys: keys[:len(keys):len(keys)]}}
	for i := range keys {
		made.values[i] = of(i)
	}
	made.Dict.values = made.values[:len(keys):len(keys)]
	return &made.Dict
}

func allUnlike(texts []string) bool {
	for i, text := range texts {
		if slices.Contains(texts[:i], text) {
			return false
		}
	}
	return true
}

// Len is the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// Keys are the keys in order; the caller must not change them.
func (d *Dict) Keys() []string { return d.keys }

// Values are the values in order; the caller must not change them.
func (d *Dict) Values() []Value { return d.values }

// All iterates over the keys and values in order.
func (d *Dict) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i, k := range d.keys {
			if !yield(k, d.values[i]) {
				return
			}
		}
	}
}

func (d *Dict) find(key string) int {
	if d.index != nil {
		if i, ok := d.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range d.keys {
		if k == key {
			return i
		}
	}
	return -1
}

// Get returns the value of a key.
func (d *Dict) Get(key string) (Value, bool) {
	if i := d.find(key); i >= 0 {
		return d.values[i], true
	}
	return nil, false
}

// At is the value of a key, nil if there is none.
func (d *Dict) At(key string) Value {
	v, _ := d.Get(key)
	return v
}

// Has reports whether a key exists.
func (d *Dict) Has(key string) bool { return d.find(key) >= 0 }

// Texts converts strings to a list of values.
func Texts(texts []string) []Value {
	return lists.Map(texts, func(text string) Value { return text })
}

// Set sets a key; a new one is appended.
func (d *Dict) Set(key string, v Value) {
	if i := d.find(key); i >= 0 {
		d.values[i] = v
		return
	}
	d.keys, d.values = append(d.keys, key), append(d.values, v)
	if d.index != nil {
		d.index[key] = len(d.keys) - 1
		return
	}
	if len(d.keys) > smallDict {
		d.index = make(map[string]int, 2*len(d.keys))
		for i, k := range d.keys {
			d.index[k] = i
		}
	}
}

// SetAll sets all entries of another dict.
func (d *Dict) SetAll(other *Dict) {
	for i, k := range other.keys {
		d.Set(k, other.values[i])
	}
}

// InJSON reports whether JSON can express a value: it has no infinity or NaN.
func InJSON(v Value) bool {
	switch v := v.(type) {
	case float64:
		return !math.IsInf(v, 0) && !math.IsNaN(v)
	case []Value:
		return !slices.ContainsFunc(v, func(x Value) bool { return !InJSON(x) })
	case *Dict:
		return InJSON(v.values)
	}
	return true
}

// FormatFloat formats a float as Python's repr does: the shortest digits that
// round-trip, with an exponent from 1e16 on and below 1e-4.
func FormatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	case f == 0:
		return map[bool]string{true: "-0.0", false: "0.0"}[math.Signbit(f)]
	}
	if a := math.Abs(f); a >= 1e16 || a < 1e-4 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// TypeName names the type of a value, for messages.
func TypeName(v Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, *big.Int, float64:
		return "a number"
	case string:
		return "a string"
	case []Value:
		return "a list"
	}
	return "a map"
}

// Equal compares two values as Python does: 1 == 1.0 == true, maps in any order.
func Equal(a, b Value) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case []Value:
		y, ok := b.([]Value)
		return ok && slices.EqualFunc(x, y, Equal)
	case *Dict:
		y, ok := b.(*Dict)
		return ok && x.Len() == y.Len() && !slices.ContainsFunc(x.keys, func(k string) bool {
			v, both := y.Get(k)
			return !both || !Equal(x.At(k), v)
		})
	}
	return numbersEqual(a, b)
}

func numbersEqual(a, b Value) bool {
	x, okX := Rational(a)
	y, okY := Rational(b)
	if okX && okY {
		return x.Cmp(y) == 0
	}
	f, isF := a.(float64)
	g, isG := b.(float64)
	return isF && isG && f == g // infinities; NaN equals nothing
}

// Rational is the exact value of a number of any type, except infinities and NaN.
func Rational(v Value) (*big.Rat, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return big.NewRat(1, 1), true
		}
		return new(big.Rat), true
	case int64:
		return big.NewRat(v, 1), true
	case *big.Int:
		return new(big.Rat).SetInt(v), true
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	}
	return nil, false
}
