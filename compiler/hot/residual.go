package hot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// A residual expression is what the compiler leaves for the agent to evaluate, as
// JSON: in HOT's notation, with a few functions that only plans have (docs/plan.md).

// The references of a plan.
var (
	// CellRef reads a cell: {"$cell": NAME} or {"$cell": [NAME, PATH…]}.
	CellRef = &Function{Name: "$cell", Reference: true, refers: ToCell}
	// DeployRef reads a value that Heat wrote into the boot file: {"$deploy": KEY}.
	DeployRef = &Function{Name: "$deploy", Reference: true, refers: ToDeploy}
	// refused is a call that always fails, in a branch that may never be taken:
	// {"$refused": WHY}.
	refused = &Function{Name: "$refused", Check: func(why *Expr) error { return fmt.Errorf("%s", value.ToString(why.Value)) }}
)

// planTable are the functions of residual expressions: the last variant of each,
// older ones as NAME@VERSION, the condition functions (whose names do not conflict)
// and the references above. What only Heat can compute is in no plan.
func planTable() map[string]*Function {
	t := map[string]*Function{CellRef.Name: CellRef, DeployRef.Name: DeployRef}
	for _, list := range everyFunction {
		for _, s := range list {
			if !s.function.Reference && !s.function.HeatOnly {
				t[s.planName()] = s.function
			}
		}
	}
	t[refused.Name] = refused
	for _, f := range existenceFunctions {
		t[f.Name] = f
	}
	return t
}

func (s since) planName() string {
	if s.until == V20210416 {
		return s.function.Name
	}
	return s.function.Name + "@" + s.until.String()
}

// planArg is a call's argument in a plan.
func (e *Expr) planArg() *Expr {
	if e.Func.refusal != "" {
		return Constant(e.Func.refusal, e.At)
	}
	return e.arg
}

func planNameOf(f *Function) string {
	if f.refusal != "" {
		return refused.Name
	}
	for _, s := range functions {
		if s.function == f {
			return s.planName()
		}
	}
	return f.Name
}

// EncodeResidual encodes an expression for a plan, with the positions of its calls
// by JSON pointer ("" is the whole).
func EncodeResidual(e *Expr) (expr json.RawMessage, at map[string]contract.Position) {
	enc := encoder{at: map[string]contract.Position{"": contract.Position(e.At.Portable())}}
	enc.write(e)
	return enc.out.Bytes(), enc.at
}

type encoder struct {
	out     bytes.Buffer
	pointer []byte // to what is being written
	at      map[string]contract.Position
}

// within writes a named part of the current expression.
func (c *encoder) within(name string, e *Expr) {
	mark := len(c.pointer)
	c.pointer = append(append(c.pointer, '/'), escapePointer(name)...)
	c.write(e)
	c.pointer = c.pointer[:mark]
}

func (c *encoder) write(e *Expr) {
	switch e.Kind {
	case ValueExpr:
		if !looksLikeCall(e.Value) {
			value.WriteJSON(&c.out, e.Value)
			return
		}
		c.out.WriteString(`{"$literal":`)
		value.WriteJSON(&c.out, e.Value)
		c.out.WriteByte('}')
	case ListExpr:
		c.list(e)
	case MapExpr:
		if len(e.Keys) != 1 || !isPlanName(e.Keys[0]) {
			c.entries(e)
			return
		}
		mark := len(c.pointer)
		c.pointer = append(c.pointer, "/$map"...)
		c.out.WriteString(`{"$map":`)
		c.entries(e)
		c.out.WriteByte('}')
		c.pointer = c.pointer[:mark]
	case CallExpr:
		name := planNameOf(e.Func)
		if len(c.pointer) > 0 && e.At.Known() {
			c.at[string(c.pointer)] = contract.Position(e.At.Portable())
		}
		c.out.WriteString(`{"` + name + `":`)
		c.within(name, e.planArg())
		c.out.WriteByte('}')
	}
}

func (c *encoder) list(e *Expr) {
	c.out.WriteByte('[')
	for i, x := range e.Items {
		if i > 0 {
			c.out.WriteByte(',')
		}
		c.within(strconv.Itoa(i), x)
	}
	c.out.WriteByte(']')
}

func (c *encoder) entries(e *Expr) {
	c.out.WriteByte('{')
	for i, k := range e.Keys {
		if i > 0 {
			c.out.WriteByte(',')
		}
		value.WriteJSONString(&c.out, k)
		c.out.WriteByte(':')
		c.within(k, e.Items[i])
	}
	c.out.WriteByte('}')
}

