package script

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// survey is what must be known about a whole script before its statements are analysed
// one by one.
type survey struct {
	functions map[string][]*syntax.Stmt // bodies, by name
	calls     map[string]int            // how often a word is a function's name
	localised map[string]bool           // variables that some function declares as local
	asked     map[string]bool           // inputs that `hotc-agent get` reads
	written   map[string]bool           // outputs that the script writes itself
	writesAny bool                      // it writes an output with a computed name
	surplus   []*syntax.Word            // surplus arguments of the agent's commands
	text      string
	named     map[string]bool // names of variables that are literals somewhere
	expanded  map[string]bool // variables whose values the script uses
	assigned  map[string]bool // variables that its statements set
	trapped   []handler       // of its traps
	ending    syntax.Node     // where the script traps its own end, or lists its traps
	obstacle  *obstacle       // why no wait may be inserted before a statement
	fixed     *obstacle       // why nothing at all may be inserted
}

// obstacle is why calls cannot be inserted statement by statement.
type obstacle struct {
	at     syntax.Node
	why    string
	writes writing
}

// writing is how a script's assigned outputs are published despite an obstacle.
type writing uint8

const (
	notAtAll       writing = iota
	atItsEnd               // by a trap that hotc sets at the start
	behindAssigned         // as if there were no obstacle
)

func surveyOf(tree *syntax.File, text string) *survey {
	s := &survey{text: text, functions: map[string][]*syntax.Stmt{}, calls: map[string]int{}, localised: map[string]bool{}, asked: map[string]bool{},
		written: map[string]bool{}, named: map[string]bool{}, expanded: map[string]bool{}, assigned: map[string]bool{}}
	line, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(line, "#!") {
		for _, word := range strings.Fields(line)[1:] {
			if word == "-i" {
				s.fixed = &obstacle{at: tree, why: "its shell is interactive (-i), so that words may have any meaning"}
			}
			if strings.HasPrefix(word, "-") && strings.Contains(word, "v") {
				s.stop(tree, "the shell prints each line as it reads it (-v)", notAtAll)
			}
		}
	}
	var lines *obstacle
	if at := substitutionOverLines(tree); at != nil && strings.Contains(text, "LINENO") {
		lines = &obstacle{at: at, why: "bash renumbers the lines of a command substitution, and the script reads $LINENO", writes: behindAssigned}
	}
	inFunction := 0
	var walk func(n syntax.Node) bool
	walk = func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			names, _ := assignedBy(n)
			maps.Copy(s.assigned, names)
		case *syntax.FuncDecl:
			if n.Name != nil {
				s.functions[n.Name.Value] = append(s.functions[n.Name.Value], n.Body)
			}
			inFunction++
			syntax.Walk(n.Body, walk)
			inFunction--
			return false
		case *syntax.ParamExp:
			if n.Param != nil {
				s.special(n, n.Param.Value)
				s.expanded[n.Param.Value] = true
			}
		case *syntax.Assign:
			if n.Name != nil {
				s.special(n, n.Name.Value)
			}
			if n.Value != nil {
				s.texts(n.Value)
			}
		case *syntax.Word:
			if text, literal := literalOf(n); literal && isName(text) {
				s.named[text] = true
				s.calls[text]++
			}
			if name, is, known := outputOf(n); is {
				s.written[name] = true
				s.writesAny = s.writesAny || !known
			}
		case *syntax.DeclClause:
			if inFunction > 0 && n.Variant.Value != "export" && n.Variant.Value != "readonly" {
				for _, a := range n.Args {
					if a.Name != nil {
						s.localised[a.Name.Value] = true
					}
				}
			}
		case *syntax.CallExpr:
			s.call(n, inFunction > 0)
		}
		return true
	}
	syntax.Walk(tree, walk)
	if s.obstacle == nil {
		s.obstacle = lines
	}
	return s
}

// substitutionOverLines finds a multi-line command substitution: bash prints what it has
// parsed and parses that again, so that line numbers depend on how the statements are
// written.
func substitutionOverLines(tree *syntax.File) (found syntax.Node) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		if c, is := n.(*syntax.CmdSubst); is && c.Pos().Line() != c.End().Line() {
			found = c
		}
		return found == nil
	})
	return found
}

// stop records an obstacle; the most restrictive one counts.
func (s *survey) stop(at syntax.Node, why string, writes writing) {
	if s.obstacle == nil || writes < s.obstacle.writes {
		s.obstacle = &obstacle{at: at, why: why, writes: writes}
	}
}

// texts records names of variables within assigned values.
func (s *survey) texts(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		text := ""
		switch n := n.(type) {
		case *syntax.Lit:
			text = n.Value
		case *syntax.SglQuoted:
			text = n.Value
		case *syntax.CmdSubst:
			return false
		}
		for _, name := range identifiers(text) {
			s.named[name] = true
		}
		return true
	})
}

func identifiers(text string) []string {
	return strings.FieldsFunc(text, notInName)
}

// special looks for variables that an inserted command would change.
func (s *survey) special(n syntax.Node, name string) {
	switch name {
	case "PIPESTATUS", "_":
		s.stop(n, "it reads $"+name+", which an inserted command would change", atItsEnd)
	case "BASH_COMMAND", "BASH_XTRACEFD":
		s.stop(n, "it reads $"+name+", which an inserted command would change", notAtAll)
	}
	if strings.HasPrefix(name, "hotc_") && name != "hotc_inputs" {
		s.stop(n, "it uses one of hotc's own variables, $"+name, notAtAll)
	}
}

