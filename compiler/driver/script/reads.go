package script

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// shell is a script in a shell's language, with what its role declares.
type shell struct {
	text     string
	tree     *syntax.File
	refusal  error // why its shell would not take it; there is nothing else then
	dialect  syntax.LangVariant
	survey   *survey
	inputs   map[string]string // names by variable
	outputs  map[string]string
	analysed *analyser // with all inputs
	// sequence is the order of its reads and writes, with places in the script's own text.
	sequence *program.Sequence
}

// standing is a script at its place.
type standing struct {
	*shell
	file     string
	places   driver.Text
	sequence *program.Sequence
	memory   *driver.Memory
}

// shellKey is all that a shell script means by itself: what is found of it holds for
// each role of the same key.
type shellKey struct{ text, inputs, outputs string }

// standingKey is that and the place that its parts have.
type standingKey struct {
	shellKey
	at         source.Place
	file, what string
}

// read reads a role's script; nil for one in another language.
func read(role driver.Role, text string) *standing {
	key := standingKey{shellKey: shellKey{text: text, inputs: namesOf(role.Inputs, func(in *program.Input) string { return in.Name }),
		outputs: namesOf(role.Outputs, func(o *program.Output) string { return o.Name })}, at: role.SourceAt, file: role.SourceFile, what: "script"}
	if key.at.File == nil {
		key.what = "script of role " + role.Name
	}
	if key.file != "" {
		key.at.Span = source.Span{} // whoever names the file, its places are the same
	}
	return driver.Once(role.Memory, key, func() *standing {
		shell := driver.Once(role.Memory, key.shellKey, func() *shell { return parse(role, text) })
		if shell == nil {
			return nil
		}
		s := &standing{shell: shell, file: role.SourceFile, memory: role.Memory, places: driver.TextAt(role.SourceAt, role.SourceFile, text, key.what)}
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
// large where nothing has to be found in it.
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

// find finds out what the script does with what its role declares.
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
	s.survey.stop(s.tree, "its statements cannot be told apart", atItsEnd)
	if !s.rewritable() {
		s.survey.fixed = &obstacle{at: s.tree, why: "its statements cannot be told apart"}
		s.analysed = s.analyse(s.inputs)
	}
}

// rewritable analyses the script, and says whether it can be rewritten so.
func (s *shell) rewritable() bool {
	s.analysed = s.analyse(s.inputs)
	return s.analysed.check(s.text, s.analysed.rewrite(s.text), s.dialect) == nil
}

func (s *shell) analyse(inputs map[string]string) *analyser {
	return analyse(s.tree, s.survey, inputs, maps.Clone(s.outputs))
}

// finishedKey is a script that is rewritten to wait for some of its inputs.
type finishedKey struct {
	*shell
	file, late string
}

// finish rewrites the script so that it waits for the inputs that come while it
// runs. What passed the check with all inputs passes it with some of them.
func (s *standing) finish(late []string) (value.Value, []program.File) {
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

// order finds the order in which the script reads its inputs and writes its
// outputs.
//
// A run-time input is read where the rewritten script waits for it, and by
// `hotc-agent get NAME`. An output is written by `hotc-agent put NAME`, when the
// file $heat_outputs_path.NAME is closed, and where the rewritten script publishes
// a variable. Steps in a row are certain; an if, a case, a loop and what stands
// behind && or || is a fork. A function counts where it is called. Where the script
// starts what cannot be looked into (eval, a sourced file, another interpreter),
// more may happen than the steps say, and the sequence is not complete.
func (s *shell) order() *program.Sequence {
	w := &walker{analyser: s.analysed, complete: true,
		lines: max(1, strings.Count(s.text, "\n"))}
	steps, _ := w.statements(s.tree.Stmts)
	return &program.Sequence{Steps: append(steps, w.atEnd()...), Complete: w.complete, Lost: s.lost(), Printed: w.printed(s.tree, s.inputs)}
}

// lost are the inputs and outputs in variables that no wait and no publication can
// be put to.
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

// dialectsOf are the languages of the shell that runs a script. What /bin/sh is
// differs between distributions: dash, or bash.
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
		diags.Error(source.BadScript, role.SourceAt, fmt.Sprintf("the script of role %q is more than hotc looks into: %v", role.Name, beyond),
			"put what reads no input and writes no output into a file of its own, which the script starts")
		return
	}
	message, at := saying(err)
	d := diags.Error(source.BadScript, places.Place(at, at+1), fmt.Sprintf("the script of role %q is not what its shell takes: %s", role.Name, message), "")
	if role.SourceAt.Known() {
		d.Note(role.SourceAt, "the role's source")
	}
}
