package filetemplate

import (
	"text/template/parse"

	"github.com/hotc-dev/hotc/compiler/lists"
)

// Step is a read of an input, or a fork of the control flow.
type Step struct {
	Offset int // in the template's text
	// Input is the input read; "" for a fork, and if the name is computed (Any).
	Input string
	Any   bool
	Ways  [][]Step // of a fork: exactly one is taken
}

// Steps are the template's reads, in the order of execution.
func (t *Template) Steps() []Step { return t.steps }

// call is a call of a defined template, with the inputs or another value as its dot.
type call struct {
	name   string
	inputs bool
}

// walk visits the main template and those that it calls; templates never called are
// not visited.
type walk struct {
	t      *Template
	called map[call]bool // calls in progress: a recursion reads nothing new
	calls  int
	wrong  *Error // the first one
}

// scope says whether the dot and `$` are the inputs.
type scope struct{ dot, dollar bool }

// maxCalls limits the calls of defined templates that are followed.
const maxCalls = 10000

// leaves says that the rest of a loop's body may not be reached.
type leaves bool

func (w *walk) template(c call) ([]Step, leaves) {
	tree := w.t.trees[c.name]
	if w.calls++; tree == nil || w.called[c] || w.calls > maxCalls {
		return nil, false
	}
	w.called[c] = true
	defer delete(w.called, c)
	return w.node(tree.Root, scope{c.inputs, c.inputs})
}

func (w *walk) list(nodes []parse.Node, s scope) ([]Step, leaves) {
	var steps []Step
	for i, n := range nodes {
		own, left := w.node(n, s)
		steps = append(steps, own...)
		if left {
			rest, _ := w.list(nodes[i+1:], s)
			return append(steps, fork(n, nil, rest)...), true
		}
	}
	return steps, false
}

func (w *walk) node(n parse.Node, s scope) ([]Step, leaves) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			return w.list(n.Nodes, s)
		}
	case *parse.ActionNode:
		return w.pipe(n.Pipe, s), false
	case *parse.IfNode:
		return w.branch(&n.BranchNode, s, s)
	case *parse.WithNode:
		return w.branch(&n.BranchNode, s, scope{false, s.dollar})
	case *parse.RangeNode:
		steps, _ := w.branch(&n.BranchNode, s, scope{false, s.dollar}) // a break leaves only the loop
		return steps, false
	case *parse.TemplateNode:
		if passesInputs(n.Pipe, s.dot, s.dollar) {
			own, _ := w.template(call{n.Name, true})
			return own, false
		}
		steps := w.pipe(n.Pipe, s)
		own, _ := w.template(call{n.Name, false})
		return append(steps, own...), false
	case *parse.BreakNode, *parse.ContinueNode:
		return nil, true
	}
	return nil, false
}

func (w *walk) branch(n *parse.BranchNode, s, inner scope) ([]Step, leaves) {
	steps := w.pipe(n.Pipe, s)
	then, left := w.node(n.List, inner)
	other, leftOther := w.node(n.ElseList, s)
	return append(steps, fork(n, then, other)...), left || leftOther
}

func fork(n parse.Node, ways ...[]Step) []Step {
	for _, way := range ways {
		if len(way) > 0 {
			return []Step{{Offset: int(n.Position()), Ways: ways}}
		}
	}
	return nil
}

func (w *walk) pipe(p *parse.PipeNode, s scope) []Step {
	if p == nil {
		return nil
	}
	var steps []Step
	for i, c := range p.Cmds {
		steps = append(steps, w.command(c, i > 0, s)...)
	}
	return steps
}

func (w *walk) command(c *parse.CommandNode, piped bool, s scope) []Step {
	function := ""
	if name, is := c.Args[0].(*parse.IdentifierNode); is {
		function = name.Ident
	}
	switch function {
	case inputFunction:
		if len(c.Args) == 2 && !piped {
			if name, literal := c.Args[1].(*parse.StringNode); literal {
				return w.read(c.Pos, name.Pos, []string{name.Text})
			}
		}
		return append(w.arguments(c.Args[1:], s), Step{Offset: int(c.Pos), Any: true})
	case "and", "or": // short-circuit
		if len(c.Args) > 2 {
			return append(w.argument(c.Args[1], s), fork(c, nil, w.arguments(c.Args[2:], s))...)
		}
	}
	return w.arguments(c.Args, s)
}

func (w *walk) arguments(args []parse.Node, s scope) []Step {
	return lists.Flat(args, func(a parse.Node) []Step { return w.argument(a, s) })
}

func (w *walk) argument(n parse.Node, s scope) []Step {
	if isRoot(n, s.dot, s.dollar) {
		return lists.Map(w.t.inputs, func(name string) Step { return Step{Offset: int(n.Position()), Input: name} })
	}
	switch n := n.(type) {
	case *parse.PipeNode:
		return w.pipe(n, s)
	case *parse.ChainNode:
		return w.argument(n.Node, s)
	case *parse.IdentifierNode:
		if n.Ident == inputFunction {
			return []Step{{Offset: int(n.Pos), Any: true}}
		}
	case *parse.FieldNode:
		if s.dot {
			return w.read(n.Pos, n.Pos, n.Ident)
		}
	case *parse.VariableNode:
		if s.dollar && n.Ident[0] == "$" {
			return w.read(n.Pos, n.Pos, n.Ident[1:])
		}
	}
	return nil
}

func (w *walk) read(pos, named parse.Pos, path []string) []Step {
	name, _ := w.t.input(path)
	if name == "" {
		if w.wrong == nil {
			w.wrong = undeclared(named, path[0], w.t.inputs)
		}
		return nil
	}
	return []Step{{Offset: int(pos), Input: name}}
}
