package script

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
)

// opaque are commands that run code which is not analysed.
var opaque = []string{"eval", "source", ".", "trap", "python", "python3", "python2", "perl", "ruby", "node", "lua", "awk",
	"sh", "bash", "dash", "ksh", "zsh", "busybox", "make", "find", "parallel", "ssh", "chroot", "nsenter", "su", "runuser", "watch"}

// copiers write a file named by an argument, before they end.
var copiers = []string{"cp", "mv", "tee", "install", "ln", "dd", "sponge"}

// call walks a simple command: first its words, from left to right.
func (w *walker) call(c *syntax.CallExpr) ([]program.Step, leaving) {
	steps := append(lists.Flat(c.Args, w.word), lists.Flat(c.Assigns, func(a *syntax.Assign) []program.Step { return w.expansions(a) })...)
	if len(c.Args) == 0 {
		return steps, goesOn
	}
	run := childOf(c.Args)
	if !run.known || slices.Contains(run.by, "xargs") {
		w.complete = false
		return steps, goesOn
	}
	name, args, functions := run.name, run.args, w.analyser.survey.functions[run.name]
	switch {
	case name == "exit" || name == "return" || name == "break" || name == "continue":
		return steps, w.leave(name, args)
	case path.Base(name) == "hotc-agent":
		steps = append(steps, w.agent(c, args)...)
	case len(functions) > 0:
		own, end := w.function(name, functions[len(functions)-1])
		return append(steps, own...), end
	case slices.Contains(copiers, name):
		steps = append(steps, lists.Flat(args, func(a *syntax.Word) []program.Step { return w.outputFile(a, true) })...)
	case slices.Contains(opaque, path.Base(name)) || strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		w.complete = false
	default:
		steps = append(steps, lists.Flat(args, func(a *syntax.Word) []program.Step { return w.outputFile(a, false) })...)
	}
	if run.by != nil && run.by[0] == "exec" && !run.none {
		w.exits++
		return steps, leaves
	}
	return steps, goesOn
}

func (w *walker) leave(name string, args []*syntax.Word) leaving {
	if name != "exit" && (name != "return" || len(w.calls) > 0) {
		return leaves // the loop or the function, whose walk resets it
	}
	status := ""
	if len(args) > 0 {
		status, _ = literalOf(args[0])
	}
	if status != "" && status != "0" {
		return failsHere
	}
	w.exits++
	return leaves
}

// function walks a function's body where it is called.
func (w *walker) function(name string, body *syntax.Stmt) ([]program.Step, leaving) {
	if slices.Contains(w.calls, name) || len(w.calls) > 8 || w.walked > mostWalked {
		w.complete = false // recursion, or too many calls
		return nil, goesOn
	}
	w.calls = append(w.calls, name)
	before := w.exits
	steps, end := w.statement(body)
	w.calls = w.calls[:len(w.calls)-1]
	switch {
	case end == goesOn || end == failsHere:
		return steps, end
	case w.exits == before:
		return steps, goesOn // it only returned
	}
	return steps, mayLeave
}

// agent walks a call of the agent: a read, a write, or unknown.
func (w *walker) agent(c *syntax.CallExpr, args []*syntax.Word) []program.Step {
	step := program.Step{At: w.at(c), Progress: w.progress(c)}
	switch verb, name := agentCall(args); {
	case verb == "get" && name == "":
		step.Op = program.ReadAny
	case verb == "get":
		step.Op, step.Name = program.ReadInput, name
	case verb == "put" && name != "":
		step.Op, step.Name = program.WriteOutput, name
	default:
		w.complete = w.complete && verb != "" && verb != "put"
		return nil
	}
	return []program.Step{step}
}

// agentCall parses a call of the agent: `get NAME` or `put NAME`, with options. A computed
// word is "".
func agentCall(args []*syntax.Word) (verb, name string) {
	var words []string
	for _, a := range args {
		text, literal := literalOf(a)
		switch {
		case !literal:
			words = append(words, "")
		case !strings.HasPrefix(text, "-"):
			words = append(words, text)
		}
	}
	words = append(words, "", "")
	return words[0], words[1]
}

