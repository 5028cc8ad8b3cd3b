package hot

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var _ = flag.Bool("update", false, "with -short, ask stock Heat and record its answers in testdata/heat")

// cases is how many random expressions are compared with stock Heat.
const cases = 6000

// world is what random expressions can refer to.
const world = `"parameters": {
  "text": {"type": "string"}, "empty": {"type": "string"}, "commas": {"type": "string", "default": "a,b,c"}, "named": {"type": "string", "default": "is_on"},
  "number": {"type": "number", "default": 3}, "fraction": {"type": "number", "default": "2.5"},
  "items": {"type": "comma_delimited_list", "default": "x,y, z"}, "none": {"type": "comma_delimited_list", "default": []},
  "object": {"type": "json", "default": {"k": {"n": [1, 2, {"z": "q"}]}, "f": 1.5, "x": "", "n": "v"}},
  "array": {"type": "json", "default": "[1, \"two\", null, [3]]"}, "null": {"type": "json", "default": "null"},
  "yes": {"type": "boolean", "default": "on"}, "no": {"type": "boolean", "default": false}},
 "resources": {"server": {"type": "OS::Heat::None"}}`

const worldConditions = `"conditions": {"is_on": {"equals": [{"get_param": "yes"}, true]}, "is_off": {"not": "is_on"},
  "both": {"and": ["is_on", "is_off"]}, "loop": {"not": "loop"}, "bad": {"get_param": "text"}}, `

// cfnWorld is the same for CloudFormation templates.
const cfnWorld = `"Parameters": {
  "text": {"Type": "String"}, "empty": {"Type": "String"}, "commas": {"Type": "String", "Default": "a,b,c"}, "named": {"Type": "String", "Default": "is_on"},
  "key": {"Type": "String", "Default": "a"},
  "number": {"Type": "Number", "Default": 3}, "fraction": {"Type": "Number", "Default": "2.5"},
  "items": {"Type": "CommaDelimitedList", "Default": "x,y, z"}, "none": {"Type": "CommaDelimitedList", "Default": []},
  "object": {"Type": "Json", "Default": {"k": {"n": [1, 2, {"z": "q"}]}, "f": 1.5, "x": "", "n": "v"}},
  "array": {"Type": "Json", "Default": "[1, \"two\", null, [3]]"}, "null": {"Type": "Json", "Default": "null"},
  "yes": {"Type": "Boolean", "Default": "on"}, "no": {"Type": "Boolean", "Default": false}},
 "Mappings": {"m": {"a": {"x": "ax", "y": 1, "l": ["p", "q"]}, "b": {"x": "bx", "y": null, "l": []}}, "deep": {"k": ["one", {"z": "two"}], "text": "abc"}},
 "Resources": {"server": {"Type": "OS::Heat::None"}}`

const cfnConditions = `"Conditions": {"is_on": {"Fn::Equals": [{"Ref": "yes"}, true]}, "is_off": {"Fn::Not": ["is_on"]},
  "both": {"Fn::And": ["is_on", "is_off"]}, "loop": {"Fn::Not": ["loop"]}, "bad": {"Ref": "text"}}, `

var (
	worldValues     = map[string]value.Value{"text": "alpha %x%", "empty": ""}
	worldAttributes = `{"ip": "10.0.0.1", "list": ["a", "b", {"c": 1}], "map": {"k": "v", "n": [1, 2], "1": "one"}, "none": null, "number": 5, "show": {"s": 1}}`
	worldFiles      = map[string]string{"file.txt": "content of\nthe file"}
)

func worldTemplate(v Version, outputs []string) string {
	conditions := ""
	if v.CFN() {
		key, date := v.Head()
		if v.hasConditions() {
			conditions = cfnConditions
		}
		return fmt.Sprintf(`{%q: %q, %s%s, "Outputs": {%s}}`, key, date, conditions, cfnWorld, strings.Join(outputs, ", "))
	}
	if v >= V20161014 {
		conditions = worldConditions
	}
	return fmt.Sprintf(`{"heat_template_version": %q, %s%s, "outputs": {%s}}`, v, conditions, world, strings.Join(outputs, ", "))
}

