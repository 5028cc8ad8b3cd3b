package script

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// placeOutputs finds, for each output that the script assigns as a variable, after
// which statements its value is kept, and after which it is published: those that no
// further assignment can follow.
func (a *analyser) placeOutputs() {
	a.leaveTrapped()
	a.keepList(a.tree.Stmts, inList, false)
	for _, h := range a.survey.trapped {
		if h.inPlace {
			a.keepList(h.stmts, inList, false)
		}
	}
	for v := range a.outputs {
		a.publish(a.tree.Stmts, v, a.trapAssigns(v))
	}
}

// leaveTrapped marks the outputs that a trap may assign in which no call can be inserted.
func (a *analyser) leaveTrapped() {
	for _, h := range a.survey.trapped {
		if h.inPlace && h.known || h.known && len(h.stmts) == 0 {
			continue
		}
		for v := range a.outputs {
			inWord := false
			syntax.Walk(h.word, func(n syntax.Node) bool {
				switch n := n.(type) {
				case *syntax.Lit:
					inWord = inWord || slices.Contains(identifiers(n.Value), v)
				case *syntax.SglQuoted:
					inWord = inWord || slices.Contains(identifiers(n.Value), v)
				}
				return true
			})
			if inWord {
				a.unpublished[v] = &obstacle{at: h.at, why: "its trap may assign the variable, and no call can be inserted there"}
				delete(a.outputs, v)
			}
		}
	}
}

// trapAssigns reports whether a trap may assign a variable.
func (a *analyser) trapAssigns(v string) bool {
	return slices.ContainsFunc(a.survey.trapped, func(h handler) bool { return !h.known || a.mayAssignAny(h.stmts, v, map[string]bool{}) })
}

// leaveWritten drops the outputs that the script itself writes, or may.
func (a *analyser) leaveWritten() {
	for v, output := range a.outputs {
		if a.survey.writesAny || a.survey.written[output] {
			delete(a.outputs, v)
		}
	}
}

// assignedOutputs returns the variables of outputs that the script may assign.
func (a *analyser) assignedOutputs() (names []string) {
	for v := range a.outputs {
		if a.mayAssignAny(a.tree.Stmts, v, map[string]bool{}) || a.trapAssigns(v) {
			names = append(names, v)
		}
	}
	slices.Sort(names)
	return names
}

// leaveUnset marks the outputs that the script unsets, which have no value when it ends.
func (a *analyser) leaveUnset() {
	syntax.Walk(a.tree, func(n syntax.Node) bool {
		c, is := n.(*syntax.CallExpr)
		if !is || len(c.Args) == 0 {
			return true
		}
		if name, _ := literalOf(c.Args[0]); name != "unset" {
			return true
		}
		for _, w := range c.Args[1:] {
			if v, _ := literalOf(w); slices.Contains(a.atEnd, v) {
				a.unpublished[v] = &obstacle{at: c, why: a.survey.obstacle.why + ", and the variable is unset when it ends"}
				a.atEnd = slices.DeleteFunc(a.atEnd, func(name string) bool { return name == v })
			}
		}
		return true
	})
}

// markUnpublished marks the assigned outputs as impossible to publish.
func (a *analyser) markUnpublished(why *obstacle) {
	for _, v := range a.assignedOutputs() {
		a.unpublished[v] = why
	}
}

func (a *analyser) afterOf(s *syntax.Stmt, st style) *after {
	if a.after[s] == nil {
		a.after[s] = &after{style: st, keeps: map[string]bool{}}
	}
	return a.after[s]
}

// publish marks the last statements of a list, at each level of nesting, that may assign
// a variable.
func (a *analyser) publish(list []*syntax.Stmt, v string, later bool) {
	if later {
		return
	}
	for i := len(list) - 1; i >= 0; i-- {
		s := list[i]
		if !a.mayAssign(s, v, map[string]bool{}) {
			continue
		}
		a.afterOf(s, inList).keeps[v] = true
		switch c := s.Cmd.(type) {
		case *syntax.Block:
			a.publish(c.Stmts, v, false)
		case *syntax.IfClause:
			for ; c != nil; c = c.Else {
				a.publish(c.Then, v, false)
			}
		case *syntax.CaseClause:
			for _, item := range c.Items {
				a.publish(item.Stmts, v, item.Op != syntax.Break)
			}
		case *syntax.CallExpr:
			if len(c.Args) == 0 {
				return
			}
			name, _ := literalOf(c.Args[0])
			bodies := a.survey.functions[name]
			if len(bodies) != 1 || a.survey.calls[name] != 1 {
				return
			}
			if body, is := bodies[0].Cmd.(*syntax.Block); is {
				a.publish(body.Stmts, v, false)
			}
		}
		return
	}
}

// keepList marks statements that assign an output in the script's own process.
func (a *analyser) keepList(list []*syntax.Stmt, st style, inFunction bool) {
	for _, s := range list {
		a.keep(s, st, inFunction)
	}
}

