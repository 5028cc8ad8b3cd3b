package hot

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Resolve resolves the references in an expression: get_param, get_attr,
// get_resource, get_file and a plan's $cell and $deploy. It receives the call with
// its argument folded and returns a value, another expression, or the call itself.
type Resolve func(call *Expr) (*Expr, error)

// Error is a failure of an expression, with its position.
type Error struct {
	At      source.Place
	Message string
	Err     error // of a reference
	// NoCondition says that it names an unknown condition, which Heat refuses only where it
	// evaluates the name.
	NoCondition bool
}

// Reason is the error without its position.
func (e *Error) Reason() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

// Report adds the failure of an expression, or of something it depends on.
func Report(diags *source.Diagnostics, code source.Code, at source.Place, err error) {
	if diags.AddAt(at, err, false) {
		return
	}
	message := err.Error()
	if e, is := err.(*Error); is {
		at, message = e.At, e.Reason()
	}
	diags.Error(code, at, message, "")
}

func (e *Error) Error() string {
	text := e.Reason()
	if e.At.Known() {
		return e.At.String() + ": " + text
	}
	return text
}

// Unwrap returns the error of a reference.
func (e *Error) Unwrap() error { return e.Err }

func errorf(at source.Place, format string, args ...any) *Error {
	return &Error{At: at, Message: fmt.Sprintf(format, args...)}
}

// absent is the value of an `if` without an else whose condition is false: the list
// item or map entry around it is omitted. Heat uses Ellipsis
// (heat/engine/function.py, resolve).
type absent struct{}

func (e *Expr) isAbsent() bool {
	if e.Kind != ValueExpr {
		return false
	}
	_, is := e.Value.(absent)
	return is
}

// orNull replaces an absent value by null, where nothing can be omitted.
func (e *Expr) orNull() *Expr {
	if e.isAbsent() {
		return Constant(nil, e.At)
	}
	return e
}

// Fold evaluates as much of an expression as the references allow. The same evaluator
// serves the compiler, which leaves residuals, and the agent, which leaves none.
func Fold(e *Expr, resolve Resolve) (*Expr, error) { return fold(e, resolve, nil) }

func fold(e *Expr, resolve Resolve, joiner Joiner) (*Expr, error) {
	if e.Kind == ValueExpr {
		return e, nil
	}
	f := folder{resolve: resolve, isFunction: isFunctionName, work: work{left: maxWork}, joiner: joiner}
	out, err := f.fold(e)
	if err != nil {
		return nil, err
	}
	return out.orNull(), nil
}

// Fold reads a node as an expression of the template and folds it, without allocating
// expressions for what is known.
func (t *Template) Fold(n *yaml.Node, resolve Resolve) (*Expr, error) {
	f := t.spare.Swap(nil) // calls may nest, or run in parallel
	if f == nil {
		f = &pooledFolder{}
	}
	f.folder = folder{resolve: resolve, isFunction: isFunctionName, work: work{left: maxWork}, parts: f.room[:0]}
	defer func() {
		*f = pooledFolder{}
		t.spare.Store(f)
	}()
	r := exprReader{file: t.File, table: t.Functions, parts: &f.parts, folder: &f.folder}
	p := r.part(n, t.Functions.expressions)
	if r.err != nil {
		return nil, r.err
	}
	return p.orNull().at(t.Place(n)), nil
}

// folder is one run of Fold.
type folder struct {
	resolve    Resolve
	isFunction func(name string) bool // in some version of HOT
	work       work
	conditions map[*Expr]*Expr // folded; nil while it is being folded
	parts      partStack       // of the lists and maps being folded
	joiner     Joiner          // nil where the members of groups are not known yet
}

// pooledFolder is a folder with room for the first parts, reused by the next run.
type pooledFolder struct {
	folder
	room [8]part
}

// maxWork limits the bytes of values that one expression creates. Stock Heat limits
// templates to half a megabyte.
const maxWork = 16 << 20

// The approximate cost of list items and map entries.
const (
	perItem  = 24
	perEntry = 64
)

// Size is the approximate size of the values of an expression in bytes.
func Size(e *Expr) int {
	size := 0
	for x := range e.Parts() {
		if size += perItem; x.IsValue() {
			size += wholeSize(x.Value)
		}
	}
	return size
}

func wholeSize(v value.Value) int {
	size := perItem
	switch v := v.(type) {
	case string:
		size += len(v)
	case []value.Value:
		for _, x := range v {
			size += wholeSize(x)
		}
	case *value.Dict:
		for k, x := range v.All() {
			size += len(k) + perEntry + wholeSize(x)
		}
	}
	return size
}

// work bounds what the functions of one expression create: a few lines of nested
// repeats or replacements could exhaust the memory.
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

func (f *folder) part(e *Expr) (part, error) {
	switch e.Kind {
	case ListExpr, MapExpr:
		return f.collection(e, 0)
	case CallExpr:
		return f.call(e)
	}
	return part{expr: e}, nil
}

// collection folds a list or map, whose first items keep their positions; its parts
// are pushed after those of the enclosing one.
func (f *folder) collection(e *Expr, inPlace int) (part, error) {
	mark := len(f.parts)
	defer func() { f.parts = f.parts[:mark] }()
	for i, x := range e.Items {
		p, err := f.part(x)
		if err != nil {
			return part{}, err
		}
		if i < inPlace {
			p = p.orNull()
		}
		f.parts.push(p)
	}
	return e.of(f.parts[mark:]), nil
}

