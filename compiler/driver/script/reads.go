package script

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// shell is a script in a shell's language.
type shell struct {
	role     driver.Role
	text     string
	places   driver.Text
	tree     *syntax.File
	dialect  syntax.LangVariant
	survey   *survey
	inputs   map[string]string // names by variable
	outputs  map[string]string
	analysed *analyser // with all inputs
}

// parse reads a shell script; nil for one in another language. A script that its
// shell would not take is a diagnostic.
func parse(role driver.Role, text string, diags *source.Diagnostics) *shell {
	dialects := dialectsOf(text)
	if len(dialects) == 0 {
		return nil
	}
	what := "script"
	if role.SourceAt.File == nil {
		what = "script of role " + role.Name
	}
	s := &shell{role: role, text: text, places: driver.TextAt(role.SourceAt, role.SourceFile, text, what), inputs: map[string]string{}, outputs: map[string]string{}}
	var first error
	for _, dialect := range dialects {
		parsed, err := syntax.NewParser(syntax.Variant(dialect)).Parse(strings.NewReader(text), "")
		if err == nil {
			s.tree, s.dialect = parsed, dialect
			break
		}
		if first == nil {
			first = err
		}
	}
	if s.tree == nil {
		refuse(role, s.places, first, diags)
		return nil
	}
	for _, in := range role.Inputs {
		if v := variable(in.Name); v != "" {
			s.inputs[v] = in.Name
		}
	}
	for _, o := range role.Outputs {
		if v := variable(o.Name); v != "" {
			s.outputs[v] = o.Name
		}
	}
	s.survey = surveyOf(s.tree, text)
	s.analysed = s.analyse(s.inputs)
	if s.analysed.check(text, s.analysed.rewrite(text), s.dialect) == nil {
		return s
	}
	s.survey.stop(s.tree, "its statements cannot be told apart", atItsEnd)
	s.analysed = s.analyse(s.inputs)
	if s.analysed.check(text, s.analysed.rewrite(text), s.dialect) != nil {
		s.survey.fixed = &obstacle{at: s.tree, why: "its statements cannot be told apart"}
		s.analysed = s.analyse(s.inputs)
	}
	return s
}

func (s *shell) analyse(inputs map[string]string) *analyser {
	return analyse(s.tree, s.survey, inputs, maps.Clone(s.outputs))
}

// finish rewrites the script so that it waits for the inputs that come while it
// runs. What passed the check with all inputs passes it with some of them.
func (s *shell) finish(late []string) (hot.Value, []program.File) {
	inputs := map[string]string{}
	for _, name := range late {
		if v := variable(name); v != "" && s.inputs[v] == name {
			inputs[v] = name
		}
	}
	text := s.analyse(inputs).rewrite(s.text)
	return travelling(s.role.SourceFile, text, text != s.text)
}

// sequence finds the order in which the script reads its inputs and writes its
// outputs.
//
// A run-time input is read where the rewritten script waits for it, and by
// `hotc-agent get NAME`. An output is written by `hotc-agent put NAME`, when the
// file $heat_outputs_path.NAME is closed, and where the rewritten script publishes
// a variable. Steps in a row are certain; an if, a case, a loop and what stands
// behind && or || is a fork. A function counts where it is called. Where the script
// starts what cannot be looked into (eval, a sourced file, another interpreter),
// more may happen than the steps say, and the sequence is not complete.
func (s *shell) sequence() *program.Sequence {
	w := &walker{analyser: s.analysed, places: s.places, functions: map[string]*syntax.Stmt{}, complete: true,
		lines: max(1, strings.Count(s.text, "\n"))}
	syntax.Walk(s.tree, w.declare)
	steps, _ := w.statements(s.tree.Stmts)
	return &program.Sequence{Steps: append(steps, w.atEnd()...), Complete: w.complete, Lost: s.lost(), Printed: w.printed(s.tree, s.inputs)}
}

// lost are the inputs and outputs in variables that no wait and no publication can
// be put to.
func (s *shell) lost() map[string]program.Lost {
	lost := map[string]program.Lost{}
	add := func(name string, why *obstacle) {
		at := s.places.Place(0, 0)
		if _, whole := why.at.(*syntax.File); !whole {
			at = s.places.Place(uint32(why.at.Pos().Offset()), uint32(why.at.End().Offset()))
		}
		lost[name] = program.Lost{At: at, Why: why.why}
	}
	for v, why := range s.analysed.unpublished {
		add(s.outputs[v], why)
	}
	if s.survey.fixed != nil {
		found := map[string]bool{}
		s.analysed.deep(s.tree.Stmts, found, map[string]bool{})
		for v := range found {
			add(s.inputs[v], s.survey.fixed)
		}
	}
	return lost
}

// dialectsOf are the languages of the shell that runs a script. What /bin/sh is
// differs between distributions: dash, or bash.
func dialectsOf(text string) []syntax.LangVariant {
	line, _, _ := strings.Cut(text, "\n")
	interpreter, hasLine := strings.CutPrefix(line, "#!")
	if strings.HasPrefix(text, "\x7fELF") {
		return nil
	}
	name := "sh"
	if words := strings.Fields(interpreter); hasLine && len(words) > 0 {
		name = path.Base(words[0])
		if name == "env" && len(words) > 1 {
			name = words[len(words)-1]
			for _, word := range words[1:] {
				if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
					name = path.Base(word)
					break
				}
			}
		}
	}
	switch name {
	case "sh", "dash", "ash":
		return []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash}
	case "bash":
		return []syntax.LangVariant{syntax.LangBash}
	case "ksh", "mksh":
		return []syntax.LangVariant{syntax.LangMirBSDKorn}
	}
	return nil
}

func refuse(role driver.Role, places driver.Text, err error, diags *source.Diagnostics) {
	message, at := err.Error(), uint(0)
	var wrong syntax.ParseError
	var other syntax.LangError
	switch {
	case errors.As(err, &wrong):
		message, at = wrong.Text, wrong.Pos.Offset()
	case errors.As(err, &other):
		other.Filename = ""
		message, at = strings.TrimPrefix(other.Error(), other.Pos.String()+": "), other.Pos.Offset()
	}
	place := places.Place(uint32(at), uint32(at)+1)
	d := diags.Error(source.BadScript, place, fmt.Sprintf("the script of role %q is not what its shell takes: %s", role.Name, message), "")
	if role.SourceAt.Known() {
		d.Notes = append(d.Notes, source.Note{At: role.SourceAt, Message: "the role's source"})
	}
}
