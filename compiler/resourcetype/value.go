package resourcetype

import (
	"math/big"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// Takes says whether Heat takes a scalar, or an empty list or map, for a property of
// this kind (heat/engine/properties.py, Property.get_value). Null stands for the default.
func (k Kind) Takes(v hot.Value) bool {
	switch k {
	case String:
		switch v.(type) {
		case nil, string, bool, int64, *big.Int:
			return true
		}
		return false
	case Integer:
		return v == nil || hot.IsInteger(v)
	case Number:
		return v == nil || hot.IsNumber(v)
	case Boolean:
		switch v := v.(type) {
		case nil, bool:
			return true
		case string:
			return strings.EqualFold(v, "true") || strings.EqualFold(v, "false")
		}
		return false
	case Map:
		_, is := v.(*hot.Dict)
		return v == nil || is
	case List:
		_, is := v.([]hot.Value)
		return v == nil || is
	case Any:
	}
	return true
}

// String is the kind with its article.
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
