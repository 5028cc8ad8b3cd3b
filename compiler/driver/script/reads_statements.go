package script

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// walker walks a script as the shell would run it.
type walker struct {
	analyser *analyser
	lines    int
	calls    []string // functions being walked
	complete bool
	exits    int // ways in which the script itself may have ended
	walked   int // statements, so far
}

// leaving says whether what follows a statement is reached.
type leaving uint8

const (
	goesOn leaving = iota
	mayLeave
	leaves
	failsHere // with a status that fails the role, so that the rest does not matter
)

// statements walks consecutive statements.
func (w *walker) statements(list []*syntax.Stmt) ([]program.Step, leaving) {
	var steps []program.Step
	for i, s := range list {
		w.walked++
		if s.Background || s.Coprocess || s.Disown {
			rest, end := w.statements(list[i+1:])
			own, _ := w.behindWaits(s)
			return append(append(steps, w.waits(s)...), together(w.at(s), own, rest)...), end
		}
		if c, ok := s.Cmd.(*syntax.IfClause); ok && len(s.Redirs) == 0 && w.analyser.after[s] == nil {
			steps = append(steps, w.waits(s)...)
			cond, ways, ends := w.choices(c)
			steps = append(steps, cond...)
			if gone, staying, unsure := split(ways, ends); len(gone) == 0 && len(staying) > 0 && !unsure {
				steps = append(steps, fork(w.at(s), staying...)...)
				continue
			}
			merged, end := w.branch(w.at(s), ways, ends, list[i+1:])
			return append(steps, merged...), end
		}
		own, end := w.statement(s)
		steps = append(steps, own...)
		switch end {
		case leaves, failsHere:
			return steps, end
		case mayLeave:
			rest, _ := w.statements(list[i+1:])
			return append(steps, fork(w.at(s), nil, rest)...), mayLeave
		}
	}
	return steps, goesOn
}

// branch joins the branches of an if with what follows, which a branch that leaves the
// script does not reach.
func (w *walker) branch(at source.Place, ways [][]program.Step, ends []leaving, rest []*syntax.Stmt) ([]program.Step, leaving) {
	gone, staying, unsure := split(ways, ends)
	if len(staying) == 0 {
		if len(gone) == 0 {
			return fork(at, ways...), failsHere
		}
		return fork(at, gone...), leaves
	}
	after, end := w.statements(rest)
	if unsure {
		after, end = fork(at, nil, after), mayLeave
	}
	stay := append(fork(at, staying...), after...)
	if len(gone) == 0 {
		return stay, end
	}
	return fork(at, append(gone, stay)...), mayLeave
}

// split separates the branches that leave the script from those that continue; unsure is
// set if one of the latter may leave it.
func split(ways [][]program.Step, ends []leaving) (gone, staying [][]program.Step, unsure bool) {
	for i, way := range ways {
		switch ends[i] {
		case failsHere:
		case leaves:
			gone = append(gone, way)
		default:
			staying = append(staying, way)
			unsure = unsure || ends[i] == mayLeave
		}
	}
	return gone, staying, unsure
}

// choices returns the condition that is always evaluated, and the branches of an if.
func (w *walker) choices(c *syntax.IfClause) (cond []program.Step, ways [][]program.Step, ends []leaving) {
	cond, _ = w.statements(c.Cond)
	then, end := w.statements(c.Then)
	ways, ends = [][]program.Step{then}, []leaving{end}
	switch {
	case c.Else == nil:
		ways, ends = append(ways, nil), append(ends, goesOn)
	case len(c.Else.Cond) == 0:
		other, end := w.statements(c.Else.Then)
		ways, ends = append(ways, other), append(ends, end)
	default:
		again, more, moreEnds := w.choices(c.Else)
		if len(again) > 0 {
			joined, end := w.branch(place(c.Else.Position, c.Else.ThenPos), more, moreEnds, nil)
			more, moreEnds = [][]program.Step{append(again, joined...)}, []leaving{end}
		}
		ways, ends = append(ways, more...), append(ends, moreEnds...)
	}
	if len(c.Cond) == 1 {
		w.assume(c.Cond[0], ways[:1], ways[1:])
	}
	return cond, ways, ends
}

// assume puts before the branches of a test what it says of an input, if there is anything in them.
func (w *walker) assume(test *syntax.Stmt, holds, fails [][]program.Step) {
	says, is := w.comparison(test)
	if !is || !slices.ContainsFunc(slices.Concat(holds, fails), func(way []program.Step) bool { return len(way) > 0 }) {
		return
	}
	for i := range holds {
		holds[i] = slices.Concat([]program.Step{says}, holds[i])
	}
	says.Differs = !says.Differs
	for i := range fails {
		fails[i] = slices.Concat([]program.Step{says}, fails[i])
	}
}

