package filetemplate

import (
	"fmt"
	"reflect"
	"text/template/parse"
)

// function calls a function by its name; n is the node for errors.
func (e *execution) function(dot any, name string, n parse.Node, args arguments) any {
	e.node = n
	switch name {
	case inputFunction:
		return e.call(dot, name, reflect.ValueOf(e.input), n, args)
	case "and", "or":
		return e.decide(dot, name, n, args)
	}
	return e.call(dot, name, reflect.ValueOf(e.t.functions[name]), n, args)
}

// decide is `and` or `or`, which short-circuit.
func (e *execution) decide(dot any, name string, n parse.Node, args arguments) any {
	if args.none() {
		e.fail("wrong number of args for %s: want at least 1 got 0", name)
	}
	var value any
	for _, arg := range args.nodes {
		if value = e.operand(dot, arg); truth(value) == (name == "or") {
			return value
		}
	}
	if args.piped {
		return args.last
	}
	return value
}

// call calls a function, or a method whose receiver is in.
func (e *execution) call(dot any, name string, f reflect.Value, n parse.Node, args arguments, in ...reflect.Value) any {
	typ := f.Type()
	got, wanted := len(args.nodes), typ.NumIn()-len(in)
	if args.piped {
		got++
	}
	switch {
	case typ.IsVariadic() && got < wanted-1:
		e.fail("wrong number of args for %s: want at least %d got %d", name, wanted-1, got)
	case !typ.IsVariadic() && got != wanted:
		e.fail("wrong number of args for %s: want %d got %d", name, wanted, got)
	}
	next := func() reflect.Type {
		if last := typ.NumIn() - 1; typ.IsVariadic() && len(in) >= last {
			return typ.In(last).Elem()
		}
		return typ.In(len(in))
	}
	for _, arg := range args.nodes {
		in = append(in, e.argument(dot, next(), arg))
	}
	if args.piped {
		in = append(in, e.assigned(args.last, next()))
	}
	out, err := safely(f, in)
	if err != nil {
		e.node = n
		e.fail("error calling %s: %v", name, err)
	}
	return out
}

// safely calls a function that returns a value, or a value and an error. Some of sprig's
// functions panic instead of returning an error.
func safely(f reflect.Value, in []reflect.Value) (value any, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			panic(p)
		case error:
			err = p
		default:
			err = fmt.Errorf("%v", p)
		}
	}()
	out := f.Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		return nil, out[1].Interface().(error)
	}
	return out[0].Interface(), nil
}

// argument converts a node's value to a parameter's type. A literal takes that type if
// possible.
func (e *execution) argument(dot any, typ reflect.Type, n parse.Node) reflect.Value {
	number, is := n.(*parse.NumberNode)
	if !is || typ.Kind() == reflect.Interface {
		return e.assigned(e.operand(dot, n), typ)
	}
	e.node = n
	value := reflect.New(typ).Elem()
	switch {
	case value.CanInt() && number.IsInt:
		value.SetInt(number.Int64)
	case value.CanUint() && number.IsUint:
		value.SetUint(number.Uint64)
	case value.CanFloat() && number.IsFloat:
		value.SetFloat(number.Float64)
	default:
		e.fail("wrong type for value; expected %s; got %s", typ, number.Text)
	}
	return value
}

func (e *execution) assigned(value any, typ reflect.Type) reflect.Value {
	if value == nil {
		switch typ.Kind() {
		case reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice, reflect.Func, reflect.Chan:
			return reflect.Zero(typ)
		}
		e.fail("invalid value; expected %s", typ)
	}
	v := reflect.ValueOf(value)
	if !v.Type().AssignableTo(typ) && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.Type().AssignableTo(typ) {
		e.fail("wrong type for value; expected %s; got %T", typ, value)
	}
	return v
}
