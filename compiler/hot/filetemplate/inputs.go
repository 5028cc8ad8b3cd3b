package filetemplate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// rewriting replaces the looks at the inputs by calls.
type rewriting struct {
	inputs []string
	main   *template.Template
	// rooted says of each defined template that has been met whether its dot is the
	// inputs.
	rooted map[string]bool
	queue  []string
}

// scope says what the dot and `$` are at a place in a template.
type scope struct {
	dot, dollar bool // the inputs
	tree        *parse.Tree
}

func (r *rewriting) declared(name string) bool { return slices.Contains(r.inputs, name) }

// rewrite goes from the main template to those that it calls. One that nobody calls
// is left as it is.
func (r *rewriting) rewrite() error {
	r.rooted = map[string]bool{ownName: true}
	r.queue = []string{ownName}
	for len(r.queue) > 0 {
		name := r.queue[0]
		r.queue = r.queue[1:]
		t := r.main.Lookup(name)
		if t == nil || t.Tree == nil {
			continue // parsing has found a call of what is not there, or it is never executed
		}
		if err := r.node(t.Root, scope{r.rooted[name], r.rooted[name], t.Tree}); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriting) node(n parse.Node, s scope) error {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, item := range n.Nodes {
			if err := r.node(item, s); err != nil {
				return err
			}
		}
	case *parse.ActionNode:
		if err := r.pipe(n.Pipe, s); err != nil {
			return err
		}
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, call(n.Pos, s.tree, printFunction))
		}
	case *parse.IfNode:
		return r.branch(&n.BranchNode, s, s)
	case *parse.WithNode:
		return r.branch(&n.BranchNode, s, scope{false, s.dollar, s.tree})
	case *parse.RangeNode:
		return r.branch(&n.BranchNode, s, scope{false, s.dollar, s.tree})
	case *parse.TemplateNode:
		return r.called(n, s)
	}
	return nil
}

func (r *rewriting) branch(n *parse.BranchNode, s, inner scope) error {
	if err := r.pipe(n.Pipe, s); err != nil {
		return err
	}
	if err := r.node(n.List, inner); err != nil {
		return err
	}
	return r.node(n.ElseList, s)
}

// called is a call of a defined template: its dot is the inputs in all calls or in
// none, so that it can be rewritten.
func (r *rewriting) called(n *parse.TemplateNode, s scope) error {
	root := n.Pipe != nil && len(n.Pipe.Decl) == 0 && len(n.Pipe.Cmds) == 1 && len(n.Pipe.Cmds[0].Args) == 1 && isRoot(n.Pipe.Cmds[0].Args[0], s)
	if root {
		n.Pipe = nil
	} else if n.Pipe != nil {
		if err := r.pipe(n.Pipe, s); err != nil {
			return err
		}
	}
	before, met := r.rooted[n.Name]
	switch {
	case !met:
		r.rooted[n.Name] = root
		r.queue = append(r.queue, n.Name)
	case before != root:
		return &Error{Offset: int(n.Pos), Message: fmt.Sprintf("template %q is called with the inputs (a dot) in one place and with something else in another", n.Name),
			Hint: "define two templates, or pass what it needs in a `dict`"}
	}
	return nil
}

func isRoot(n parse.Node, s scope) bool {
	switch n := n.(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.VariableNode:
		return s.dollar && len(n.Ident) == 1 && n.Ident[0] == "$"
	}
	return false
}

func (r *rewriting) pipe(p *parse.PipeNode, s scope) error {
	if p == nil {
		return nil
	}
	for _, c := range p.Cmds {
		for i, arg := range c.Args {
			replaced, err := r.argument(arg, s)
			if err != nil {
				return err
			}
			c.Args[i] = replaced
		}
		if err := r.named(c); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriting) argument(n parse.Node, s scope) (parse.Node, error) {
	if isRoot(n, s) {
		return pipeOf(call(n.Position(), s.tree, inputsFunction), s.tree), nil
	}
	switch n := n.(type) {
	case *parse.FieldNode:
		if s.dot {
			return r.input(n.Pos, n.Ident, s.tree)
		}
	case *parse.VariableNode:
		if s.dollar && n.Ident[0] == "$" {
			return r.input(n.Pos, n.Ident[1:], s.tree)
		}
	case *parse.PipeNode:
		return n, r.pipe(n, s)
	case *parse.ChainNode:
		inner, err := r.argument(n.Node, s)
		n.Node = inner
		return n, err
	}
	return n, nil
}

// input is the read of the input that the first keys of a path name; the rest are
// keys of its value.
func (r *rewriting) input(pos parse.Pos, path []string, tree *parse.Tree) (parse.Node, error) {
	for i := len(path); i > 0; i-- {
		name := strings.Join(path[:i], ".")
		if !r.declared(name) {
			continue
		}
		text := &parse.StringNode{NodeType: parse.NodeString, Pos: pos, Quoted: strconv.Quote(name), Text: name}
		read := pipeOf(call(pos, tree, inputFunction, text), tree)
		if i == len(path) {
			return read, nil
		}
		return &parse.ChainNode{NodeType: parse.NodeChain, Pos: pos, Node: read, Field: path[i:]}, nil
	}
	return nil, r.undeclared(pos, path[0])
}

// named checks the name in a call of `input`.
func (r *rewriting) named(c *parse.CommandNode) error {
	if len(c.Args) != 2 {
		return nil
	}
	function, is := c.Args[0].(*parse.IdentifierNode)
	name, literal := c.Args[1].(*parse.StringNode)
	if is && function.Ident == inputFunction && literal && !r.declared(name.Text) {
		return r.undeclared(name.Pos, name.Text)
	}
	return nil
}

func (r *rewriting) undeclared(pos parse.Pos, name string) error {
	e := &Error{Offset: int(pos), Message: fmt.Sprintf("the role declares no input %q", name), Undeclared: true}
	if near := hot.Nearest(name, r.inputs); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return e
}

func call(pos parse.Pos, tree *parse.Tree, function string, args ...parse.Node) *parse.CommandNode {
	name := parse.NewIdentifier(function).SetPos(pos).SetTree(tree)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: append([]parse.Node{name}, args...)}
}

func pipeOf(c *parse.CommandNode, tree *parse.Tree) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: c.Pos, Cmds: []*parse.CommandNode{c}}
}