// comparison reads a test of an input that the script does not set: [ "$index" = 0 ], also with test
// or double brackets.
func (w *walker) comparison(s *syntax.Stmt) (says program.Step, is bool) {
	var words []*syntax.Word
	operator := ""
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if n := len(c.Args); len(c.Assigns) == 0 && (n == 5 && c.Args[0].Lit() == "[" || n == 4 && c.Args[0].Lit() == "test") {
			words, operator = []*syntax.Word{c.Args[1], c.Args[3]}, c.Args[2].Lit()
		}
	case *syntax.TestClause:
		if b, binary := c.X.(*syntax.BinaryTest); binary {
			left, plain := b.X.(*syntax.Word)
			if right, too := b.Y.(*syntax.Word); plain && too {
				words, operator = []*syntax.Word{left, right}, b.Op.String()
			}
		}
	}
	if len(words) == 0 || s.Negated || len(s.Redirs) > 0 || !slices.Contains([]string{"=", "==", "!=", "-eq", "-ne"}, operator) {
		return says, false
	}
	text, literal := literalOf(words[1])
	name := w.analyser.inputs[variableOf(words[0])]
	if !literal || name == "" || strings.ContainsAny(text, "*?[\\") || w.analyser.survey.assigned[variableOf(words[0])] {
		return says, false
	}
	return program.Step{Op: program.Assume, Name: name, At: w.at(s), Text: text, Differs: operator == "!=" || operator == "-ne"}, true
}

// variableOf is the variable whose value is a word, quoted or not; "" if it is another word.
func variableOf(word *syntax.Word) string {
	if len(word.Parts) != 1 {
		return ""
	}
	part := word.Parts[0]
	if quoted, is := part.(*syntax.DblQuoted); is && len(quoted.Parts) == 1 {
		part = quoted.Parts[0]
	}
	if p, is := part.(*syntax.ParamExp); is && p.Param != nil && p.Exp == nil && p.Repl == nil && p.Slice == nil && p.Index == nil && !p.Length && !p.Excl {
		return p.Param.Value
	}
	return ""
}

// statement walks one statement, with the waits before it and the writes after it.
func (w *walker) statement(s *syntax.Stmt) ([]program.Step, leaving) {
	own, end := w.behindWaits(s)
	return append(append(w.waits(s), own...), w.writes(s)...), end
}

// waits returns the reads that the rewritten script inserts before a statement.
func (w *walker) waits(s *syntax.Stmt) []program.Step {
	b := w.analyser.before[s]
	if b == nil {
		return nil
	}
	return lists.Map(slices.Sorted(maps.Keys(b.reads)), func(v string) program.Step {
		return program.Step{Op: program.ReadInput, Name: w.analyser.inputs[v], At: w.at(b.reads[v]), Progress: w.progress(s)}
	})
}

// writes returns the outputs that the rewritten script publishes after a statement.
func (w *walker) writes(s *syntax.Stmt) []program.Step {
	x := w.analyser.after[s]
	if x == nil {
		return nil
	}
	var steps []program.Step
	for _, v := range slices.Sorted(maps.Keys(x.keeps)) {
		if x.keeps[v] {
			steps = append(steps, program.Step{Op: program.WriteOutput, Name: w.analyser.outputs[v], At: w.at(s), Progress: w.progress(s)})
		}
	}
	return steps
}

// atEnd returns the outputs whose last values are published when the script has ended.
func (w *walker) atEnd() []program.Step {
	kept := map[string]*syntax.Stmt{}
	for s, x := range w.analyser.after {
		for v := range x.keeps {
			if kept[v] == nil || s.Pos().After(kept[v].Pos()) {
				kept[v] = s
			}
		}
	}
	for _, v := range w.analyser.atEnd {
		kept[v] = w.analyser.tree.Stmts[len(w.analyser.tree.Stmts)-1]
	}
	return lists.Map(slices.Sorted(maps.Keys(kept)), func(v string) program.Step {
		return program.Step{Op: program.WriteOutput, Name: w.analyser.outputs[v], At: w.at(kept[v]), Progress: 1}
	})
}

// behindWaits walks a statement's words and redirections, then what it does.
func (w *walker) behindWaits(s *syntax.Stmt) ([]program.Step, leaving) {
	var before, after []program.Step
	for _, r := range s.Redirs {
		if steps := w.inputFile(r.Word); steps != nil && r.Op == syntax.RdrIn {
			before = append(before, steps...)
		} else {
			before = append(before, w.word(r.Word)...)
		}
		before = append(before, w.word(r.Hdoc)...)
		if isWriting(r.Op) {
			after = append(after, w.outputFile(r.Word, true)...)
		}
	}
	own, end := w.command(s.Cmd)
	return append(append(before, own...), after...), end
}

func isWriting(op syntax.RedirOperator) bool {
	switch op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.DplOut:
		return true
	}
	return false
}

