package program

import (
	"io/fs"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Supplied is what the compiler knows of a deployment besides the template: values of
// parameters, and files. It records which values were used, since a value folded into
// the plan is pinned in the emitted template.
type Supplied struct {
	Parameters map[string]value.Value
	// ReadFile reads the file of a get_file.
	ReadFile func(name string) ([]byte, error)
	// OpenFolder opens a folder of a role's source; the result cannot be left.
	OpenFolder func(name string) (fs.FS, error)
	// Unpinned says that no Heat will see the template (`hotc run`): every value may
	// be used, and none is pinned.
	Unpinned bool
	// Unpinnable are parameters whose type Heat cannot pin to a value: their values
	// are left to Heat.
	Unpinnable map[string]bool
	// Arguments are the parameters that the enclosing stack sets: using one means using
	// what its value depends on, and that is pinned.
	Arguments map[string]func()

	used map[string]bool
}

// Resolve resolves references to supplied values and files; it leaves others.
func (g *Supplied) Resolve(call *hot.Expr) (*hot.Expr, error) {
	out, err := g.Peek(call)
	if r := call.Ref(); err == nil && out != call && r.Kind == hot.ToParameter {
		g.use(r.Name)
	}
	return out, err
}

// Peek is Resolve for values that are only inspected: they are not folded into
// anything, and so not pinned.
func (g *Supplied) Peek(call *hot.Expr) (*hot.Expr, error) {
	switch r := call.Ref(); {
	case r.Computed:
	case r.Kind == hot.ToParameter:
		if v, known := g.Parameters[r.Name]; known && !g.Unpinnable[r.Name] {
			return hot.Constant(hot.SelectParam(v, r.Path), call.At), nil
		}
	case r.Kind == hot.ToFile:
		text, err := g.ReadFile(r.Name)
		if err != nil {
			return nil, err
		}
		return hot.Constant(string(text), call.At), nil
	}
	return call, nil
}

func (g *Supplied) use(name string) {
	if g.used == nil {
		g.used = map[string]bool{}
	}
	g.used[name] = true
	if argument := g.Arguments[name]; argument != nil {
		argument()
	}
}

// Used reports whether a parameter's value was folded into something.
func (g *Supplied) Used(parameter string) bool { return g.used[parameter] }