func worldStack(template string) hottest.Stack {
	values, _ := json.Marshal(worldValues)
	return hottest.Stack{Template: template, Values: values, Files: worldFiles,
		Resources: map[string]hottest.Resource{"server": {Ref: "id-of-server", Attributes: json.RawMessage(worldAttributes)}}}
}

// resolver answers references as Heat would, except those declared unknown.
type resolver struct {
	template *Template
	unknown  func(call string) bool
}

func (r resolver) resolve(call *Expr) (*Expr, error) {
	if !call.arg.IsValue() {
		return call, nil
	}
	v, err := r.value(call.Func.Meaning(), call.arg.Value)
	if err == nil && r.unknown != nil && r.unknown(string(value.EncodeJSON(call.arg.Value))) {
		return call, nil
	}
	return Constant(v, call.At), err
}

func (r resolver) value(function string, arg value.Value) (value.Value, error) {
	switch function {
	case "get_param":
		name, path, err := readParam(arg)
		if err != nil {
			return nil, err
		}
		p := r.template.Parameter(name)
		if p == nil {
			return nil, fmt.Errorf("no parameter %q", name)
		}
		v, given := worldValues[name]
		if !given {
			v = p.Default.Data()
		}
		if v, err = p.Cast(v); err != nil {
			return nil, err
		}
		return SelectParam(v, path), nil
	case "get_resource":
		if arg != "server" {
			return nil, fmt.Errorf("no resource %q", arg)
		}
		return "id-of-server", nil
	case "get_file":
		text, ok := worldFiles[arg.(string)]
		if !ok {
			return nil, fmt.Errorf("no file %q", arg)
		}
		return text, nil
	}
	return attribute(arg)
}

func attribute(arg value.Value) (value.Value, error) {
	resource, name, path, err := readAttr(arg)
	if err != nil {
		return nil, err
	}
	if resource != "server" {
		return nil, fmt.Errorf("no resource %q", resource)
	}
	all, _ := yaml.DecodeJSON([]byte(worldAttributes))
	if name == nil {
		d := value.NewDict()
		for _, k := range all.(*value.Dict).Keys() {
			if v, _ := all.(*value.Dict).Get(k); k != "show" {
				d.Set(k, v)
			}
		}
		return d, nil
	}
	key, _ := name.(string)
	v, ok := all.(*value.Dict).Get(key)
	if !ok {
		return nil, fmt.Errorf("no attribute %v", name)
	}
	return Select(v, path), nil
}

// batch is how many expressions are sent to Heat at once.
const batch = 100

// trial is one random expression, with the results of hotc and Heat.
type trial struct {
	seed     uint64
	text     json.RawMessage
	template *Template
	expr     *Expr
	heat     hottest.Verdict
}

// trials generates expressions of a version and asks Heat for their values.
func trials(t *testing.T, oracle *hottest.Oracle, v Version, seeds []uint64) []*trial {
	t.Helper()
	return trialsOf(t, oracle, v, seeds, func(g *generator) value.Value { return g.value(anything, 1+g.IntN(4)) })
}

func trialsOf(t *testing.T, oracle *hottest.Oracle, v Version, seeds []uint64, expression func(*generator) value.Value) []*trial {
	t.Helper()
	var outputs []string
	var out []*trial
	var texts []json.RawMessage
	for i, s := range seeds {
		g := newGenerator(s, v)
		text := json.RawMessage(value.EncodeJSON(expression(g)))
		outputs = append(outputs, fmt.Sprintf(`"o%d": {%q: %s}`, i, v.Keywords().Value, text))
		texts = append(texts, text)
		out = append(out, &trial{seed: s, text: text})
	}
	text := worldTemplate(v, outputs)
	var diags source.Diagnostics
	template := ParseTemplate(source.NewFile("world.json", []byte(text)), &diags)
	if template == nil {
		t.Fatalf("%v", diags.All())
	}
	verdicts := oracle.Evaluate(t, worldStack(worldTemplate(v, nil)), texts)
	for i, o := range template.Outputs {
		out[i].template, out[i].expr, out[i].heat = template, template.Expr(o.Value), verdicts[i]
	}
	return out
}