func (s *survey) call(c *syntax.CallExpr, inFunction bool) {
	if len(c.Args) == 0 {
		return
	}
	run := childOf(c.Args)
	if !run.known {
		return
	}
	args := make([]string, len(run.args))
	for i, a := range run.args {
		args[i], _ = literalOf(a)
	}
	switch run.name {
	case "set":
		s.set(c, args)
	case "shopt":
		if slices.Contains(args, "extdebug") {
			s.stop(c, "it debugs itself (extdebug)", notAtAll)
		}
	case "alias":
		s.stop(c, "it changes what words mean (alias)", atItsEnd)
	case "enable":
		s.stop(c, "it changes what words mean (enable)", notAtAll)
	case "local", "typeset":
		for _, a := range run.args {
			if name, _, _ := strings.Cut(leading(a), "="); inFunction {
				s.localised[name] = true
			}
		}
	case "trap":
		s.trap(c, run.args, args)
	}
	if path.Base(run.name) == "hotc-agent" {
		s.agent(run.args)
	}
}

func (s *survey) set(c *syntax.CallExpr, args []string) {
	for i, a := range args {
		switch {
		case a == "--" || a == "":
			return
		case a == "-o" && i+1 < len(args):
			switch args[i+1] {
			case "verbose":
				s.stop(c, "it prints each line as the shell reads it (set -v)", notAtAll)
			case "functrace":
				s.stop(c, "it traces its functions (functrace)", notAtAll)
			}
		case strings.HasPrefix(a, "-") && strings.Contains(a, "v"):
			s.stop(c, "it prints each line as the shell reads it (set -v)", notAtAll)
		case strings.HasPrefix(a, "-") && strings.Contains(a, "T"):
			s.stop(c, "it traces its functions (set -T)", notAtAll)
		}
	}
}

func (s *survey) trap(c *syntax.CallExpr, words []*syntax.Word, args []string) {
	if len(args) > 0 && args[0] == "--" {
		words, args = words[1:], args[1:]
	}
	if len(args) < 2 {
		s.ending = c
		return
	}
	for i, signal := range args[1:] {
		_, literal := literalOf(words[i+1])
		switch strings.TrimPrefix(strings.ToUpper(signal), "SIG") {
		case "DEBUG", "RETURN", "CHLD", "CLD", "17":
			s.stop(c, "it traps "+signal+", which an inserted command would trigger", notAtAll)
		case "EXIT", "0":
			s.ending = c
		}
		if !literal || strings.HasPrefix(args[0], "-") && args[0] != "-" {
			s.ending = c
		}
	}
	text := s.text
	if len(s.trapped) >= mostHandlers {
		text = ""
	}
	h := handlerOf(words[0], text)
	h.at = c
	s.trapped = append(s.trapped, h)
	for _, stmt := range h.stmts {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if call, is := n.(*syntax.CallExpr); is && len(call.Args) > 0 {
				if name, literal := literalOf(call.Args[0]); literal {
					s.calls[name] += 2 // it may run at any time
				}
			}
			return true
		})
	}
}

// handler is what a trap runs.
type handler struct {
	at    *syntax.CallExpr
	word  *syntax.Word
	stmts []*syntax.Stmt
	known bool // it could be parsed
	// inPlace is set if the statements have their positions in the script, so that calls can be
	// inserted there.
	inPlace bool
}

// mostHandlers bounds how many handlers of a script are parsed in their places.
const mostHandlers = 64

// handlerOf parses the handler of a trap; script is the text that the word is in, or "".
func handlerOf(word *syntax.Word, script string) handler {
	h := handler{word: word}
	text, literal := literalOf(word)
	if !literal {
		return h
	}
	if h.known = text == "" || text == "-"; h.known {
		return h
	}
	at := int(word.Pos().Offset()) + 1 // within quotes
	if h.inPlace = len(word.Parts) == 1 && at+len(text) < len(script) && script[at:at+len(text)] == text && strings.IndexByte(`'"`, script[at-1]) >= 0; h.inPlace {
		text = blank.ReplaceAllLiteralString(script[:at], " ") + text
	}
	tree, err := parseText(text, syntax.LangBash)
	if h.known = err == nil; h.known {
		h.stmts = tree.Stmts
	}
	return h
}

var blank = regexp.MustCompile(`[^\n]`)

func (s *survey) agent(words []*syntax.Word) {
	switch verb, name := agentCall(words); verb {
	case "get":
		s.asked[name] = true
	case "put":
		s.written[name] = true
		s.writesAny = s.writesAny || name == ""
	default:
		return
	}
	names := 0
	for _, w := range words[1:] {
		if text, literal := literalOf(w); literal && strings.HasPrefix(text, "-") || !literal && !isQuoted(w) {
			continue // an option, or perhaps nothing
		}
		if names++; names > 1 {
			s.surplus = append(s.surplus, w)
			return
		}
	}
}

// isQuoted reports whether a word cannot expand to several.
func isQuoted(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		switch p.(type) {
		case *syntax.DblQuoted, *syntax.SglQuoted, *syntax.Lit:
			return true
		}
		return false
	})
}
