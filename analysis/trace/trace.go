// Package trace follows an expression back to what it is made of: through values
// that roles' outputs have of their own, parameters that one stack hands to
// another, outputs of nested stacks and groups, and OS::Heat::Value. It answers
// one kind of question, "does anything like this reach here, and by which way?",
// and remembers the answer for each parameter and output on the way.
package trace

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Origin is something that values are made of: a parameter, or the output of a
// role.
type Origin struct {
	Stack     *program.Stack
	Parameter *hot.Parameter
	Output    *program.Output
}

// Path is the way from an expression to an origin.
type Path struct {
	At   source.Place // the reference in the expression itself
	Hops []source.Note
	Origin
}

// Finder finds the way from expressions to one kind of origin.
type Finder struct {
	// Wanted says what is looked for.
	Wanted func(Origin) bool
	// Ends are the calls through which nothing of it passes; nil for none.
	Ends func(call *hot.Expr) bool

	program *program.Program
	known   map[station]*Path
}

// station is a named value on the way.
type station struct {
	stack  *program.Stack
	name   string // of a parameter; of a nested output with "/" before it
	output *program.Output
}

// NewFinder makes a finder for a program.
func NewFinder(p *program.Program, wanted func(Origin) bool, ends func(*hot.Expr) bool) *Finder {
	return &Finder{Wanted: wanted, Ends: ends, program: p, known: map[station]*Path{}}
}

// Find finds the first way, in the order of the text; nil if there is none.
func (f *Finder) Find(s *program.Stack, e *hot.Expr) *Path {
	var found *Path
	e.Walk(func(x *hot.Expr) bool {
		if found != nil || x.Kind == hot.CallExpr && f.Ends != nil && f.Ends(x) {
			return false
		}
		if x.Kind == hot.CallExpr {
			found = f.reference(s, x)
		}
		return found == nil
	})
	return found
}

func (f *Finder) reference(s *program.Stack, call *hot.Expr) *Path {
	words, more := words(call.Arg())
	switch meaning := call.Func.Meaning(); {
	case len(words) == 0:
	case meaning == "get_param":
		return f.parameter(s, call, words[0])
	case meaning == "get_attr":
		return f.attribute(s, call, words, more)
	}
	return nil
}

// words are the names that a reference's argument begins with; more says that something
// else follows: an index, or a name that is computed.
func words(arg *hot.Expr) (words []string, more bool) {
	switch v := arg.Value.(type) {
	case string:
		return []string{v}, false
	case []hot.Value:
		for _, x := range v {
			word, isName := x.(string)
			if !isName {
				return words, true
			}
			words = append(words, word)
		}
		return words, false
	}
	if arg.Kind == hot.ListExpr {
		for _, x := range arg.Items {
			word, isName := x.Value.(string)
			if !isName {
				return words, true
			}
			words = append(words, word)
		}
	}
	return words, false
}

func (f *Finder) parameter(s *program.Stack, call *hot.Expr, name string) *Path {
	p := s.Template.Parameter(name)
	if p == nil {
		return nil
	}
	if o := (Origin{Stack: s, Parameter: p}); f.Wanted(o) {
		return &Path{At: call.At, Origin: o}
	}
	a := s.Arguments[name]
	if a == nil {
		return nil
	}
	around := s.Around()
	return f.through(station{stack: s, name: name}, call, around, a.Expr, fmt.Sprintf("%s hands it over as %q", nameOf(around), name))
}

// nameOf names a stack in a sentence.
func nameOf(s *program.Stack) string {
	if s.Path == "" {
		return "the root stack"
	}
	return fmt.Sprintf("the stack %q", s.Path)
}

func (f *Finder) attribute(s *program.Stack, call *hot.Expr, words []string, more bool) *Path {
	r := s.Template.Resource(words[0])
	switch n := s.NestOf(words[0]); {
	case r == nil || s.Absent(words[0]):
		return nil
	case n != nil && len(n.Members) > 0:
		return f.nest(call, n, words[1:], more)
	case len(words) < 2: // no computed name is one of a role's output: Heat has none
		return nil
	case s.Type(r) == "OS::Heat::Value" && words[1] == "value" && r.Property("value") != nil:
		value := s.Template.Expr(r.Property("value"))
		return f.through(station{stack: s, name: "/" + r.Name}, call, s, value, fmt.Sprintf("by resource %q", r.Name))
	}
	if server := s.Server(words[0]); server != nil {
		return f.output(call, server.Output(words[1]))
	}
	return nil
}

// nest is an attribute of a nested stack, or of the members of a group: what one of
// them gives reaches here.
func (f *Finder) nest(call *hot.Expr, n *program.Nest, words []string, more bool) *Path {
	only := ""
	switch {
	case len(words) == 0:
	case n.Group && strings.HasPrefix(words[0], "resource."):
		parts := strings.SplitN(words[0], ".", 3)
		only, words = parts[1], append(parts[2:], words[1:]...)
	case n.Group && words[0] == "attributes":
		words = words[1:]
	}
	for _, m := range n.Members {
		if only != "" && m.Name != only {
			continue
		}
		var found *Path
		switch {
		case m.Stack != nil:
			found = f.nested(call, m.Stack, words, more)
		case m.Server != nil && len(words) > 0:
			found = f.output(call, m.Server.Output(words[0]))
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// nested is an output of a nested stack, any if its name is computed, or an attribute of a
// resource in it.
func (f *Finder) nested(call *hot.Expr, s *program.Stack, words []string, more bool) *Path {
	if len(words) == 0 {
		return f.outputs(call, s, func(string) bool { return more })
	}
	if inner, ok := strings.CutPrefix(words[0], "resource."); ok { // heat: template_resource.py, get_attribute
		resource, attribute, found := strings.Cut(inner, ".")
		if !found {
			if len(words) < 2 {
				return nil
			}
			attribute = words[1]
		}
		return f.attribute(s, call, []string{resource, attribute}, false)
	}
	return f.outputs(call, s, func(output string) bool { return output == words[0] })
}

// outputs is the first of some outputs of a nested stack that leads anywhere.
func (f *Finder) outputs(call *hot.Expr, s *program.Stack, among func(output string) bool) *Path {
	for _, o := range s.Template.Outputs {
		if !among(o.Name) {
			continue
		}
		if found := f.through(station{stack: s, name: "//" + o.Name}, call, s, s.Template.Expr(o.Value), fmt.Sprintf("by output %q of the stack %q", o.Name, s.Path)); found != nil {
			return found
		}
	}
	return nil
}

func (f *Finder) output(call *hot.Expr, o *program.Output) *Path {
	if o == nil {
		return nil
	}
	if origin := (Origin{Stack: o.Role.Server.Stack, Output: o}); f.Wanted(origin) {
		return &Path{At: call.At, Origin: origin}
	}
	if o.Value == nil {
		return nil
	}
	return f.through(station{output: o}, call, o.Role.Server.Stack, o.Value, fmt.Sprintf("by output %q of role %s", o.Name, o.Role.Key()))
}

// through goes on behind a named value. While it is looked at, a value that needs
// itself leads nowhere.
func (f *Finder) through(at station, call *hot.Expr, s *program.Stack, e *hot.Expr, how string) *Path {
	behind, looked := f.known[at]
	if !looked {
		f.known[at] = nil
		behind = f.Find(s, e)
		f.known[at] = behind
	}
	if behind == nil {
		return nil
	}
	return &Path{At: call.At, Origin: behind.Origin, Hops: append([]source.Note{{At: behind.At, Message: how}}, behind.Hops...)}
}
