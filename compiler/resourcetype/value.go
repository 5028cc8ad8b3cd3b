package resourcetype

import (
	"math/big"
	"strings"

	"github.com/hotc-dev/hotc/compiler/value"
)

// Takes reports whether Heat accepts a scalar, or an empty list or map, for a property of
// this kind (heat/engine/properties.py, Property.get_value). Null means the default.
func (k Kind) Takes(v value.Value) bool {
	switch k {
	case String:
		switch v.(type) {
		case nil, string, bool, int64, *big.Int:
			return true
		}
		return false
	case Integer:
		return v == nil || value.IsInteger(v)
	case Number:
		return v == nil || value.IsNumber(v)
	case Boolean:
		switch v := v.(type) {
		case nil, bool:
			return true
		case string:
			return strings.EqualFold(v, "true") || strings.EqualFold(v, "false")
		}
		return false
	case Map:
		_, is := v.(*value.Dict)
		return v == nil || is
	case List:
		_, is := v.([]value.Value)
		return v == nil || is
	case Any:
	}
	return true
}

// Parameter is the matching parameter type; "" if any.
func (k Kind) Parameter() string {
	return map[Kind]string{String: "string", Integer: "number", Number: "number", Boolean: "boolean", List: "comma_delimited_list", Map: "json"}[k]
}

// KindOf is the kind of a parameter's type; Any for an unknown one.
func KindOf(parameter string) Kind {
	for _, k := range []Kind{String, Number, Boolean, List, Map} {
		if k.Parameter() == parameter {
			return k
		}
	}
	return Any
}

// String is the kind with an article.
func (k Kind) String() string {
	switch k {
	case Integer:
		return "an integer"
	case Any:
		return "anything"
	case String, Number, Boolean, Map, List:
	}
	return "a " + string(k)
}
