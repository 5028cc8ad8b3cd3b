package script

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// uses are the inputs that a statement itself may read, by variable, without those
// that nested statements read.
type uses struct {
	reads map[string]syntax.Node
	owns  []string // variables that it declares without a value
}

// look returns what a statement reads.
func (a *analyser) look(s *syntax.Stmt) uses {
	u := uses{reads: map[string]syntax.Node{}}
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			return n == s
		case *syntax.ParamExp:
			a.lookExpansion(&u, n)
		case *syntax.ArithmExp:
			a.lookArithmetic(&u, n)
		case *syntax.ArithmCmd:
			a.lookArithmetic(&u, n)
		case *syntax.LetClause:
			a.lookArithmetic(&u, n)
		case *syntax.CStyleLoop:
			a.lookArithmetic(&u, n)
		case *syntax.Assign:
			if n.Index != nil {
				a.lookArithmetic(&u, n.Index)
			}
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				a.lookTexts(&u, n)
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				a.lookArithmetic(&u, n)
			}
		case *syntax.DeclClause:
			a.lookDeclaration(&u, n)
		case *syntax.CallExpr:
			a.lookCall(&u, n)
		case *syntax.CoprocClause:
			a.pass(&u, n, nil)
		}
		return true
	})
	return u
}

func (a *analyser) read(u *uses, name string, at syntax.Node) {
	if _, is := a.inputs[name]; is && u.reads[name] == nil {
		u.reads[name] = at
	}
}

// all adds every input that a computed name may refer to: all except those that the script
// reads with `hotc-agent get`.
func (a *analyser) all(u *uses, at syntax.Node, but []string) {
	for name, input := range a.inputs {
		if !a.survey.asked[input] && !slices.Contains(but, name) {
			a.read(u, name, at)
		}
	}
}

// pass adds every input that a program may read from its environment.
func (a *analyser) pass(u *uses, at syntax.Node, but []string) {
	may := uses{reads: map[string]syntax.Node{}}
	a.all(&may, at, but)
	for name := range may.reads {
		a.read(u, name, at)
		a.passed[name] = true
	}
}

func (a *analyser) lookExpansion(u *uses, n *syntax.ParamExp) {
	keys := false
	if w, ok := n.Index.(*syntax.Word); ok {
		text, _ := literalOf(w)
		keys = text == "@" || text == "*"
	}
	switch {
	case n.Names != 0, n.Excl && !keys:
		a.all(u, n, nil)
	case n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P":
		a.all(u, n, nil)
	}
	if n.Param != nil {
		a.read(u, n.Param.Value, n)
	}
	if n.Index != nil {
		a.lookArithmetic(u, n.Index)
	}
	if n.Slice != nil {
		for _, x := range []syntax.ArithmExpr{n.Slice.Offset, n.Slice.Length} {
			if x != nil {
				a.lookArithmetic(u, x)
			}
		}
	}
}

// lookArithmetic finds variables in arithmetic, where they need no `$`, and where a
// variable's value is itself evaluated: it may refer to any whose name is a literal
// somewhere.
func (a *analyser) lookArithmetic(u *uses, n syntax.Node) {
	if a.lookTexts(u, n) {
		for name := range a.inputs {
			if a.survey.named[name] {
				a.read(u, name, n)
			}
		}
	}
}

// lookTexts reads the variables whose names are literals within a node, and reports
// whether there are any variables.
func (a *analyser) lookTexts(u *uses, n syntax.Node) (any bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			return false
		case *syntax.ParamExp:
			any = true
		case *syntax.Lit:
			for _, name := range identifiers(n.Value) {
				any = any || isName(name)
				a.read(u, name, n)
			}
		}
		return true
	})
	return any
}

// lookDeclaration reads a declaration in bash and ksh: one without a value hides, or
// freezes, the variable's value.
func (a *analyser) lookDeclaration(u *uses, n *syntax.DeclClause) {
	names := 0
	for _, arg := range n.Args {
		if arg.Name == nil || arg.Naked && arg.Value != nil {
			text, known := "", false
			if arg.Value != nil {
				text, known = literalOf(arg.Value)
			}
			if !known || strings.HasPrefix(text, "-") && strings.ContainsAny(text, "np") && n.Variant.Value != "export" {
				a.all(u, n, nil)
			}
			continue
		}
		names++
		if arg.Naked && n.Variant.Value != "export" || arg.Append {
			a.read(u, arg.Name.Value, arg)
		}
	}
	if names == 0 || n.Variant.Value == "nameref" {
		a.all(u, n, nil)
	}
}

