package script

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// analyser finds where a script has to wait and to publish.
type analyser struct {
	inputs    map[string]string // input names by variable
	outputs   map[string]string
	survey    *survey
	tree      *syntax.File
	inHandler bool

	before map[*syntax.Stmt]*before
	after  map[*syntax.Stmt]*after
	// passed are variables that programs which the script starts may read from their environment.
	passed map[string]bool
	atEnd  []string // variables of outputs that a trap saves when the script ends
	// unpublished are variables of assigned outputs that cannot be published, and why.
	unpublished map[string]*obstacle
}

// before is what is inserted before a statement.
type before struct {
	style style
	reads map[string]syntax.Node // variables, and where each is read
	owns  []string
}

// after is what is inserted after a statement: variables whose values are kept for the
// end, and those that are published immediately.
type after struct {
	style style
	keeps map[string]bool // true if published
}

// style is the syntax in which calls are inserted.
type style uint8

const (
	inList   style = iota // wait; statement
	ifAnd                 // … && wait && statement
	ifOr                  // … || wait || statement
	inBraces              // … | { wait; statement; }
)

// anchor is where waits for a statement may be inserted: before it or an enclosing
// statement.
type anchor struct {
	stmt  *syntax.Stmt
	style style
}

// known are variables that certainly have been awaited.
type known map[string]bool

func analyse(tree *syntax.File, s *survey, inputs, outputs map[string]string) *analyser {
	a := &analyser{inputs: inputs, outputs: outputs, survey: s, tree: tree, before: map[*syntax.Stmt]*before{}, after: map[*syntax.Stmt]*after{},
		passed: map[string]bool{}, unpublished: map[string]*obstacle{}}
	if len(tree.Stmts) == 0 {
		return a
	}
	a.leaveWritten()
	if s.fixed != nil {
		a.markUnpublished(s.fixed)
		return a
	}
	if s.obstacle == nil {
		a.list(tree.Stmts, known{})
		a.placeOutputs()
		return a
	}
	u := uses{reads: map[string]syntax.Node{}}
	syntax.Walk(tree, func(n syntax.Node) bool {
		if stmt, is := n.(*syntax.Stmt); is {
			for name, at := range a.look(stmt).reads {
				a.read(&u, name, at)
			}
		}
		return true
	})
	a.put(anchor{stmt: tree.Stmts[0]}, u, known{})
	switch {
	case s.obstacle.writes == behindAssigned:
		a.placeOutputs()
	case s.obstacle.writes == notAtAll:
		a.markUnpublished(s.obstacle)
	case s.ending != nil:
		a.markUnpublished(&obstacle{at: s.ending, why: s.obstacle.why + ", and its own traps leave no room for one of hotc's at the script's end"})
	default:
		a.atEnd = a.assignedOutputs()
		a.leaveUnset()
	}
	return a
}

// put inserts waits before a statement, except for what is known; it returns what is
// known after it.
func (a *analyser) put(at anchor, u uses, k known) known {
	out := maps.Clone(k)
	for _, name := range slices.Sorted(maps.Keys(u.reads)) {
		if k[name] {
			continue
		}
		b := a.beforeOf(at)
		if b.reads[name] == nil {
			b.reads[name] = u.reads[name]
		}
		out[name] = true
	}
	for _, name := range u.owns {
		if !out[name] {
			b := a.beforeOf(at)
			b.owns = append(b.owns, name)
			out[name] = true
		}
	}
	return out
}

func (a *analyser) beforeOf(at anchor) *before {
	if a.before[at.stmt] == nil {
		a.before[at.stmt] = &before{style: at.style, reads: map[string]syntax.Node{}}
	}
	return a.before[at.stmt]
}

func (a *analyser) list(list []*syntax.Stmt, k known) known {
	for _, s := range list {
		k = a.stmt(s, anchor{stmt: s}, k, false)
	}
	return k
}

