package script

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// sequence finds the order in which a shell script reads its inputs and writes
// its outputs; nil for a script in another language. A script that its shell
// would not take is a diagnostic.
//
// A run-time input is read by `hotc-agent get NAME`. An output is written by
// `hotc-agent put NAME`, or when the file $heat_outputs_path.NAME is closed. Steps
// in a row are certain; an if, a case, a loop and what stands behind && or || is
// a fork. A function counts where it is called. Where the script starts what
// cannot be looked into (eval, a sourced file, another interpreter), more may
// happen than the steps say, and the sequence is not complete.
func sequence(role driver.Role, text string, diags *source.Diagnostics) *program.Sequence {
	dialects := dialectsOf(text)
	if len(dialects) == 0 {
		return nil
	}
	file := source.NewFile(scriptName(role), []byte(text))
	places := placesIn(role, file)
	var tree *syntax.File
	var first error
	for _, dialect := range dialects {
		parsed, err := syntax.NewParser(syntax.Variant(dialect)).Parse(strings.NewReader(text), "")
		if err == nil {
			tree = parsed
			break
		}
		if first == nil {
			first = err
		}
	}
	if tree == nil {
		refuse(role, places, first, diags)
		return nil
	}
	w := &walker{places: places, functions: map[string]*syntax.Stmt{}, complete: true, uses: map[string]bool{}, lines: max(1, strings.Count(text, "\n"))}
	syntax.Walk(tree, w.declare)
	steps, _ := w.statements(tree.Stmts)
	return &program.Sequence{Steps: steps, Complete: w.complete, Uses: w.uses}
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

// scriptName is how the user finds the script: beside the template that names it.
func scriptName(role driver.Role) string {
	if role.SourceFile == "" {
		if role.SourceAt.File == nil {
			return "script of role " + role.Name
		}
		line, _ := role.SourceAt.File.Position(role.SourceAt.Span.Start)
		return fmt.Sprintf("script in line %d of %s", line, role.SourceAt.File.Name)
	}
	if role.SourceAt.File == nil || filepath.IsAbs(role.SourceFile) || strings.Contains(role.SourceFile, "://") {
		return role.SourceFile
	}
	return path.Join(path.Dir(role.SourceAt.File.Name), role.SourceFile)
}

func refuse(role driver.Role, places places, err error, diags *source.Diagnostics) {
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
	place := places.of(uint32(at), uint32(at)+1)
	d := diags.Error(source.BadScript, place, fmt.Sprintf("the script of role %q is not what its shell takes: %s", role.Name, message), "")
	if role.SourceAt.Known() {
		d.Notes = append(d.Notes, source.Note{At: role.SourceAt, Message: "the role's source"})
	}
}
