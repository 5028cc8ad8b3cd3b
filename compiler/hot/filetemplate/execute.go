package filetemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sort"
	"strings"
	"text/template/parse"

	"github.com/Masterminds/semver/v3"
)

// Read returns an input's value.
type Read func(input string) (json.RawMessage, error)

// root is the dot and `$` of a template called with the inputs: an input is read only
// when it is named, or all are used as a map.
type root struct{}

// execution is one execution of a template. It aborts with a panic of a failure, which
// Execute recovers.
type execution struct {
	t     *Template
	tree  *parse.Tree
	node  parse.Node // the current one, for the position of an error
	out   io.Writer
	read  Read
	vars  []variable
	depth int
}

type variable struct {
	name  string
	value any
}

type failure struct{ err error }

// maxDepth limits the nesting of template calls.
const maxDepth = 10000

// Execute writes the template's output. An error of read or of w is returned as it is;
// any other starts with NAME:LINE:COLUMN.
func (t *Template) Execute(w io.Writer, name string, read Read) (err error) {
	e := &execution{t: t, tree: t.trees[ownName], out: w, read: read}
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = f.err
			var own *positioned
			if errors.As(err, &own) {
				err = errors.New(name + own.place + own.message)
			}
		default:
			panic(f)
		}
	}()
	e.template(e.tree, root{})
	return nil
}

// positioned is an error at a position in the template.
type positioned struct{ place, message string }

func (p *positioned) Error() string { return p.message }

func (e *execution) fail(format string, args ...any) {
	location, _ := e.tree.ErrorContext(e.node)
	panic(failure{&positioned{strings.TrimPrefix(location, ownName) + ": ", fmt.Sprintf(format, args...)}})
}

// flow is how a node ended.
type flow int

const (
	onward flow = iota
	breaks
	continues
)

func (e *execution) template(tree *parse.Tree, dot any) {
	inner := *e
	inner.tree, inner.vars, inner.depth = tree, []variable{{"$", dot}}, e.depth+1
	inner.walk(dot, tree.Root)
}

func (e *execution) walk(dot any, n parse.Node) flow {
	e.node = n
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return onward
		}
		for _, item := range n.Nodes {
			if f := e.walk(dot, item); f != onward {
				return f
			}
		}
	case *parse.TextNode:
		e.write(string(n.Text))
	case *parse.ActionNode:
		if value := e.pipe(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
			e.write(printed(value))
		}
	case *parse.IfNode:
		return e.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return e.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return e.loop(dot, n)
	case *parse.TemplateNode:
		e.invoke(dot, n)
	case *parse.BreakNode:
		return breaks
	case *parse.ContinueNode:
		return continues
	}
	return onward
}

func (e *execution) write(text string) {
	if _, err := io.WriteString(e.out, text); err != nil {
		panic(failure{err})
	}
}

func (e *execution) branch(dot any, n *parse.BranchNode, with bool) flow {
	defer e.forget(len(e.vars))
	value := e.pipe(dot, n.Pipe)
	if !truth(value) {
		return e.walk(dot, n.ElseList)
	}
	if with {
		dot = value
	}
	return e.walk(dot, n.List)
}