// cannotFail reports whether a statement fails only if its role has failed, so that what
// follows it with && is certain.
func (w *walker) cannotFail(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated {
		return false
	}
	if len(c.Args) == 0 { // an assignment: of a `get`, or of a literal
		certain := true
		for _, a := range c.Assigns {
			syntax.Walk(a, func(n syntax.Node) bool {
				if sub, is := n.(*syntax.CmdSubst); is {
					certain = certain && len(sub.Stmts) == 1 && w.cannotFail(sub.Stmts[0])
					return false
				}
				return true
			})
		}
		return certain
	}
	name, _ := literalOf(c.Args[0])
	return path.Base(name) == "hotc-agent" || name == "true" || name == ":" || name == "echo" || name == "printf"
}

// outputFile returns the write of the output whose file a word names.
func (w *walker) outputFile(word *syntax.Word, certain bool) []program.Step {
	name, is, known := outputOf(word)
	if !is {
		return nil
	}
	if !known {
		w.complete = false
		return nil
	}
	steps := []program.Step{{Op: program.WriteOutput, Name: name, At: w.at(word), Progress: w.progress(word)}}
	if !certain {
		return fork(w.at(word), nil, steps)
	}
	return steps
}

// outputOf parses the word $heat_outputs_path.NAME, with any quotes.
func outputOf(word *syntax.Word) (name string, is, known bool) {
	return fileOf(word, "heat_outputs_path", ".")
}

// inputOf parses the word $hotc_inputs/NAME.
func inputOf(word *syntax.Word) (name string, is, known bool) {
	return fileOf(word, "hotc_inputs", "/")
}

// fileOf parses a word that names a value's file: a variable, a separator, and the value's
// name.
func fileOf(word *syntax.Word, variable, separator string) (name string, is, known bool) {
	if word == nil {
		return "", false, false
	}
	known = true
	var text strings.Builder
	var look func(parts []syntax.WordPart)
	look = func(parts []syntax.WordPart) {
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.DblQuoted:
				look(p.Parts)
			case *syntax.Lit:
				text.WriteString(p.Value)
			case *syntax.SglQuoted:
				text.WriteString(p.Value)
			case *syntax.ParamExp:
				if p.Param != nil && p.Param.Value == variable && p.Exp == nil && !is {
					is = true
					text.Reset() // a prefix, such as dd's of=
					continue
				}
				known = false
			default:
				known = false
			}
		}
	}
	look(word.Parts)
	name, begins := strings.CutPrefix(text.String(), separator)
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return name, is, known && begins && name != ""
}

// word walks the expansions of a word.
func (w *walker) word(word *syntax.Word) []program.Step {
	if word == nil {
		return nil
	}
	if steps := w.inputFile(word); steps != nil {
		return fork(w.at(word), nil, steps) // a program that is passed the name may open it
	}
	return w.expansions(word)
}

// inputFile returns the read of an input's file, which waits when opened.
func (w *walker) inputFile(word *syntax.Word) []program.Step {
	if name, is, known := inputOf(word); is && known {
		return []program.Step{{Op: program.ReadInput, Name: name, At: w.at(word), Progress: w.progress(word)}}
	}
	return nil
}

// expansions returns the reads within words: command substitutions from left to right.
func (w *walker) expansions(n syntax.Node) []program.Step {
	var steps []program.Step
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			own, _ := w.statements(n.Stmts)
			steps = append(steps, own...)
			return false
		case *syntax.ProcSubst:
			own, _ := w.statements(n.Stmts)
			steps = append(steps, own...)
			return false
		case *syntax.ParamExp:
			if n.Excl || n.Param != nil && n.Param.Value == "hotc_inputs" {
				w.complete = false
			}
		}
		return true
	})
	return steps
}

// literalOf returns the value of a literal word.
func literalOf(word *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range word.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(l.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// progress is a command's relative position in the script.
func (w *walker) progress(n syntax.Node) float64 {
	return min(1, float64(n.Pos().Line()-1)/float64(w.lines))
}
