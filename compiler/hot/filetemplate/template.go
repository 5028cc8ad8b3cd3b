// Package filetemplate is the language of a role's files: Go's text/template with
// the functions of sprig.
//
// The dot is the role's inputs: {{ .db_name }}, {{ $.db_name }}, {{ input "a.b" }}
// for names that are no identifiers, and {{ . }} for all of them as a map. An input
// is read when the template comes to it and no earlier, which Go's templates cannot
// do by themselves: what a map holds must be there. So each look at the dot is
// replaced in the parsed template by a call of the function `input` (inputs.go). The
// compiler walks the same tree for the order of reads (reads.go), so that what it
// knows is what the server does.
//
// A value is printed as a role's environment has it: a string as it is, any other as
// JSON. A key that is not there is an error, not "<no value>".
package filetemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// Template is a parsed template.
type Template struct {
	rewriting
	steps []Step
}

// Error is what is wrong with a template, at a place in its text.
type Error struct {
	Offset  int // in bytes
	Message string
	Hint    string
	// Undeclared says that it names an input that is not there.
	Undeclared bool
}

func (e *Error) Error() string { return e.Message }

// The functions that the rewritten tree calls.
const (
	inputFunction  = "input"
	inputsFunction = "inputs"
	printFunction  = "hotc_print"
)

// withheld are functions of sprig that would show the agent's environment, or ask a
// name server without a limit of time.
var withheld = []string{"env", "expandenv", "getHostByName"}

func functions() template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range withheld {
		delete(all, name)
	}
	all[inputFunction] = func(string) (any, error) { return nil, errNotBound }
	all[inputsFunction] = func() (any, error) { return nil, errNotBound }
	all[printFunction] = printed
	return all
}

var errNotBound = errors.New("a template is executed by Execute alone")

// Parse reads a template of a role with these inputs. What is wrong with it is an
// *Error.
func Parse(text string, inputs []string) (*Template, error) {
	main, err := template.New(ownName).Funcs(functions()).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, parseError(text, err)
	}
	t := &Template{rewriting: rewriting{inputs: inputs, main: main}}
	if err := t.rewrite(); err != nil {
		return nil, err
	}
	w := &walk{t: t, called: map[string]bool{}}
	t.steps, _ = w.template(ownName)
	if w.calls > maxCalls {
		return nil, &Error{Message: "the template calls templates too often"}
	}
	return t, nil
}

// ownName is how a template is called in the library's errors.
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
		e.Message = "it ends before what it has opened is closed"
		e.Hint = "what an if, range, with, block or define opens, {{ end }} closes"
	}
	for _, name := range withheld {
		if strings.HasPrefix(e.Message, fmt.Sprintf("function %q not defined", name)) {
			e.Hint = "hotc leaves " + strings.Join(withheld, ", ") + " out of sprig's functions: give the value as an input"
		}
	}
	return e
}

// Read gives an input's value.
type Read func(input string) (json.RawMessage, error)

// Execute writes what the template gives. An error of read is returned as it is; of
// others the text begins with NAME:LINE:COLUMN.
func (t *Template) Execute(w io.Writer, name string, read Read) error {
	main, err := t.main.Clone()
	if err != nil {
		return err
	}
	input := func(name string) (any, error) {
		if !t.declared(name) {
			return nil, fmt.Errorf("the role has no input %q", name)
		}
		value, err := read(name)
		if err != nil {
			return nil, &readError{err}
		}
		return decode(value)
	}
	all := func() (any, error) {
		values := map[string]any{}
		for _, name := range t.inputs {
			value, err := input(name)
			if err != nil {
				return nil, err
			}
			values[name] = value
		}
		return values, nil
	}
	main.Funcs(template.FuncMap{inputFunction: input, inputsFunction: all})
	err = main.Execute(w, nil)
	var failed *readError
	if errors.As(err, &failed) {
		return failed.error
	}
	if err != nil {
		return errors.New(name + executing.ReplaceAllString(strings.TrimPrefix(err.Error(), "template: "+ownName), "$1"))
	}
	return nil
}

// executing is the part of the library's message that shows the rewritten tree.
var executing = regexp.MustCompile(`(?s)^(:\d+:\d+: )executing ".*?" at <.*?>: `)

type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// decode is a value as templates calculate with it: whole numbers are int, as
// literals in templates are.
func decode(text json.RawMessage) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return plain(value), nil
}

func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	}
	return value
}

// printed is the text of a value.
func printed(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case error, fmt.Stringer:
		return fmt.Sprint(v), nil
	}
	switch r := reflect.ValueOf(value); r.Kind() {
	case reflect.Invalid, reflect.Bool, reflect.Map, reflect.Slice, reflect.Array, reflect.Struct, reflect.Float32, reflect.Float64:
		if text, is := value.([]byte); is {
			return string(text), nil
		}
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			return fmt.Sprint(value), nil
		}
		return strings.TrimSuffix(b.String(), "\n"), nil
	}
	return fmt.Sprint(value), nil
}
