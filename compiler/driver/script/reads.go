package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// shell is an analysed shell script, with the inputs and outputs of its role.
type shell struct {
	text     string
	tree     *syntax.File
	refusal  error // a syntax error; nothing else is set then
	dialect  syntax.LangVariant
	survey   *survey
	inputs   map[string]string // names by variable
	outputs  map[string]string
	analysed *analyser // with all inputs
	// sequence is the order of its reads and writes; places are relative to the script's text.
	sequence *program.Sequence
}

// placed is a script at its place in the sources.
type placed struct {
	*shell
	file     string
	places   driver.Text
	sequence *program.Sequence
	memory   *driver.Memory
}

// shellKey determines the analysis of a shell script, which roles with the same key
// share.
type shellKey struct{ text, inputs, outputs string }

// placedKey adds the place of its parts.
type placedKey struct {
	shellKey
	at         source.Place
	file, what string
}

// read reads a role's script; nil for one in another language.
func read(role driver.Role, text string) *placed {
	key := placedKey{shellKey: shellKey{text: text, inputs: namesOf(role.Inputs, func(in *program.Input) string { return in.Name }),
		outputs: namesOf(role.Outputs, func(o *program.Output) string { return o.Name })}, at: role.SourceAt, file: role.SourceFile, what: "script"}
	if key.at.File == nil {
		key.what = "script of role " + role.Name
	}
	if key.file != "" {
		key.at.Span = source.Span{} // places in a file do not depend on where it is named
	}
	return driver.Once(role.Memory, key, func() *placed {
		shell := driver.Once(role.Memory, key.shellKey, func() *shell { return parse(role, text) })
		if shell == nil {
			return nil
		}
		s := &placed{shell: shell, file: role.SourceFile, memory: role.Memory, places: driver.TextAt(role.SourceAt, role.SourceFile, text, key.what)}
		if shell.refusal == nil {
			s.sequence = shell.sequence.At(func(at source.Span) source.Place { return s.places.Place(at.Start, at.End) })
		}
		return s
	})
}

func namesOf[T any](list []T, name func(T) string) string {
	return strings.Join(lists.Map(list, name), "\x00")
}

// parse reads a shell script; nil for one in another language, and for one that is too
// large if its role declares nothing to look for.
func parse(role driver.Role, text string) *shell {
	dialects := dialectsOf(text)
	if len(dialects) == 0 {
		return nil
	}
	s := &shell{text: text, inputs: map[string]string{}, outputs: map[string]string{}}
	if len(text) > largest {
		if len(role.Inputs)+len(role.Outputs) == 0 {
			return nil // there is nothing to look for
		}
		s.refusal = errTooLarge
		return s
	}
	for _, dialect := range dialects {
		parsed, err := parseText(text, dialect)
		if err == nil {
			s.tree, s.dialect = parsed, dialect
			break
		}
		if s.refusal == nil {
			s.refusal = err
		}
	}
	if s.tree == nil {
		return s
	}
	s.refusal = nil
	s.find(role)
	s.sequence = s.order()
	return s
}

// find analyses the script's use of its role's inputs and outputs.
func (s *shell) find(role driver.Role) {
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
	s.survey = surveyOf(s.tree, s.text)
	if s.rewritable() {
		return
	}
	s.survey.stop(s.tree, "its statements cannot be separated", atItsEnd)
	if !s.rewritable() {
		s.survey.fixed = &obstacle{at: s.tree, why: "its statements cannot be separated"}
		s.analysed = s.analyse(s.inputs)
	}
}

// rewritable analyses the script, and reports whether it can be rewritten accordingly.
func (s *shell) rewritable() bool {
	s.analysed = s.analyse(s.inputs)
	return s.analysed.check(s.text, s.analysed.rewrite(s.text), s.dialect) == nil
}

func (s *shell) analyse(inputs map[string]string) *analyser {
	return analyse(s.tree, s.survey, inputs, maps.Clone(s.outputs))
}