// escapePointer escapes a key as a JSON pointer's token (RFC 6901).
func escapePointer(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// looksLikeCall reports whether the value contains a map that a plan reads as a call.
func looksLikeCall(v value.Value) bool { return containsCallOf(v, isPlanName) }

func isPlanName(name string) bool {
	if strings.HasPrefix(name, "$") {
		return true
	}
	for _, list := range everyFunction {
		for _, s := range list {
			if s.planName() == name {
				return true
			}
		}
	}
	return false
}

// LiteralResidual is the residual expression of a value.
func LiteralResidual(v json.RawMessage) json.RawMessage {
	return slices.Concat(json.RawMessage(`{"$literal":`), v, json.RawMessage("}"))
}

// Residual is an expression read from a plan.
type Residual struct{ expr *Expr }

// Resolver resolves the references of a residual expression. Cell may block.
type Resolver interface {
	Cell(name contract.CellName) (json.RawMessage, error)
	Deploy(key string) (json.RawMessage, error)
}

// ParseResidual reads a residual expression. Its errors are faults of the plan, which
// no template can cause.
func ParseResidual(expr json.RawMessage, at map[string]contract.Position) (*Residual, error) {
	v, err := yaml.DecodeJSON(expr)
	if err != nil {
		return nil, fmt.Errorf("residual expression: %w", err)
	}
	r := residualReader{table: planTable(), at: at}
	e, err := r.read(v, "", source.Remote(string(at[""])))
	if err != nil {
		return nil, err
	}
	return &Residual{e}, nil
}

type residualReader struct {
	table map[string]*Function
	at    map[string]contract.Position
}

// read reads a value; parts without a position get that of the enclosing part.
func (r *residualReader) read(v value.Value, pointer string, around source.Place) (*Expr, error) {
	if text, ok := r.at[pointer]; ok {
		around = source.Remote(string(text))
	}
	switch v := v.(type) {
	case []value.Value:
		e := &Expr{Kind: ListExpr, At: around}
		for i, x := range v {
			item, err := r.read(x, pointer+"/"+strconv.Itoa(i), around)
			if err != nil {
				return nil, err
			}
			e.Items = append(e.Items, item)
		}
		return e.collapse(), nil
	case *value.Dict:
		return r.dict(v, pointer, around)
	}
	return Constant(v, around), nil
}

func (r *residualReader) dict(d *value.Dict, pointer string, around source.Place) (*Expr, error) {
	if d.Len() == 1 {
		name := d.Keys()[0]
		inner, _ := d.Get(name)
		switch f := r.table[name]; {
		case f != nil:
			arg, err := r.read(inner, pointer+"/"+name, around)
			if err != nil {
				return nil, err
			}
			return NewCall(f, around, arg), nil
		case isPlanName(name) && name[0] != '$':
			return nil, fmt.Errorf("residual expression: only Heat can compute %s", name)
		case name == "$literal":
			return Constant(inner, around), nil
		case name == "$map":
			m, ok := inner.(*value.Dict)
			if !ok {
				return nil, fmt.Errorf("residual expression: $map needs a map")
			}
			return r.entries(m, pointer+"/$map", around)
		case strings.HasPrefix(name, "$"):
			return nil, fmt.Errorf("residual expression: unknown to this version of hotc: %s", name)
		}
	}
	return r.entries(d, pointer, around)
}

func (r *residualReader) entries(d *value.Dict, pointer string, around source.Place) (*Expr, error) {
	e := &Expr{Kind: MapExpr, At: around}
	for k, x := range d.All() {
		item, err := r.read(x, pointer+"/"+escapePointer(k), around)
		if err != nil {
			return nil, err
		}
		e.Keys, e.Items = append(e.Keys, k), append(e.Items, item)
	}
	return e.collapse(), nil
}

// Eval computes the expression. It wraps an error of the resolver in an *Error with
// the position of the reference.
func (r *Residual) Eval(from Resolver) (json.RawMessage, error) {
	joiner, knows := from.(Joiner)
	if !knows {
		joiner = firstMembers{}
	}
	e, err := fold(r.expr, func(call *Expr) (*Expr, error) { return resolveFrom(from, call) }, joiner)
	if err != nil {
		return nil, err
	}
	if !e.IsValue() {
		return nil, errorf(e.At, "only Heat can compute the expression")
	}
	if text := value.EncodeJSON(e.Value); json.Valid(text) {
		return text, nil
	}
	return nil, errorf(e.At, "JSON has no infinity or NaN")
}

func resolveFrom(from Resolver, call *Expr) (*Expr, error) {
	if !call.arg.IsValue() {
		return call, nil
	}
	if call.Func == AbsentRef {
		return nil, &AbsentError{value.ToString(call.arg.Value)}
	}
	var text json.RawMessage
	var err error
	switch ref := call.Ref(); {
	case ref.Name == "":
		return nil, errorf(call.At, "%s needs a name", call.Func.Name)
	case ref.Kind == ToCell:
		text, err = from.Cell(ref.Cell())
	default:
		text, err = from.Deploy(ref.Name)
	}
	if err != nil {
		return nil, err
	}
	v, err := yaml.DecodeJSON(text)
	if err != nil {
		return nil, err
	}
	return Constant(Select(v, call.Ref().Path), call.At), nil
}

// NeedsHeat is the first call in the expression that no agent can compute: a
// reference other than those of plans, or a function that only Heat has; nil if there
// is none.
func (e *Expr) NeedsHeat() *Expr {
	for x := range e.Calls() {
		if x.Func != CellRef && x.Func != DeployRef && x.Func != AbsentRef && (x.Func.Reference || x.OnlyHeat()) {
			return x
		}
	}
	return nil
}

// Cells are the cells that the expression may read, in source order.
func (e *Expr) Cells() (names []contract.CellName) {
	for x := range e.Calls() {
		if r := x.Ref(); r.Kind == ToCell && r.Name != "" {
			names = append(names, r.Cell())
		}
	}
	return names
}
