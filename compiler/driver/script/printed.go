package script

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/source"
)

// printer finds the inputs that a script prints to the log: by echo, printf or
// `hotc-agent get` with unredirected standard output, and by `set -x`.
type printer struct {
	walker *walker
	inputs map[string]string // names by variable
	found  map[string]source.Place
}

// printed returns the inputs that a script prints, each with the first place; "" stands
// for the arguments of any command, once all commands are traced.
func (w *walker) printed(tree *syntax.File, inputs map[string]string) map[string]source.Place {
	p := &printer{walker: w, inputs: inputs, found: map[string]source.Place{}}
	p.statements(tree.Stmts)
	return p.found
}

func (p *printer) note(name string, at syntax.Node) {
	if _, known := p.found[name]; !known {
		p.found[name] = p.walker.at(at)
	}
}

func (p *printer) statements(list []*syntax.Stmt) {
	for _, s := range list {
		if c, is := s.Cmd.(*syntax.CallExpr); is && len(c.Args) == 1 && c.Args[0].Lit() == "exec" && slices.ContainsFunc(s.Redirs, redirectsOutput) {
			return // what follows is not in the log
		}
		p.statement(s)
	}
}

// statement inspects what has the script's own standard output, so not what is piped,
// redirected or substituted, nor functions, which may be called in such a context.
func (p *printer) statement(s *syntax.Stmt) {
	if slices.ContainsFunc(s.Redirs, redirectsOutput) {
		return
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		p.call(c)
	case *syntax.Subshell:
		p.statements(c.Stmts)
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			p.statement(c.Y)
		}
	}
	for _, list := range listsIn(s.Cmd) {
		p.statements(list)
	}
}

func redirectsOutput(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.DplOut:
		return r.N == nil || r.N.Value == "1"
	case syntax.RdrAll, syntax.AppAll:
		return true
	}
	return false
}

func (p *printer) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	name, _ := literalOf(c.Args[0])
	switch name {
	case "set":
		for i, word := range c.Args[1:] {
			option, _ := literalOf(word)
			before, _ := literalOf(c.Args[i])
			if strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && strings.Contains(option, "x") || option == "xtrace" && strings.HasPrefix(before, "-") {
				p.note("", c)
			}
		}
	case "hotc-agent":
		if verb, input := agentCall(c.Args[1:]); verb == "get" && input != "" {
			p.note(input, c)
		}
	case "echo", "printf", "print":
		for _, word := range c.Args[1:] {
			p.expanded(word, c)
		}
	}
}

// expanded adds the inputs whose variables are a part of a word, unmodified.
func (p *printer) expanded(word *syntax.Word, call *syntax.CallExpr) {
	syntax.Walk(word, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			return false // its output is unknown
		case *syntax.ParamExp:
			if n.Param == nil || n.Length || n.Excl {
				return true
			}
			if input := p.inputs[n.Param.Value]; input != "" {
				p.note(input, call)
			}
		}
		return true
	})
}
