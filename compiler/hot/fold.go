package hot

import (
	"fmt"
	"slices"

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

// absent is what an `if` without an else is when its condition is false: the list
// item or map entry around it is left out. Heat says Ellipsis
// (heat/engine/function.py, resolve).
type absent struct{}

func (e *Expr) isAbsent() bool {
	if e.Kind != ValueExpr {
		return false
	}
	_, is := e.Value.(absent)
	return is
}

// orNull is null in the place of what is left out, where nothing can be left out.
func (e *Expr) orNull() *Expr {
	if e.isAbsent() {
		return Constant(nil, e.At)
	}
	return e
}

// Fold evaluates as much of an expression as the references allow. The one
// evaluator serves the compiler, where much is left over, and the agent, where
// nothing is.
func Fold(e *Expr, resolve Resolve) (*Expr, error) {
	if e.Kind == ValueExpr {
		return e, nil
	}
	f := folder{resolve: resolve, work: work{left: maxWork}}
	out, err := f.fold(e)
	if err != nil {
		return nil, err
	}
	return out.orNull(), nil
}

// folder is one run of Fold.
type folder struct {
	resolve    Resolve
	work       work
	conditions map[*Expr]*Expr // folded; nil while it is being folded
	parts      []part          // of the lists and maps that are being folded
}

// maxWork is how many bytes of values one expression may make. Stock Heat's
// templates have half a megabyte.
const maxWork = 64 << 20

// What lists and maps cost, about.
const (
	perItem  = 24
	perEntry = 64
)

// work bounds what the functions of one expression make: a few lines of nested
// repeats, or of replacements, would fill any memory.
type work struct{ left int }

func (w *work) spend(n int) error {
	if n > w.left || n < 0 {
		return fmt.Errorf("the expression grows beyond %d MiB", maxWork>>20)
	}
	w.left -= n
	return nil
}

func (f *folder) fold(e *Expr) (*Expr, error) {
	p, err := f.part(e)
	if err != nil {
		return nil, err
	}
	return p.at(e.At), nil
}

// part is a folded expression on its way into the one around it. A list or map that
// is known is only its value: most are parts of a larger value, and need no
// expression of their own.
type part struct {
	expr  *Expr // nil where there is only a value
	value Value
}

// at is the part as an expression.
func (p part) at(place source.Place) *Expr {
	if p.expr == nil {
		return Constant(p.value, place)
	}
	return p.expr
}

// known gives the value, if the part has one and is there at all.
func (p part) known() (Value, bool) {
	if p.expr == nil {
		return p.value, true
	}
	return p.expr.Value, p.expr.IsValue() && !p.expr.isAbsent()
}

func (f *folder) part(e *Expr) (part, error) {
	switch e.Kind {
	case ListExpr, MapExpr:
		mark := len(f.parts)
		defer func() { f.parts = f.parts[:mark] }()
		return f.collection(e)
	case CallExpr:
		out, err := f.call(e)
		return part{expr: out}, err
	}
	return part{expr: e}, nil
}

// collection folds a list or map; its parts stay behind those of the one around it.
func (f *folder) collection(e *Expr) (part, error) {
	known, same, mark := true, true, len(f.parts)
	for _, x := range e.Items {
		p, err := f.part(x)
		if err != nil {
			return part{}, err
		}
		f.parts = append(f.parts, p)
		_, is := p.known()
		known, same = known && is, same && p.expr == x
	}
	parts := f.parts[mark:]
	switch {
	case known:
		return part{value: e.valueOf(parts)}, nil
	case same:
		return part{expr: e.collapse()}, nil
	}
	items := make([]*Expr, len(parts))
	for i, p := range parts {
		items[i] = p.at(e.Items[i].At)
	}
	return part{expr: e.with(items).collapse()}, nil
}

// valueOf is the value of a list or map whose parts are known.
func (e *Expr) valueOf(parts []part) Value {
	values := make([]Value, len(parts))
	for i, p := range parts {
		values[i], _ = p.known()
	}
	if e.Kind == ListExpr {
		return values
	}
	return DictOf(e.Keys, values)
}

// with is the list or map with other items, itself if they are the same.
func (e *Expr) with(items []*Expr) *Expr {
	if len(items) == 0 || &items[0] == &e.Items[0] {
		return e
	}
	return &Expr{Kind: e.Kind, At: e.At, Items: items, Keys: e.Keys}
}

// items folds items; what comes back is the same slice if nothing changed.
func (f *folder) items(items []*Expr) ([]*Expr, error) {
	out := items
	for i, x := range items {
		y, err := f.fold(x)
		if err != nil {
			return nil, err
		}
		if y != x {
			if &out[0] == &items[0] {
				out = slices.Clone(items)
			}
			out[i] = y
		}
	}
	return out, nil
}

func (f *folder) call(call *Expr) (*Expr, error) {
	fn := call.Func
	if fn.Check != nil {
		if err := fn.Check(call.Arg()); err != nil {
			return nil, located(call.At, err)
		}
	}
	if fn.Lazy != nil {
		out, err := fn.Lazy(f, call)
		if err != nil {
			return nil, located(call.At, err)
		}
		return out, nil
	}
	arg, err := f.argument(fn, call.Arg())
	if err != nil {
		return nil, err
	}
	out, err := f.apply(call, arg)
	if err != nil {
		return nil, located(call.At, err)
	}
	return out, nil
}

// withArg is the call with another argument, itself if it is the same.
func (e *Expr) withArg(arg *Expr) *Expr {
	if arg == e.Arg() {
		return e
	}
	return &Expr{Kind: CallExpr, Func: e.Func, At: e.At, Items: []*Expr{arg}, names: e.names}
}

// argument folds a call's argument as the function takes it apart.
func (f *folder) argument(fn *Function, arg *Expr) (*Expr, error) {
	switch {
	case arg.Kind == MapExpr && fn.Parts != nil:
		return f.namedParts(fn, arg)
	case arg.Kind == ListExpr && fn.Positional > 0:
		items, err := f.items(arg.Items)
		if err != nil {
			return nil, err
		}
		for i := range items[:min(len(items), fn.Positional)] {
			if items[i].isAbsent() {
				items[i] = items[i].orNull() // it changed, so this is our slice
			}
		}
		return arg.with(items).collapse(), nil
	}
	out, err := f.fold(arg)
	if err != nil {
		return nil, err
	}
	return out.orNull(), nil
}

// namedParts folds those entries of the argument that Heat evaluates, and drops
// the others once they are checked.
func (f *folder) namedParts(fn *Function, arg *Expr) (*Expr, error) {
	out := &Expr{Kind: MapExpr, At: arg.At, Keys: make([]string, 0, len(arg.Keys)), Items: make([]*Expr, 0, len(arg.Items))}
	for i, k := range arg.Keys {
		x := arg.Items[i]
		if !slices.Contains(fn.Parts, k) {
			settled, err := f.unused(x)
			if err != nil {
				return nil, err
			}
			if !settled {
				out.Keys, out.Items = append(out.Keys, k), append(out.Items, x)
			}
			continue
		}
		y, err := f.fold(x)
		if err != nil {
			return nil, err
		}
		out.Keys, out.Items = append(out.Keys, k), append(out.Items, y.orNull())
	}
	return out.collapse(), nil
}

// unused checks an expression that Heat parses and validates but never evaluates:
// the shape of every call, the conditions, and the attributes that are asked for.
// It is not settled while that depends on something unknown.
func (f *folder) unused(e *Expr) (settled bool, err error) {
	if e.Kind != CallExpr {
		return f.unusedParts(e.Items)
	}
	if e.Func.Check != nil {
		if err := e.Func.Check(e.Arg()); err != nil {
			return false, located(e.At, err)
		}
	}
	items, _ := e.Arg().list()
	switch e.Func.Meaning() {
	case "if":
		condition, err := f.condition(items[0], e.names)
		switch {
		case err != nil || !condition.IsValue():
			return false, err
		case condition.Value == true:
			return f.unused(items[1])
		}
		return f.unusedParts(items[2:])
	case "get_attr":
		n := min(2, len(items))
		if _, err := f.call(e.withArg(&Expr{Kind: ListExpr, At: e.Arg().At, Items: items[:n]})); err != nil {
			return false, err
		}
		return f.unusedParts(items[n:])
	}
	return f.unused(e.Arg())
}

func (f *folder) unusedParts(items []*Expr) (settled bool, err error) {
	settled = true
	for _, x := range items {
		s, err := f.unused(x)
		if err != nil {
			return false, err
		}
		settled = settled && s
	}
	return settled, nil
}

// apply computes a call of a folded argument, if it can be computed.
func (f *folder) apply(call, arg *Expr) (*Expr, error) {
	fn := call.Func
	switch {
	case fn.Reference:
		if arg.IsValue() && fn.Apply != nil {
			if _, err := fn.Apply(&f.work, arg.Value); err != nil {
				return nil, err
			}
		}
		return f.resolve(call.withArg(arg))
	case arg.IsValue() && fn.Apply != nil:
		v, err := fn.Apply(&f.work, arg.Value)
		if err == errLeftToHeat {
			return call.withArg(arg), nil
		}
		if err != nil {
			return nil, err
		}
		return Constant(v, call.At), nil
	case fn.Partial != nil && !arg.IsValue():
		return fn.Partial(call.withArg(arg))
	}
	return call.withArg(arg), nil
}

// errLeftToHeat is what Apply says of a call that only Heat can compute.
var errLeftToHeat = fmt.Errorf("only Heat can compute this")

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