func (a *analyser) lookCall(u *uses, c *syntax.CallExpr) {
	var own []string
	for _, assign := range c.Assigns {
		if assign.Append {
			a.read(u, assign.Name.Value, assign)
		}
		own = append(own, assign.Name.Value)
	}
	if len(c.Args) == 0 {
		return
	}
	run := childOf(c.Args)
	own = append(own, run.without...)
	first, _ := literalOf(c.Args[0])
	switch {
	case !run.known || run.name == "":
		a.pass(u, c, own)
	case a.survey.functions[first] != nil:
	case path.Base(run.name) == "hotc-agent":
	case builtins[run.name]:
		a.lookBuiltin(u, c, run)
	case run.bare:
	case run.readsEnvironment():
		a.pass(u, c, own)
	default:
		for name := range a.inputs {
			if isUtilitys(name) && !slices.Contains(own, name) {
				a.read(u, name, c)
				a.passed[name] = true
			}
		}
	}
}

func (a *analyser) lookBuiltin(u *uses, c *syntax.CallExpr, run child) {
	switch run.name {
	case "unset":
		a.lookUnset(u, c, run.args)
	case "trap":
		a.lookTrap(u, c, run.args)
	case "set":
		if len(run.args) == 0 {
			a.all(u, c, nil)
		}
	case "let":
		for _, w := range run.args {
			a.lookArithmetic(u, w)
		}
	case "test", "[":
		if len(wordsLike(run.args, "-v", "-R")) > 0 {
			for _, w := range run.args {
				a.lookTexts(u, w)
			}
			if !literalWithout(run.args) {
				a.all(u, c, nil)
			}
		}
	case "export", "readonly", "local", "declare", "typeset":
		names := 0
		for _, w := range run.args {
			text, literal := literalOf(w)
			name, _, value := strings.Cut(leading(w), "=")
			switch {
			case strings.HasPrefix(text, "-"):
				if strings.ContainsAny(text, "np") && run.name != "export" {
					a.all(u, c, nil)
				}
			case value && isName(name):
				names++
			case !literal:
				a.all(u, c, nil)
			default:
				names++
				if run.name != "export" {
					a.read(u, text, w)
				}
			}
		}
		if names == 0 {
			a.all(u, c, nil)
		}
	}
}

func (a *analyser) lookUnset(u *uses, c *syntax.CallExpr, args []*syntax.Word) {
	for _, w := range args {
		text, literal := literalOf(w)
		switch {
		case !literal:
			a.all(u, c, nil)
		case text == "-f":
			return
		case strings.HasPrefix(text, "-"):
		case !isName(text):
			name, _, _ := strings.Cut(text, "[")
			a.read(u, name, w)
		default:
			if _, is := a.inputs[text]; is {
				u.owns = append(u.owns, text)
			}
		}
	}
}

// lookTrap reads, where a trap is set, all that its handler and the functions it
// calls may read: a handler that waits would delay the end of a role.
func (a *analyser) lookTrap(u *uses, c *syntax.CallExpr, args []*syntax.Word) {
	if len(args) > 0 {
		if text, _ := literalOf(args[0]); text == "--" {
			args = args[1:]
		}
	}
	if len(args) < 2 || a.inHandler {
		return
	}
	a.inHandler = true
	defer func() { a.inHandler = false }()
	h := handlerOf(args[0], "")
	if !h.known {
		a.all(u, c, nil)
		return
	}
	found := map[string]bool{}
	a.deep(h.stmts, found, map[string]bool{})
	for name := range found {
		a.read(u, name, c)
	}
}

// deep collects all variables that statements and the functions they call read.
func (a *analyser) deep(list []*syntax.Stmt, found, visited map[string]bool) {
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				for name := range a.look(n).reads {
					found[name] = true
				}
			case *syntax.CallExpr:
				if len(n.Args) == 0 {
					return true
				}
				name, _ := literalOf(n.Args[0])
				if bodies := a.survey.functions[name]; bodies != nil && !visited[name] {
					visited[name] = true
					a.deep(bodies, found, visited)
				}
			}
			return true
		})
	}
}
