package hot

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Resolve answers the references in an expression: get_param, get_attr,
// get_resource, get_file and a plan's $cell and $deploy. It gets the call with
// its argument folded and returns what is known of it: a value, another
// expression, or the call itself.
type Resolve func(call *Expr) (*Expr, error)

// Error is a failure of an expression, at its place.
type Error struct {
	At      source.Place
	Message string
	Err     error // what a reference failed with, if that was it
}

func (e *Error) Error() string {
	text := e.Message
	if e.Err != nil {
		text = e.Err.Error()
	}
	if e.At.Known() {
		return e.At.String() + ": " + text
	}
	return text
}

// Unwrap gives what a reference failed with.
func (e *Error) Unwrap() error { return e.Err }

func errorf(at source.Place, format string, args ...any) *Error {
	return &Error{At: at, Message: fmt.Sprintf(format, args...)}
}

// Fold evaluates as much of an expression as the references allow. The one
// evaluator serves the compiler, where much is left over, and the agent, where
// nothing is.
func Fold(e *Expr, resolve Resolve) (*Expr, error) {
	switch e.Kind {
	case ListExpr, MapExpr:
		return foldParts(e, resolve)
	case CallExpr:
		if e.Func.Lazy != nil {
			return e.Func.Lazy(e, resolve)
		}
		arg, err := Fold(e.Arg(), resolve)
		if err != nil {
			return nil, err
		}
		call := e
		if arg != e.Arg() {
			call = NewCall(e.Func, e.At, arg)
		}
		return foldCall(call, resolve)
	}
	return e, nil
}

// foldParts folds the items of a list or map, and makes a new one if any changed.
func foldParts(e *Expr, resolve Resolve) (*Expr, error) {
	items := e.Items
	for i, x := range e.Items {
		y, err := Fold(x, resolve)
		if err != nil {
			return nil, err
		}
		if y != x {
			if &items[0] == &e.Items[0] {
				items = append([]*Expr(nil), e.Items...)
			}
			items[i] = y
		}
	}
	return (&Expr{Kind: e.Kind, At: e.At, Items: items, Keys: e.Keys}).collapse(), nil
}

// foldCall folds a call whose argument is folded.
func foldCall(call *Expr, resolve Resolve) (*Expr, error) {
	f := call.Func
	switch {
	case f.Reference:
		out, err := resolve(call)
		if err != nil {
			return nil, located(call.At, err)
		}
		return out, nil
	case call.Arg().IsValue():
		v, err := f.Apply(call.Arg().Value)
		if err != nil {
			return nil, located(call.At, err)
		}
		return Constant(v, call.At), nil
	case f.Partial != nil:
		return f.Partial(call)
	}
	return call, nil
}

// located gives an error the place of the call, unless it has one.
func located(at source.Place, err error) error {
	if e, ok := err.(*Error); ok {
		if !e.At.Known() {
			e.At = at
		}
		return e
	}
	return &Error{At: at, Err: err}
}