func (w *walker) command(c syntax.Command) ([]program.Step, leaving) {
	switch c := c.(type) {
	case nil:
		return nil, goesOn
	case *syntax.CallExpr:
		return w.call(c)
	case *syntax.Block:
		return w.statements(c.Stmts)
	case *syntax.Subshell:
		steps, end := w.statements(c.Stmts)
		return steps, inside(end)
	case *syntax.IfClause:
		cond, ways, ends := w.choices(c)
		joined, end := w.branch(w.at(c), ways, ends, nil)
		return append(cond, joined...), end
	case *syntax.BinaryCmd:
		return w.binary(c)
	case *syntax.WhileClause:
		cond, _ := w.statements(c.Cond)
		body, end := w.loop(c.Do)
		return append(cond, fork(w.at(c), nil, body)...), end
	case *syntax.ForClause:
		return w.forLoop(c)
	case *syntax.CaseClause:
		return w.cases(c)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return nil, goesOn
		}
		return w.statement(c.Stmt)
	case *syntax.FuncDecl:
		return nil, goesOn
	case *syntax.CoprocClause:
		w.complete = false
		return nil, goesOn
	}
	return w.expansions(c), goesOn // declarations, tests, arithmetic
}

// inside translates the end of a subshell for the enclosing shell, which continues.
func inside(end leaving) leaving {
	if end == failsHere {
		return failsHere
	}
	return goesOn
}

// binary walks a pipeline, or the two sides of && and ||.
func (w *walker) binary(c *syntax.BinaryCmd) ([]program.Step, leaving) {
	left, leftEnd := w.statement(c.X)
	right, rightEnd := w.statement(c.Y)
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		if len(right) <= 1 || len(left) == 0 { // `… | hotc-agent put NAME` first reads to the end
			return append(left, right...), goesOn
		}
		return together(w.at(c), left, right), goesOn
	case syntax.AndStmt:
		if w.cannotFail(c.X) {
			return append(left, right...), rightEnd
		}
		ways := [][]program.Step{nil, right}
		w.assume(c.X, ways[1:], ways[:1])
		return append(left, fork(w.at(c), ways...)...), perhaps(leftEnd, rightEnd)
	}
	if rightEnd == failsHere || w.cannotFail(c.X) {
		return left, leftEnd
	}
	ways := [][]program.Step{nil, right}
	w.assume(c.X, ways[:1], ways[1:])
	return append(left, fork(w.at(c), ways...)...), perhaps(leftEnd, rightEnd)
}

func perhaps(left, right leaving) leaving {
	if left == leaves || left == failsHere || right == goesOn || right == failsHere {
		return left
	}
	return mayLeave
}

// loop walks a loop's body. A break ends only the loop, an exit the script.
func (w *walker) loop(body []*syntax.Stmt) ([]program.Step, leaving) {
	before := w.exits
	steps, _ := w.statements(body)
	if w.exits > before {
		return steps, mayLeave
	}
	return steps, goesOn
}

func (w *walker) forLoop(c *syntax.ForClause) ([]program.Step, leaving) {
	steps := w.expansions(c.Loop)
	body, end := w.loop(c.Do)
	if list, ok := c.Loop.(*syntax.WordIter); !ok || c.Select || len(list.Items) == 0 || !literalWithout(list.Items) {
		body = fork(w.at(c), nil, body) // it may not run at all
	}
	return append(steps, body...), end
}

func (w *walker) cases(c *syntax.CaseClause) ([]program.Step, leaving) {
	steps := w.word(c.Word)
	var ways [][]program.Step
	var ends []leaving
	all := false
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			if text, ok := literalOf(p); ok && text == "*" {
				all = true
			}
		}
		way, end := w.statements(item.Stmts)
		ways, ends = append(ways, way), append(ends, end)
	}
	if !all {
		ways, ends = append(ways, nil), append(ends, goesOn)
	}
	joined, end := w.branch(w.at(c), ways, ends, nil)
	return append(steps, joined...), end
}

// fork returns a choice between branches; nothing if all are empty.
func fork(at source.Place, ways ...[]program.Step) []program.Step {
	if len(ways) == 1 {
		return ways[0]
	}
	for _, way := range ways {
		if len(way) > 0 {
			return []program.Step{{Op: program.Fork, At: at, Progress: way[0].Progress, Ways: ways}}
		}
	}
	return nil
}

// together returns steps that run concurrently.
func together(at source.Place, one, other []program.Step) []program.Step {
	if len(one) == 0 || len(other) == 0 {
		return append(one, other...)
	}
	all := slices.Concat(one, other)
	return []program.Step{{Op: program.AnyOrder, At: at, Progress: all[0].Progress, Ways: [][]program.Step{all}}}
}

func (w *walker) at(n syntax.Node) source.Place { return place(n.Pos(), n.End()) }

// place returns a place in the script's own text.
func place(from, to syntax.Pos) source.Place {
	return source.Place{Span: source.Span{Start: uint32(from.Offset()), End: uint32(max(from.Offset(), to.Offset()))}}
}