// allTrials runs a check over the random expressions of all versions.
func allTrials(t *testing.T, oracle *hottest.Oracle, count int, check func(*testing.T, *trial)) {
	t.Helper()
	byVersion := map[Version][]uint64{}
	for s := range seedtest.Each(t, count, 655080623, 2081347002, 3081053081, 1176984639) { // an attribute null in a path that is not evaluated, also with Ref: null; a removed function in a decided or; a third key of str_replace
		byVersion[versionOfSeed(s)] = append(byVersion[versionOfSeed(s)], s)
	}
	for v := firstVersion; v <= lastVersion; v++ {
		for seeds := byVersion[v]; len(seeds) > 0; {
			n := min(batch, len(seeds))
			for _, x := range trials(t, oracle, v, seeds[:n]) {
				check(t, x)
			}
			seeds = seeds[n:]
		}
	}
}

func versionOfSeed(s uint64) Version { return Version(s % uint64(lastVersion+1)) }

func (x *trial) report(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf("SEED=%d (%s): %s\n%s\nHeat: %s%s", x.seed, x.template.Version, x.text, fmt.Sprintf(format, args...), x.heat.Value, x.heat.Error)
}

// agrees compares a value, or an error, with Heat's.
func (x *trial) agrees(t *testing.T, what string, v value.Value, err error) bool {
	t.Helper()
	switch {
	case err != nil && x.heat.Error == "":
		x.report(t, "%s: error %v", what, err)
	case err == nil && x.heat.Error != "":
		x.report(t, "%s: %s", what, value.EncodeJSON(v))
	case err == nil:
		heat, e := yaml.DecodeJSON([]byte(x.heat.Value))
		if e != nil {
			t.Fatal(e)
		}
		if got := value.EncodeJSON(v); string(got) != string(value.EncodeJSON(heat)) {
			x.report(t, "%s: %s", what, got)
			return false
		}
		return true
	default:
		return true
	}
	return false
}

// Every expression has the same value as in stock Heat, or both refuse it.
func TestAgreesWithHeat(t *testing.T) {
	oracle := hottest.Start(t)
	values, refused, left := 0, 0, 0
	allTrials(t, oracle, cases, func(t *testing.T, x *trial) {
		out, err := Fold(x.expr, resolver{template: x.template}.resolve)
		if err == nil && !out.IsValue() {
			if !callsAny(out, "map_replace") { // with a new key that is not a string
				x.report(t, "not folded")
			}
			left++
			return
		}
		var v value.Value
		if err == nil {
			v = out.Value
		}
		if x.agrees(t, "hotc", v, err) {
			if err == nil {
				values++
			} else {
				refused++
			}
		}
	})
	t.Logf("%d values and %d errors agree, %d were left to Heat", values, refused, left)
}

// The residual of an expression with unknown references has the same value in stock Heat
// as the whole expression.
func TestResidualsAgreeWithHeat(t *testing.T) {
	oracle := hottest.Start(t)
	var waiting []*trial
	var texts []json.RawMessage
	counts := map[string]int{}
	ask := func(t *testing.T) {
		if len(waiting) == 0 {
			return
		}
		stack := worldStack(worldTemplate(versionOfSeed(waiting[0].seed), nil))
		for i, heat := range oracle.Evaluate(t, stack, texts) {
			x := waiting[i]
			if heat.Value != x.heat.Value || (heat.Error == "") != (x.heat.Error == "") {
				x.report(t, "the residual %s\nis to Heat: %s%s", texts[i], heat.Value, heat.Error)
			}
		}
		waiting, texts = nil, nil
	}
	allTrials(t, oracle, cases, func(t *testing.T, x *trial) {
		if len(waiting) > 0 && versionOfSeed(waiting[0].seed) != versionOfSeed(x.seed) || len(waiting) == batch {
			ask(t)
		}
		unknown := unknownOf(x.seed)
		out, err := Fold(x.expr, resolver{template: x.template, unknown: unknown}.resolve)
		if err != nil {
			counts["errors"]++
			if x.heat.Error == "" {
				x.report(t, "folding in part: error %v", err)
			}
			return
		}
		v, ok := out.HOT()
		if !ok {
			counts["inexpressible"]++
			return
		}
		counts[map[bool]string{true: "values", false: "residuals"}[out.IsValue()]]++
		waiting, texts = append(waiting, x), append(texts, json.RawMessage(value.EncodeJSON(v)))
	})
	ask(t)
	t.Log(counts)
}

