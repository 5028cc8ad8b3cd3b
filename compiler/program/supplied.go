package program

import (
	"io/fs"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Supplied is what the compiler knows of a deployment beside the template: values of
// parameters, and files. It remembers which of the values were used, since a
// value that was folded into the plan is pinned in the emitted template.
type Supplied struct {
	Parameters map[string]value.Value
	// ReadFile reads a file that get_file names.
	ReadFile func(name string) ([]byte, error)
	// OpenFolder opens a folder that a role's source names; what it gives stays
	// within that folder.
	OpenFolder func(name string) (fs.FS, error)
	// Unpinned says that no Heat will see the template (`hotc run`): every value may
	// be used, and none is pinned.
	Unpinned bool
	// Unpinnable are parameters whose type Heat cannot pin to a value: their values
	// stay with Heat.
	Unpinnable map[string]bool
	// Arguments are the parameters whose values the stack around hands over: who uses
	// one uses what that value was made of, and it is this that is pinned.
	Arguments map[string]func()

	used map[string]bool
}

// Resolve answers what is given; it leaves all else.
func (g *Supplied) Resolve(call *hot.Expr) (*hot.Expr, error) {
	out, err := g.Peek(call)
	if r := call.Ref(); err == nil && out != call && r.Kind == hot.ToParameter {
		g.use(r.Name)
	}
	return out, err
}

// Peek is Resolve for what only has to be looked at: the value is not folded into
// anything, and so not pinned.
func (g *Supplied) Peek(call *hot.Expr) (*hot.Expr, error) {
	switch r := call.Ref(); {
	case r.Computed:
	case r.Kind == hot.ToParameter:
		if v, given := g.Parameters[r.Name]; given && !g.Unpinnable[r.Name] {
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

// Used says whether a parameter's value was folded into something.
func (g *Supplied) Used(parameter string) bool { return g.used[parameter] }
