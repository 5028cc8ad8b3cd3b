package filetemplate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// decode is a value for templates: whole numbers are int, as literals are.
func decode(text json.RawMessage) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return plain(value), nil
}

func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	}
	return value
}

// printed is a value as printed.
func printed(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case error, fmt.Stringer:
		return fmt.Sprint(v)
	case []byte:
		return string(v)
	}
	switch reflect.ValueOf(value).Kind() {
	case reflect.Invalid, reflect.Bool, reflect.Map, reflect.Slice, reflect.Array, reflect.Struct, reflect.Float32, reflect.Float64:
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err == nil {
			return strings.TrimSuffix(b.String(), "\n")
		}
	}
	return fmt.Sprint(value)
}

// truth reports whether a value counts as true: whether it is not the zero of its type.
func truth(value any) bool {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}