// finishedKey identifies a script rewritten to wait for some of its inputs.
type finishedKey struct {
	*shell
	file, late string
}

// finish rewrites the script so that it waits for the inputs that arrive while it runs.
// A script that passed the check with all inputs passes it with some of them.
func (s *placed) finish(late []string) (value.Value, []program.File) {
	out := driver.Once(s.memory, finishedKey{s.shell, s.file, strings.Join(late, "\x00")}, func() travelling {
		inputs := map[string]string{}
		for _, name := range late {
			if v := variable(name); v != "" && s.inputs[v] == name {
				inputs[v] = name
			}
		}
		text := s.analyse(inputs).rewrite(s.text)
		return travel(s.file, text, text != s.text, nil)
	})
	return out.source, out.files
}

// order returns the order in which the script reads its inputs and writes its outputs.
//
// A run-time input is read where the rewritten script waits for it, and by
// `hotc-agent get NAME`. An output is written by `hotc-agent put NAME`, when the
// file $heat_outputs_path.NAME is closed, and where the rewritten script publishes
// a variable. Consecutive steps are certain; an if, a case, a loop and what follows
// && or || is a fork. A function counts where it is called. If the script runs
// something opaque (eval, a sourced file, another interpreter), more may happen than
// the steps say, and the sequence is not complete.
func (s *shell) order() *program.Sequence {
	w := &walker{analyser: s.analysed, complete: true,
		lines: max(1, strings.Count(s.text, "\n"))}
	steps, _ := w.statements(s.tree.Stmts)
	sequence := &program.Sequence{Steps: append(steps, w.atEnd()...), Complete: w.complete, Lost: s.lost(), Printed: w.printed(s.tree, s.inputs), Split: w.split(s.tree, s.inputs)}
	if w.complete {
		sequence.Unread = s.unread(sequence)
	}
	return sequence
}

// unread returns the inputs that no step of a complete sequence reads, each with a similar
// variable that the script uses and nothing sets.
func (s *shell) unread(of *program.Sequence) map[string]string {
	read, any := map[string]bool{}, false
	of.Walk(func(step *program.Step) {
		read[step.Name] = read[step.Name] || step.Op == program.ReadInput
		any = any || step.Op == program.ReadAny
	})
	unread := map[string]string{}
	var unset []string
	for _, name := range slices.Sorted(maps.Keys(s.survey.expanded)) {
		if !s.survey.assigned[name] && s.inputs[name] == "" && s.outputs[name] == "" {
			unset = append(unset, name)
		}
	}
	for v, name := range s.inputs {
		if _, lost := of.Lost[name]; !any && !lost && !read[name] {
			unread[name] = hot.Nearest(v, unset)
		}
	}
	return unread
}

// lost returns the inputs and outputs in variables for which no wait or publication can
// be inserted, and why.
func (s *shell) lost() map[string]program.Lost {
	lost := map[string]program.Lost{}
	add := func(name string, why *obstacle) {
		at := source.Place{}
		if _, whole := why.at.(*syntax.File); !whole {
			at = place(why.at.Pos(), why.at.End())
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

// dialectsOf returns the dialects of the shell that runs a script: /bin/sh is dash or
// bash, depending on the distribution.
func dialectsOf(text string) []syntax.LangVariant {
	if strings.HasPrefix(text, "\x7fELF") {
		return nil
	}
	switch interpreterOf(text) {
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
	var beyond *beyondError
	if errors.As(err, &beyond) {
		diags.Error(source.BadScript, role.SourceAt, fmt.Sprintf("the script of role %q is too complex to analyse: %v", role.Name, beyond),
			"move what reads no input and writes no output into a separate file that the script runs")
		return
	}
	message, at := saying(err)
	d := diags.Error(source.BadScript, places.Place(at, at+1), fmt.Sprintf("the script of role %q has a syntax error: %s", role.Name, message), "")
	if role.SourceAt.Known() {
		d.Note(role.SourceAt, "the role's source")
	}
}
