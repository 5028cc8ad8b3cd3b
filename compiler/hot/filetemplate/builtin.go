package filetemplate

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"text/template"
	"time"

	"github.com/Masterminds/semver/v3"
)

// elsewhere stands for a function that call.go has.
var elsewhere any = func() {}

// builtins are the functions that text/template has of itself, less `call`: no value
// here is a function.
func builtins() map[string]any {
	return map[string]any{
		"and": elsewhere, "or": elsewhere,
		"not":      func(value any) bool { return !truth(value) },
		"len":      length,
		"index":    index,
		"print":    fmt.Sprint,
		"printf":   fmt.Sprintf,
		"println":  fmt.Sprintln,
		"html":     template.HTMLEscaper,
		"js":       template.JSEscaper,
		"urlquery": template.URLQueryEscaper,
		"eq":       equalsAny,
		"ne":       func(a, b any) (bool, error) { is, err := equal(a, b); return !is, err },
		"lt":       func(a, b any) (bool, error) { n, err := compare(a, b); return n < 0, err },
		"le":       func(a, b any) (bool, error) { n, err := compare(a, b); return n <= 0, err },
		"gt":       func(a, b any) (bool, error) { n, err := compare(a, b); return n > 0, err },
		"ge":       func(a, b any) (bool, error) { n, err := compare(a, b); return n >= 0, err },
	}
}

// methods are the methods that a template may call, of the types that functions of
// sprig give.
func methods(of any) map[string]any {
	switch v := of.(type) {
	case *semver.Version:
		return map[string]any{"Major": v.Major, "Minor": v.Minor, "Patch": v.Patch, "Prerelease": v.Prerelease, "Metadata": v.Metadata,
			"Original": v.Original, "String": v.String, "Compare": v.Compare, "Equal": v.Equal, "LessThan": v.LessThan, "GreaterThan": v.GreaterThan,
			"IncMajor": v.IncMajor, "IncMinor": v.IncMinor, "IncPatch": v.IncPatch}
	case semver.Version:
		return methods(&v)
	case time.Time:
		return map[string]any{"Year": v.Year, "Month": v.Month, "Day": v.Day, "Hour": v.Hour, "Minute": v.Minute, "Second": v.Second, "Weekday": v.Weekday,
			"YearDay": v.YearDay, "Unix": v.Unix, "Format": v.Format, "UTC": v.UTC, "Add": v.Add, "AddDate": v.AddDate, "Sub": v.Sub, "Before": v.Before, "After": v.After}
	case time.Duration:
		return map[string]any{"Hours": v.Hours, "Minutes": v.Minutes, "Seconds": v.Seconds, "Milliseconds": v.Milliseconds, "String": v.String}
	}
	return nil
}

func length(value any) (int, error) {
	switch v := indirect(reflect.ValueOf(value)); v.Kind() {
	case reflect.Invalid:
		return 0, errors.New("len of nil pointer")
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len(), nil
	}
	return 0, fmt.Errorf("len of type %T", value)
}

// index is the value that indices lead to, each into what the one before gave. A key
// that a map does not have gives the zero of its values.
func index(of any, indices ...any) (any, error) {
	item := indirect(reflect.ValueOf(of))
	if !item.IsValid() {
		return nil, errors.New("index of untyped nil")
	}
	for _, i := range indices {
		at := reflect.ValueOf(i)
		switch {
		case !item.IsValid():
			return nil, errors.New("index of nil pointer")
		case item.Kind() == reflect.Map:
			if !at.IsValid() || !at.Type().AssignableTo(item.Type().Key()) {
				return nil, fmt.Errorf("value has type %T; should be %s", i, item.Type().Key())
			}
			found := item.MapIndex(at)
			if !found.IsValid() {
				found = reflect.Zero(item.Type().Elem())
			}
			item = found
		case item.Kind() == reflect.Slice || item.Kind() == reflect.Array || item.Kind() == reflect.String:
			n, err := position(at)
			if err != nil {
				return nil, err
			}
			if n < 0 || n >= item.Len() {
				return nil, fmt.Errorf("index out of range: %d", n)
			}
			item = item.Index(n)
		default:
			return nil, fmt.Errorf("can't index item of type %s", item.Type())
		}
		item = indirect(item)
	}
	if !item.IsValid() {
		return nil, nil
	}
	return item.Interface(), nil
}

func position(v reflect.Value) (int, error) {
	switch {
	case !v.IsValid():
		return 0, errors.New("cannot index slice/array with nil")
	case v.CanInt():
		return int(v.Int()), nil
	case v.CanUint() && v.Uint() < 1<<31:
		return int(v.Uint()), nil
	}
	return 0, fmt.Errorf("cannot index slice/array with type %s", v.Type())
}

func equalsAny(a any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("missing argument for comparison")
	}
	for _, b := range others {
		if is, err := equal(a, b); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

var errIncompatible = errors.New("incompatible types for comparison")

func equal(a, b any) (bool, error) {
	if a == nil || b == nil {
		return a == nil && b == nil, nil
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case x.Kind() == reflect.Bool && y.Kind() == reflect.Bool:
		return x.Bool() == y.Bool(), nil
	case ordered(x) && ordered(y):
		n, err := compare(a, b)
		return n == 0, err
	case ordered(x) || ordered(y) || x.Type() != y.Type():
		return false, errIncompatible
	case !x.Comparable():
		return false, fmt.Errorf("non-comparable type %T", a)
	}
	return a == b, nil
}

func ordered(v reflect.Value) bool {
	return v.CanInt() || v.CanUint() || v.CanFloat() || v.Kind() == reflect.String
}

// compare is less than, equal to or more than 0 as a is less than, equal to or more
// than b.
func compare(a, b any) (int, error) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || !ordered(x) || !ordered(y) {
		return 0, errors.New("invalid type for comparison")
	}
	switch {
	case x.CanInt() && y.CanInt():
		return cmp.Compare(x.Int(), y.Int()), nil
	case x.CanUint() && y.CanUint():
		return cmp.Compare(x.Uint(), y.Uint()), nil
	case x.CanInt() && y.CanUint():
		if x.Int() < 0 {
			return -1, nil
		}
		return cmp.Compare(uint64(x.Int()), y.Uint()), nil
	case x.CanUint() && y.CanInt():
		n, err := compare(b, a)
		return -n, err
	case x.CanFloat() && y.CanFloat():
		return cmp.Compare(x.Float(), y.Float()), nil
	case x.Kind() == reflect.String && y.Kind() == reflect.String:
		return cmp.Compare(x.String(), y.String()), nil
	}
	return 0, errIncompatible
}
