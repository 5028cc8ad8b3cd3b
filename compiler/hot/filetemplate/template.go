// Package filetemplate is the language of a role's files: Go's template language with
// the functions of sprig.
//
// The dot is the role's inputs: {{ .db_name }}, {{ $.db_name }}, {{ input "a.b" }}
// for names that are not identifiers, and {{ . }} for all of them as a map. An input
// is read only when execution reaches it, which text/template cannot do: the values of
// a map must exist. So this package shares the library's parser but executes the tree
// itself (execute.go). The compiler walks the same tree for the order of reads
// (reads.go), so that it predicts what happens on the server. Another reason:
// text/template looks up methods by name, so the linker keeps every method of every
// type; the agent would be a quarter larger.
//
// A value is printed as in a role's environment: a string as it is, any other as JSON.
// A missing key is an error, not "<no value>".
package filetemplate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/Masterminds/sprig/v3"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// Template is a parsed template.
type Template struct {
	trees     map[string]*parse.Tree
	functions map[string]any
	inputs    []string
	steps     []Step
}

// Error is an error at a position in a template.
type Error struct {
	Offset  int // in bytes
	Message string
	Hint    string
	// Undeclared says that the template reads an undeclared input.
	Undeclared bool
}

func (e *Error) Error() string { return e.Message }

// inputFunction is the function that reads the input named by its argument.
const inputFunction = "input"

// unsupported are sprig's functions that would expose the agent's environment, or query a
// name server without a timeout.
var unsupported = []string{"env", "expandenv", "getHostByName"}

func functions() map[string]any {
	all := builtins()
	maps.Copy(all, sprig.TxtFuncMap())
	for _, name := range unsupported {
		delete(all, name)
	}
	all["keys"], all["values"] = sortedKeys, sortedValues
	all[inputFunction] = placeholder
	return all
}

// sortedKeys is sprig's keys in a fixed order: the same inputs give the same text.
func sortedKeys(dicts ...map[string]any) []string {
	all := []string{}
	for _, dict := range dicts {
		all = append(all, slices.Sorted(maps.Keys(dict))...)
	}
	return all
}

// sortedValues is sprig's values, in the order of their keys.
func sortedValues(dict map[string]any) []any {
	all := []any{}
	for _, key := range sortedKeys(dict) {
		all = append(all, dict[key])
	}
	return all
}

// Parse parses a template of a role with these inputs. Its errors are of type *Error.
func Parse(text string, inputs []string) (*Template, error) {
	t := &Template{functions: functions(), inputs: inputs}
	trees, err := parse.Parse(ownName, text, "", "", t.functions)
	if err != nil {
		return nil, parseError(text, err)
	}
	t.trees = trees
	w := &walk{t: t, called: map[call]bool{}}
	t.steps, _ = w.template(call{ownName, true})
	if w.wrong == nil && w.calls > maxCalls {
		w.wrong = &Error{Message: "the template calls too many templates"}
	}
	if w.wrong != nil {
		return nil, w.wrong
	}
	return t, nil
}

// input splits a path into the input's name and the keys within its value. The name is ""
// if there is no such input.
func (t *Template) input(path []string) (name string, rest []string) {
	for i := len(path); i > 0; i-- {
		if name := strings.Join(path[:i], "."); slices.Contains(t.inputs, name) {
			return name, path[i:]
		}
	}
	return "", nil
}

// isRoot reports whether a node is the dot or `$` of the inputs.
func isRoot(n parse.Node, dot, dollar bool) bool {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.VariableNode:
		return dollar && len(n.Ident) == 1 && n.Ident[0] == "$"
	}
	return false
}

// passesInputs reports whether a pipeline is just the dot or `$` of the inputs.
func passesInputs(p *parse.PipeNode, dot, dollar bool) bool {
	return p != nil && len(p.Decl) == 0 && len(p.Cmds) == 1 && len(p.Cmds[0].Args) == 1 && isRoot(p.Cmds[0].Args[0], dot, dollar)
}

// ownName is the template's name in the library's errors.
const ownName = "hotc"

var parseMessage = regexp.MustCompile(`(?s)^template: ` + ownName + `:(\d+): (.*)$`)

func parseError(text string, err error) *Error {
	found := parseMessage.FindStringSubmatch(err.Error())
	if found == nil {
		return &Error{Message: strings.TrimPrefix(err.Error(), "template: ")}
	}
	line, _ := strconv.Atoi(found[1])
	offset := 0
	for range line - 1 {
		next := strings.IndexByte(text[offset:], '\n')
		if next < 0 {
			break
		}
		offset += next + 1
	}
	if end := len(strings.TrimRight(text, " \t\r\n")); offset >= end {
		offset = strings.LastIndexByte(text[:end], '\n') + 1
	}
	e := &Error{Offset: offset, Message: found[2]}
	if strings.HasSuffix(e.Message, "unexpected EOF") {
		e.Message = "unexpected end of the template"
		e.Hint = "close every if, range, with, block and define with {{ end }}"
	}
	for _, name := range unsupported {
		if strings.HasPrefix(e.Message, fmt.Sprintf("function %q not defined", name)) {
			e.Hint = "hotc does not support sprig's " + strings.Join(unsupported, ", ") + ": pass the value as an input"
		}
	}
	return e
}

func undeclared(pos parse.Pos, name string, inputs []string) *Error {
	return &Error{Offset: int(pos), Message: fmt.Sprintf("the role declares no input %q", name), Undeclared: true, Hint: hot.DidYouMean(name, inputs, "")}
}