func (a *analyser) keep(s *syntax.Stmt, st style, inFunction bool) {
	if s.Background || s.Coprocess || s.Disown {
		return
	}
	names, any := assignedBy(s)
	for v := range a.outputs {
		if (any || names[v]) && !(inFunction && a.survey.localised[v]) {
			if st != inList && hasHereDocument(s) {
				continue
			}
			a.afterOf(s, st).keeps[v] = false
		}
	}
	inner := inList
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd, *syntax.TimeClause:
		inner = inBraces
	case *syntax.FuncDecl:
		if body, is := c.Body.Cmd.(*syntax.Block); is {
			a.keepList(body.Stmts, inList, true)
		}
	}
	for _, list := range listsIn(s.Cmd) {
		a.keepList(list, inner, inFunction)
	}
}

// listsIn returns the lists of statements within a command that the script's own process
// runs in place.
func listsIn(c syntax.Command) (lists [][]*syntax.Stmt) {
	switch c := c.(type) {
	case *syntax.Block:
		lists = append(lists, c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			lists = append(lists, c.Cond, c.Then)
		}
	case *syntax.WhileClause:
		lists = append(lists, c.Cond, c.Do)
	case *syntax.ForClause:
		lists = append(lists, c.Do)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			lists = append(lists, item.Stmts)
		}
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			lists = append(lists, []*syntax.Stmt{c.X, c.Y})
		}
	case *syntax.TimeClause:
		if c.Stmt != nil {
			lists = append(lists, []*syntax.Stmt{c.Stmt})
		}
	}
	return lists
}

// assignedBy returns the variables that a statement itself assigns; any is set if there
// may be others.
func assignedBy(s *syntax.Stmt) (names map[string]bool, any bool) {
	names = map[string]bool{}
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			return n == s
		case *syntax.ParamExp:
			if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				names[n.Param.Value] = true
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				arithmeticName(n.X, names)
			}
		case *syntax.BinaryArithm:
			if strings.HasSuffix(n.Op.String(), "=") && n.Op != syntax.Eql && n.Op != syntax.Neq && n.Op != syntax.Leq && n.Op != syntax.Geq {
				arithmeticName(n.X, names)
			}
		case *syntax.ForClause:
			if loop, is := n.Loop.(*syntax.WordIter); is {
				names[loop.Name.Value] = true
			}
		case *syntax.DeclClause:
			if n.Variant.Value != "local" {
				for _, arg := range n.Args {
					if arg.Name != nil && !arg.Naked {
						names[arg.Name.Value] = true
					}
				}
			}
		case *syntax.CallExpr:
			any = assignedByCall(n, names) || any
		}
		return true
	})
	return names, any
}

func arithmeticName(n syntax.ArithmExpr, names map[string]bool) {
	if w, is := n.(*syntax.Word); is {
		for _, name := range identifiers(leading(w)) {
			names[name] = true
		}
	}
}

func assignedByCall(c *syntax.CallExpr, names map[string]bool) (any bool) {
	if len(c.Args) == 0 {
		for _, x := range c.Assigns {
			if x.Name != nil && x.Array == nil && x.Index == nil {
				names[x.Name.Value] = true
			}
		}
		return false
	}
	run := childOf(c.Args)
	switch run.name {
	case "eval", ".", "source":
		return true
	case "export", "readonly", "declare", "typeset":
		for _, w := range run.args {
			if name, _, value := strings.Cut(leading(w), "="); value {
				names[name] = true
			}
		}
	case "read", "mapfile", "readarray", "getopts", "let":
		for _, w := range run.args {
			text, literal := literalOf(w)
			any = any || !literal && run.name != "getopts" && run.name != "let"
			for _, name := range identifiers(text) {
				names[name] = true
			}
		}
	case "printf":
		if len(run.args) > 1 && leading(run.args[0]) == "-v" {
			text, literal := literalOf(run.args[1])
			names[text] = true
			return !literal
		}
	}
	return any
}

// mayAssign reports whether a statement, or what it calls, may assign a variable of
// the script's own process.
func (a *analyser) mayAssign(s *syntax.Stmt, v string, visited map[string]bool) bool {
	if s.Background || s.Coprocess || s.Disown {
		return false
	}
	if names, any := assignedBy(s); any || names[v] {
		return true
	}
	if c, is := s.Cmd.(*syntax.CallExpr); is && len(c.Args) > 0 {
		name, known := literalOf(c.Args[0])
		if !known {
			return true // it may be any function
		}
		if visited[name] || a.survey.localised[v] {
			return false
		}
		visited[name] = true
		return a.mayAssignAny(a.survey.functions[name], v, visited)
	}
	return slices.ContainsFunc(listsIn(s.Cmd), func(list []*syntax.Stmt) bool { return a.mayAssignAny(list, v, visited) })
}

func (a *analyser) mayAssignAny(list []*syntax.Stmt, v string, visited map[string]bool) bool {
	return slices.ContainsFunc(list, func(s *syntax.Stmt) bool { return a.mayAssign(s, v, visited) })
}
