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

// placeholder is the placeholder of a function that call.go implements.
var placeholder any = func() {}

// builtins are the built-in functions of text/template, except `call`: no value here is
// a function.
func builtins() map[string]any {
	return map[string]any{
		"and": placeholder, "or": placeholder,
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

// methods are the methods that a template may call, on types that sprig's functions
// return. Each takes its receiver first.
var methods = []struct {
	name string
	call any
}{
	{"Major", (*semver.Version).Major}, {"Minor", (*semver.Version).Minor}, {"Patch", (*semver.Version).Patch},
	{"Prerelease", (*semver.Version).Prerelease}, {"Metadata", (*semver.Version).Metadata},
	{"Original", (*semver.Version).Original}, {"String", (*semver.Version).String},
	{"Compare", (*semver.Version).Compare}, {"Equal", (*semver.Version).Equal},
	{"LessThan", (*semver.Version).LessThan}, {"GreaterThan", (*semver.Version).GreaterThan},
	{"IncMajor", (*semver.Version).IncMajor}, {"IncMinor", (*semver.Version).IncMinor}, {"IncPatch", (*semver.Version).IncPatch},
	{"Year", time.Time.Year}, {"Month", time.Time.Month}, {"Day", time.Time.Day}, {"Hour", time.Time.Hour},
	{"Minute", time.Time.Minute}, {"Second", time.Time.Second}, {"Weekday", time.Time.Weekday},
	{"YearDay", time.Time.YearDay}, {"Unix", time.Time.Unix}, {"Format", time.Time.Format}, {"UTC", time.Time.UTC},
	{"Add", time.Time.Add}, {"AddDate", time.Time.AddDate}, {"Sub", time.Time.Sub},
	{"Before", time.Time.Before}, {"After", time.Time.After},
	{"Hours", time.Duration.Hours}, {"Minutes", time.Duration.Minutes}, {"Seconds", time.Duration.Seconds},
	{"Milliseconds", time.Duration.Milliseconds}, {"String", time.Duration.String},
}

// method finds a method of a value; it is invalid if there is none.
func method(of any, name string) reflect.Value {
	for _, m := range methods {
		if f := reflect.ValueOf(m.call); m.name == name && f.Type().In(0) == reflect.TypeOf(of) {
			return f
		}
	}
	return reflect.Value{}
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

// index applies one index after the other. A missing key of a map gives the zero value.
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

// compare is negative, 0 or positive, like cmp.Compare.
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