func (f *folder) call(call *Expr) (part, error) {
	fn := call.Func
	if fn.Check != nil {
		if err := fn.Check(call.arg); err != nil {
			return part{}, located(call.At, err)
		}
	}
	if fn.Lazy != nil {
		out, err := fn.Lazy(f, call)
		if err != nil {
			return part{}, located(call.At, err)
		}
		return part{expr: out}, nil
	}
	arg, err := f.argument(fn, call.arg)
	if err != nil {
		return part{}, err
	}
	out, err := f.apply(call, arg)
	if err != nil {
		return part{}, located(call.At, err)
	}
	return out, nil
}

// withArg is the call with another argument; e itself if it is the same.
func (e *Expr) withArg(arg *Expr) *Expr {
	if arg == e.arg {
		return e
	}
	return &Expr{Kind: CallExpr, Func: e.Func, At: e.At, arg: arg, names: e.names}
}

// argument folds a call's argument in the way the function unpacks it.
func (f *folder) argument(fn *Function, arg *Expr) (part, error) {
	switch {
	case arg.Kind == MapExpr && fn.Parts != nil:
		return f.namedParts(fn, arg)
	case arg.Kind == ListExpr && fn.Positional > 0:
		return f.collection(arg, fn.Positional)
	}
	p, err := f.part(arg)
	return p.orNull(), err
}

// namedParts folds the entries of the argument that Heat evaluates, and drops the
// others once checked.
func (f *folder) namedParts(fn *Function, arg *Expr) (part, error) {
	mark := len(f.parts)
	defer func() { f.parts = f.parts[:mark] }()
	for i := 0; i < len(arg.Keys); i++ {
		x, p := arg.Items[i], part{expr: arg.Items[i]}
		var err error
		if slices.Contains(fn.Parts, arg.Keys[i]) {
			p, err = f.part(x)
		} else if settled, wrong := f.unused(x); settled {
			arg = arg.without(i)
			i--
			continue
		} else {
			err = wrong
		}
		if err != nil {
			return part{}, err
		}
		f.parts.push(p.orNull())
	}
	return arg.of(f.parts[mark:]), nil
}

// without is the map minus an entry.
func (e *Expr) without(i int) *Expr {
	out := *e
	out.Keys, out.Items = slices.Delete(slices.Clone(e.Keys), i, i+1), slices.Delete(slices.Clone(e.Items), i, i+1)
	return &out
}

// unused checks an expression that Heat parses and validates but never evaluates:
// the form of every call, the conditions, and the attributes read. It is not settled
// while that depends on something unknown.
func (f *folder) unused(e *Expr) (settled bool, err error) {
	if e.Kind != CallExpr {
		return f.unusedParts(e.Items)
	}
	if e.Func.Check != nil {
		if err := e.Func.Check(e.arg); err != nil {
			return false, located(e.At, err)
		}
	}
	items, _ := e.arg.list()
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
		if _, err := f.call(e.withArg(&Expr{Kind: ListExpr, At: e.arg.At, Items: items[:n]})); err != nil {
			return false, err
		}
		return f.unusedParts(items[n:])
	}
	return f.unused(e.arg)
}

// Malformed returns the error of Heat for an expression that it only parses and validates, as
// it does with outputs: the later evaluation may still fail.
func (e *Expr) Malformed() error {
	f := folder{resolve: func(call *Expr) (*Expr, error) { return call, nil }, work: work{left: maxWork}}
	_, err := f.unused(e)
	return err
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

// apply computes a call with a folded argument, if possible.
func (f *folder) apply(call *Expr, arg part) (part, error) {
	fn := call.Func
	value, known := arg.known()
	left := func() *Expr { return call.withArg(arg.at(call.arg.At)) }
	switch {
	case fn.Reference:
		if known && fn.Apply != nil {
			if _, err := fn.Apply(&f.work, value); err != nil {
				return part{}, err
			}
		}
		out, err := f.resolve(left())
		return part{expr: out}, err
	case known && fn.Apply != nil:
		v, err := fn.Apply(&f.work, value)
		if err == errLeftToHeat {
			return part{expr: left()}, nil
		}
		return part{value: v}, err
	case known:
		return part{expr: left()}, nil
	}
	open := left()
	err := open.unfit()
	if err == nil && fn.Partial != nil {
		open, err = fn.Partial(f, open)
	}
	return part{expr: open}, err
}

// applied is apply for callers that need an expression.
func (f *folder) applied(call *Expr, arg part) (*Expr, error) {
	out, err := f.apply(call, arg)
	if err != nil {
		return nil, err
	}
	return out.at(call.At), nil
}

// errLeftToHeat is the error of Apply for a call that only Heat can compute.
var errLeftToHeat = fmt.Errorf("only Heat can compute this")

// located adds the call's position to an error without one.
func located(at source.Place, err error) error {
	if e, ok := err.(*Error); ok {
		if !e.At.Known() {
			e.At = at
		}
		return e
	}
	return &Error{At: at, Err: err}
}