func (e *execution) loop(dot any, n *parse.RangeNode) flow {
	defer e.forget(len(e.vars))
	value := e.pipe(dot, n.Pipe)
	e.node = n
	kept, rounds := len(e.vars), 0
	round := func(key, item any) bool {
		rounds++
		defer e.forget(kept)
		switch names := n.Pipe.Decl; len(names) {
		case 1:
			e.set(names[0].Ident[0], item)
		case 2:
			e.set(names[0].Ident[0], key)
			e.set(names[1].Ident[0], item)
		}
		return e.walk(item, n.List) != breaks
	}
	switch v := indirect(reflect.ValueOf(value)); v.Kind() {
	case reflect.Invalid:
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && round(i, v.Index(i).Interface()); i++ {
		}
	case reflect.Map:
		keys := v.MapKeys()
		sort.SliceStable(keys, func(i, k int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[k]) })
		for _, key := range keys {
			if !round(key.Interface(), v.MapIndex(key).Interface()) {
				break
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if len(n.Pipe.Decl) > 1 {
			e.fail("can't use %v to iterate over more than one variable", value)
		}
		for i := range v.Int() {
			if !round(nil, reflect.ValueOf(i).Convert(v.Type()).Interface()) {
				break
			}
		}
	default:
		e.fail("range can't iterate over %v", value)
	}
	if rounds == 0 {
		return e.walk(dot, n.ElseList)
	}
	return onward
}

func (e *execution) invoke(dot any, n *parse.TemplateNode) {
	tree := e.t.trees[n.Name]
	switch {
	case tree == nil:
		e.fail("template %q not defined", n.Name)
	case e.depth == maxDepth:
		e.fail("template calls are nested more than %d deep", maxDepth)
	}
	var argument any
	if passesInputs(n.Pipe, dot == any(root{}), e.value("$") == any(root{})) {
		argument = root{}
	} else {
		argument = e.pipe(dot, n.Pipe)
	}
	e.template(tree, argument)
}

// forget drops all variables but the first n.
func (e *execution) forget(n int) { e.vars = e.vars[:n] }

func (e *execution) variable(name string) *variable {
	for i := len(e.vars) - 1; i >= 0; i-- {
		if e.vars[i].name == name {
			return &e.vars[i]
		}
	}
	e.fail("undefined variable: %s", name) // the parser rules this out
	return nil
}

func (e *execution) value(name string) any      { return e.variable(name).value }
func (e *execution) set(name string, value any) { e.variable(name).value = value }

// whole is a value used as a whole: for the inputs, a map of all.
func (e *execution) whole(value any) any {
	if value != any(root{}) {
		return value
	}
	values := map[string]any{}
	for _, name := range e.t.inputs {
		values[name] = e.input(name)
	}
	return values
}

func (e *execution) input(name string) any {
	if !slices.Contains(e.t.inputs, name) {
		e.fail("error calling %s: the role has no input %q", inputFunction, name)
	}
	text, err := e.read(name)
	if err == nil {
		var value any
		if value, err = decode(text); err == nil {
			return value
		}
	}
	panic(failure{err})
}

// pipe evaluates a pipeline, and sets the variables that it declares.
func (e *execution) pipe(dot any, p *parse.PipeNode) any {
	if p == nil {
		return nil
	}
	e.node = p
	var value any
	for i, c := range p.Cmds {
		value = e.command(dot, c, arguments{nodes: c.Args[1:], piped: i > 0, last: value})
	}
	for _, v := range p.Decl {
		if p.IsAssign {
			e.set(v.Ident[0], value)
		} else {
			e.vars = append(e.vars, variable{v.Ident[0], value})
		}
	}
	return value
}

// arguments are a command's arguments, and the value piped into it.
type arguments struct {
	nodes []parse.Node
	piped bool
	last  any
}

func (a arguments) none() bool { return len(a.nodes) == 0 && !a.piped }

func (e *execution) command(dot any, c *parse.CommandNode, args arguments) any {
	first := c.Args[0]
	switch n := first.(type) {
	case *parse.IdentifierNode:
		return e.function(dot, n.Ident, c, args)
	case *parse.FieldNode, *parse.VariableNode, *parse.ChainNode:
		return e.path(dot, n, args)
	case *parse.NilNode:
		e.fail("nil is not a command")
	}
	if !args.none() {
		e.node = first
		e.fail("can't give argument to non-function %s", first)
	}
	return e.operand(dot, first)
}

// operand is a node's value, without arguments.
func (e *execution) operand(dot any, n parse.Node) any {
	e.node = n
	switch n := n.(type) {
	case *parse.DotNode:
		return e.whole(dot)
	case *parse.FieldNode, *parse.VariableNode, *parse.ChainNode:
		return e.path(dot, n, arguments{})
	case *parse.IdentifierNode:
		return e.function(dot, n.Ident, n, arguments{})
	case *parse.PipeNode:
		return e.pipe(dot, n)
	case *parse.BoolNode:
		return n.True
	case *parse.StringNode:
		return n.Text
	case *parse.NumberNode:
		return e.number(n)
	case *parse.NilNode:
		return nil
	}
	e.fail("can't evaluate %s", n)
	return nil
}

// number is a literal's value without an expected type, by Go's rules.
func (e *execution) number(n *parse.NumberNode) any {
	hex := len(n.Text) > 2 && n.Text[0] == '0' && (n.Text[1] == 'x' || n.Text[1] == 'X') && !strings.ContainsAny(n.Text, "pP")
	switch {
	case n.IsComplex:
		return n.Complex128
	case n.IsFloat && !hex && n.Text[0] != '\'' && strings.ContainsAny(n.Text, ".eEpP"):
		return n.Float64
	case !n.IsInt || int64(int(n.Int64)) != n.Int64:
		e.fail("%s overflows int", n.Text)
	}
	return int(n.Int64)
}

// path evaluates a chain of names, on the inputs, on a variable, or on an expression in
// parentheses.
func (e *execution) path(dot any, n parse.Node, args arguments) any {
	e.node = n
	var from any
	var names []string
	switch n := n.(type) {
	case *parse.FieldNode:
		from, names = dot, n.Ident
	case *parse.VariableNode:
		from, names = e.value(n.Ident[0]), n.Ident[1:]
	case *parse.ChainNode:
		from, names = e.operand(dot, n.Node), n.Field
		e.node = n
	}
	if from == any(root{}) && len(names) > 0 {
		name, rest := e.t.input(names)
		from, names = e.input(name), rest
	}
	if len(names) == 0 && !args.none() {
		e.fail("can't give argument to non-function %s", n)
	}
	for i, name := range names {
		own := arguments{}
		if i == len(names)-1 {
			own = args
		}
		from = e.field(dot, from, name, n, own)
	}
	return e.whole(from)
}

// field is a map's value for a key, a struct's field, or a method's result.
func (e *execution) field(dot, of any, name string, n parse.Node, args arguments) any {
	if of == nil {
		e.fail("nil data; no entry for key %q", name)
	}
	receiver := of
	if version, is := of.(semver.Version); is {
		receiver = &version
	}
	if f := method(receiver, name); f.IsValid() {
		return e.call(dot, name, f, n, args, reflect.ValueOf(receiver))
	}
	if !args.none() {
		e.fail("%s is not a method but has arguments", name)
	}
	switch v := indirect(reflect.ValueOf(of)); v.Kind() {
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			break
		}
		item := v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key()))
		if !item.IsValid() {
			e.fail("map has no entry for key %q", name)
		}
		return item.Interface()
	case reflect.Struct:
		if f, is := v.Type().FieldByName(name); is && f.IsExported() {
			return v.FieldByIndex(f.Index).Interface()
		}
	}
	e.fail("can't evaluate field %s in type %T", name, of)
	return nil
}

func indirect(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}