// stmt places the waits of a statement at an anchor, and those of nested statements.
// Hoist means that they must precede it: its process ID is observable.
func (a *analyser) stmt(s *syntax.Stmt, at anchor, k known, hoist bool) known {
	apart := s.Background || s.Coprocess || s.Disown
	k = a.put(at, a.look(s), k)
	a.substitutions(s, at, k)
	if out := a.command(s, at, k, hoist || apart); !apart {
		return out
	}
	return k
}

func (a *analyser) command(s *syntax.Stmt, at anchor, k known, hoist bool) known {
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return a.binary(c, at, k, hoist)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return a.stmt(c.Stmt, at, k, hoist)
		}
	case *syntax.Block:
		return a.list(c.Stmts, k)
	case *syntax.Subshell:
		a.list(c.Stmts, k)
	case *syntax.IfClause:
		return a.choice(c, k)
	case *syntax.WhileClause:
		k = a.list(c.Cond, k)
		a.list(c.Do, k)
	case *syntax.ForClause:
		a.list(c.Do, k)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			a.list(item.Stmts, k)
		}
	case *syntax.FuncDecl:
		// Its body may run at any time after this; its own redirections are awaited here.
		a.stmt(c.Body, at, known{}, false)
	case *syntax.CoprocClause:
		a.stmt(c.Stmt, at, k, true)
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return assigned(c.Assigns, k)
		}
	}
	return k
}

// assigned adds variables that the script itself assigns.
func assigned(list []*syntax.Assign, k known) known {
	k = maps.Clone(k)
	for _, x := range list {
		if x.Name != nil && x.Index == nil {
			k[x.Name.Value] = true
		}
	}
	return k
}

func (a *analyser) choice(c *syntax.IfClause, k known) known {
	k = a.list(c.Cond, k)
	then := a.list(c.Then, k)
	if c.Else == nil {
		return k
	}
	other := k
	if len(c.Else.Cond) == 0 {
		other = a.list(c.Else.Then, k)
	} else {
		other = a.choice(c.Else, k)
	}
	both := maps.Clone(k)
	for name := range then {
		if other[name] {
			both[name] = true
		}
	}
	return both
}

func (a *analyser) binary(c *syntax.BinaryCmd, at anchor, k known, hoist bool) known {
	left := a.stmt(c.X, at, k, hoist)
	switch c.Op {
	case syntax.AndStmt:
		a.stmt(c.Y, anchor{c.Y, ifAnd}, left, false)
	case syntax.OrStmt:
		a.stmt(c.Y, anchor{c.Y, ifOr}, left, false)
	default: // a pipeline, whose parts are separate processes
		left = a.within(c.X, k, left)
		right := anchor{c.Y, inBraces}
		if hoist || hasHereDocument(c.Y) {
			right = at
		}
		after := a.stmt(c.Y, right, left, hoist)
		if right == at {
			return a.within(c.Y, left, after)
		}
		return left
	}
	return left
}

// within returns what is known after a part of a pipeline: what was awaited before it,
// not within it.
func (a *analyser) within(s *syntax.Stmt, before, after known) known {
	out := maps.Clone(before)
	for name := range a.look(s).reads {
		out[name] = after[name] || out[name]
	}
	if inner, is := s.Cmd.(*syntax.BinaryCmd); is && (inner.Op == syntax.Pipe || inner.Op == syntax.PipeAll) {
		return after
	}
	return out
}

func hasHereDocument(s *syntax.Stmt) bool {
	return slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Hdoc != nil })
}

// substitutions places the waits within a statement's command substitutions.
func (a *analyser) substitutions(s *syntax.Stmt, at anchor, k known) {
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			return n == s
		case *syntax.CmdSubst:
			if len(n.Stmts) == 1 && n.Stmts[0].Cmd == nil { // $(<file)
				a.stmt(n.Stmts[0], at, k, true)
				return false
			}
			a.list(n.Stmts, k)
			return false
		case *syntax.ProcSubst:
			a.list(n.Stmts, k)
			return false
		}
		return true
	})
}