// An expression whose every `if` got an else has the same value in stock Heat as the
// original.
func TestWithElseAgreesWithHeat(t *testing.T) {
	oracle := hottest.Start(t)
	changed, left := 0, 0
	const count = cases / 4
	for seeds := range slices.Chunk(slices.Collect(seedtest.Each(t, count, 950426956)), batch) { // an empty if
		var with []*trial
		var texts []json.RawMessage
		for _, x := range trialsOf(t, oracle, lastVersion, seeds, (*generator).withoutElse) {
			out := x.expr.WithElse()
			v, ok := out.HOT()
			if out == x.expr || !ok {
				continue
			}
			changed++
			if out.Any((*Expr).MayBeOmitted) {
				left++
			}
			with, texts = append(with, x), append(texts, json.RawMessage(value.EncodeJSON(v)))
		}
		if len(texts) == 0 {
			continue
		}
		for i, heat := range oracle.Evaluate(t, worldStack(worldTemplate(lastVersion, nil)), texts) {
			if x := with[i]; heat.Value != x.heat.Value || (heat.Error == "") != (x.heat.Error == "") {
				x.report(t, "with an else everywhere, %s\nis to Heat: %s%s", texts[i], heat.Value, heat.Error)
			}
		}
	}
	t.Logf("%d expressions were changed, %d of them only in part", changed, left)
	if !seedtest.Few() && (changed < count/2 || left*4 > changed) {
		t.Error("too little was compared")
	}
}

// unknownOf makes half of the references unknown, the same ones for a seed.
func unknownOf(seed uint64) func(string) bool {
	return func(call string) bool {
		h := fnv.New64a()
		fmt.Fprint(h, seed, call)
		return h.Sum64()&4 != 0
	}
}

// The residual of an expression, written into a plan and read again, has the same value on
// a server as the whole has in stock Heat.
func TestPlansAgreeWithHeat(t *testing.T) {
	oracle := hottest.Start(t)
	residuals, named := 0, 0
	allTrials(t, oracle, cases/2, func(t *testing.T, x *trial) {
		r := resolver{template: x.template, unknown: unknownOf(x.seed)}
		out, err := Fold(x.expr, func(call *Expr) (*Expr, error) {
			left, err := r.resolve(call)
			if err == nil && left == call && call.arg.IsValue() {
				name := call.Func.Meaning() + " " + string(value.EncodeJSON(call.arg.Value))
				return NewCall(CellRef, call.At, Constant(name, call.At)), nil
			}
			return left, err
		})
		if err != nil || out.IsValue() || callsAny(out, "map_replace") || out.NeedsHeat() != nil || x.template.Version.CFN() { // which has no roles
			return
		}
		residuals++
		text, at := EncodeResidual(out)
		read, err := ParseResidual(text, at)
		if err != nil {
			x.report(t, "the plan %s: %v", text, err)
			return
		}
		var v value.Value
		value, err := read.Eval(cells{resolver{template: x.template}})
		if err == nil {
			v, err = yaml.DecodeJSON(value)
		}
		if err != nil && strings.Contains(err.Error(), "unknown condition") && callsAny(out, "if") {
			named++ // a compiled plan has what Heat decided (emit, TestConditionNamedByAValue)
			return
		}
		x.agrees(t, "the plan "+string(text), v, err)
	})
	t.Logf("%d residuals agree, %d have a condition that is named by what is unknown", residuals, named)
}

// cells are named after the references that they replace.
type cells struct{ resolver }

func (c cells) Cell(name contract.CellName) (json.RawMessage, error) {
	function, arg, _ := strings.Cut(string(name), " ")
	v, err := yaml.DecodeJSON([]byte(arg))
	if err != nil {
		return nil, err
	}
	v, err = c.value(function, v)
	return value.EncodeJSON(v), err
}

func (c cells) Deploy(string) (json.RawMessage, error) { return nil, errors.New("no such value") }

// callsAny reports whether an expression calls a function of one of these meanings.
func callsAny(e *Expr, names ...string) bool {
	return e.Any(func(x *Expr) bool { return x.Kind == CallExpr && slices.Contains(names, x.Func.Meaning()) })
}
