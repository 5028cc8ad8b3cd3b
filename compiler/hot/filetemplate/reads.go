package filetemplate

import (
	"text/template/parse"
)

// Step is a read of an input, or a place where the template's way forks.
type Step struct {
	Offset int // in the template's text
	// Input is what is read; "" at a fork, and where the name is computed (Any).
	Input string
	Any   bool
	Ways  [][]Step // of a fork: exactly one is taken
}

// Steps are the template's reads, in the order in which it comes to them.
func (t *Template) Steps() []Step { return t.steps }

// Inputs are the inputs that the template may read.
func (t *Template) Inputs() map[string]bool {
	found := map[string]bool{}
	var collect func([]Step)
	collect = func(steps []Step) {
		for _, s := range steps {
			if s.Any {
				for _, name := range t.inputs {
					found[name] = true
				}
			}
			if s.Input != "" {
				found[s.Input] = true
			}
			for _, way := range s.Ways {
				collect(way)
			}
		}
	}
	collect(t.steps)
	return found
}

type walk struct {
	t      *Template
	called map[string]bool // those that are being walked: a recursion reads nothing new
	calls  int
}

// maxCalls is how many calls of defined templates are followed.
const maxCalls = 10000

// leaves says that what follows in a loop's body is perhaps not reached.
type leaves bool

func (w *walk) template(name string) ([]Step, leaves) {
	t := w.t.main.Lookup(name)
	if w.calls++; t == nil || t.Tree == nil || w.called[name] || w.calls > maxCalls {
		return nil, false
	}
	w.called[name] = true
	defer delete(w.called, name)
	return w.node(t.Root)
}

func (w *walk) list(nodes []parse.Node) ([]Step, leaves) {
	var steps []Step
	for i, n := range nodes {
		own, left := w.node(n)
		steps = append(steps, own...)
		if left {
			rest, _ := w.list(nodes[i+1:])
			return append(steps, fork(n, nil, rest)...), true
		}
	}
	return steps, false
}

func (w *walk) node(n parse.Node) ([]Step, leaves) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			return w.list(n.Nodes)
		}
	case *parse.ActionNode:
		return w.pipe(n.Pipe), false
	case *parse.IfNode:
		return w.branch(&n.BranchNode)
	case *parse.WithNode:
		return w.branch(&n.BranchNode)
	case *parse.RangeNode:
		steps, _ := w.branch(&n.BranchNode) // a break leaves no more than the loop
		return steps, false
	case *parse.TemplateNode:
		steps := w.pipe(n.Pipe)
		own, _ := w.template(n.Name)
		return append(steps, own...), false
	case *parse.BreakNode, *parse.ContinueNode:
		return nil, true
	}
	return nil, false
}

func (w *walk) branch(n *parse.BranchNode) ([]Step, leaves) {
	steps := w.pipe(n.Pipe)
	then, left := w.node(n.List)
	other, leftOther := w.node(n.ElseList)
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

func (w *walk) pipe(p *parse.PipeNode) []Step {
	if p == nil {
		return nil
	}
	var steps []Step
	for i, c := range p.Cmds {
		steps = append(steps, w.command(c, i > 0)...)
	}
	return steps
}

func (w *walk) command(c *parse.CommandNode, piped bool) []Step {
	function := ""
	if name, is := c.Args[0].(*parse.IdentifierNode); is {
		function = name.Ident
	}
	switch function {
	case inputFunction:
		if len(c.Args) == 2 && !piped {
			if name, literal := c.Args[1].(*parse.StringNode); literal {
				return []Step{{Offset: int(c.Pos), Input: name.Text}}
			}
		}
		return append(w.arguments(c.Args[1:]), Step{Offset: int(c.Pos), Any: true})
	case inputsFunction:
		var steps []Step
		for _, name := range w.t.inputs {
			steps = append(steps, Step{Offset: int(c.Pos), Input: name})
		}
		return steps
	case "and", "or": // look at their arguments one by one, until the outcome is known
		if len(c.Args) > 2 {
			return append(w.argument(c.Args[1]), fork(c, nil, w.arguments(c.Args[2:]))...)
		}
	}
	return w.arguments(c.Args)
}

func (w *walk) arguments(args []parse.Node) []Step {
	var steps []Step
	for _, a := range args {
		steps = append(steps, w.argument(a)...)
	}
	return steps
}

func (w *walk) argument(n parse.Node) []Step {
	switch n := n.(type) {
	case *parse.PipeNode:
		return w.pipe(n)
	case *parse.ChainNode:
		return w.argument(n.Node)
	}
	return nil
}
