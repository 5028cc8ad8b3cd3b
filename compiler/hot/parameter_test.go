package hot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// randomParameter generates a declaration and a value for it.
func randomParameter(g *generator) (schema *value.Dict, val value.Value) {
	kind := pick(g, "string", "string", "number", "number", "comma_delimited_list", "json", "boolean", "String")
	val = parameterValue(g, kind)
	schema = dict("type", kind)
	if g.IntN(3) == 0 {
		schema.Set("default", parameterValue(g, kind))
	}
	constraints := []value.Value{}
	for range g.IntN(3) {
		constraints = append(constraints, randomConstraint(g, kind))
	}
	if len(constraints) > 0 {
		schema.Set("constraints", constraints)
	}
	if g.IntN(20) == 0 {
		schema.Set(pick(g, "tags", "hidden", "immutable", "label", "other"), pick[value.Value](g, list("a"), "x", true))
	}
	return schema, val
}

func parameterValue(g *generator, kind string) value.Value {
	switch {
	case g.IntN(8) == 0:
		return pick[value.Value](g, nil, true, int64(5), 2.5, list("a", int64(1)), dict("a", list(nil, true)), "")
	case kind == "number":
		return pick[value.Value](g, int64(7), int64(-3), 4.0, 2.5, "12", "-7", " 8 ", "1_000", "1__0", "1e3", "0x10", "inf", "nan", "٣", "1.5e-3", ".5", "5.",
			"+4", "--4", true, "99999999999999999999", int64(1)<<60, "twelve")
	case kind == "boolean":
		return pick[value.Value](g, true, false, "yes", "No", " on ", "T", "f", "1", int64(0), 1.0, "maybe", "TRUE\n")
	case kind == "comma_delimited_list":
		return pick[value.Value](g, "a,b", " a , b ", "a", "", ",", list("a", "b"), list(int64(1), 2.5, true, nil, list("x'y", `"`), dict("k", "é\u00a0")), "1,2")
	case kind == "json":
		return pick[value.Value](g, `{"a": 1, "b": [1.5, null]}`, `[1,2]`, `"x"`, `5`, `{"a":1,"a":2}`, `nonsense`, `{"a": NaN}`, `1e5`, `"\ud83d\ude00"`, ` {} `,
			dict("a", int64(1)), list(int64(1), "x"), "\u00a0{}", `{"a":}`, `[1,]`, `"tab	"`)
	}
	return pick[value.Value](g, "abc", "a", "ab", "", "é", "aé\n", "12", "a b", "true", int64(12), "x\n", "Z9", "a\u2028", dict("a", "b'c"), list("\x7f", `"'`))
}

func randomConstraint(g *generator, kind string) value.Value {
	bound := func() value.Value {
		return pick[value.Value](g, int64(1), int64(3), int64(10), 2.5, "2", "x", nil, int64(-4))
	}
	c := value.NewDict()
	if g.IntN(6) == 0 {
		kind = pick(g, "string", "number", "comma_delimited_list")
	}
	if g.IntN(5) == 0 {
		c.Set("description", "say it like this")
	}
	switch n := g.IntN(3); {
	case kind == "number" && n == 0:
		c.Set("modulo", dict("step", pick[value.Value](g, int64(2), int64(-3), int64(5), "4", 2.5, int64(0)), "offset", pick[value.Value](g, int64(0), int64(1), int64(-1), 1.0, "1")))
	case kind == "number" && n == 1:
		c.Set("range", dict("min", bound(), "max", bound()))
	case kind == "string" && n == 0:
		c.Set("allowed_pattern", pick[value.Value](g, "[a-z]*", "a|ab", "ab?", `\w+`, `^a.*$`, `[^\d]*\n?`, "(?i)A.*", `a{,2}.*`, `(?=a).*`, `\S*`, `a$`, "[", int64(5), `\Aab\Z`))
	case n <= 1:
		c.Set("length", dict("min", bound(), "max", bound()))
	default:
		c.Set("allowed_values", pick[value.Value](g, list("a", "ab", "x"), list(int64(12), 2.5, "7", int64(-3)), list(true, "no"), list("1", "2", "a", "b", ""), list("yes"),
			list("abc", nil), "abc", list(int64(4), 4.0, "nan", "inf")))
	}
	if g.IntN(25) == 0 {
		c.Set(pick(g, "custom_constraint", "length", "other"), pick[value.Value](g, "nova.flavor", dict("min", int64(1))))
	}
	return c
}

// Parameters accept the values that stock Heat accepts, and have the values of get_param
// there.
func TestParametersAgreeWithHeat(t *testing.T) {
	oracle := hottest.Start(t)
	values, refused, leftToHeat := 0, 0, 0
	for s := range seedtest.Each(t, cases/2, 742019978) { // an empty default
		v := versionOfSeed(s)
		g := newGenerator(s, v)
		schema, val := randomParameter(g)
		if v.CFN() {
			schema = cfnDeclaration(g, schema)
		}
		custom := false
		for _, c := range schemaConstraints(schema) {
			if _, has := c.Get("custom_constraint"); has {
				custom = true // Heat asks other services
			}
		}
		if custom {
			continue
		}
		heat := oracle.Parameter(t, headOf(v), value.EncodeJSON(schema), value.EncodeJSON(val))
		got, err := parameterOf(v, schema, val)
		switch {
		case err == nil && heat.Error != "" && onlyPython(schema):
			leftToHeat++
		case (err == nil) != (heat.Error == ""):
			t.Errorf("SEED=%d (%s): %s with %s: %s %v\nHeat: %s%s", s, v, value.EncodeJSON(schema), value.EncodeJSON(val), value.EncodeJSON(got), err, heat.Value, heat.Error)
		case err != nil:
			refused++
		default:
			want, _ := yaml.DecodeJSON([]byte(heat.Value))
			if string(value.EncodeJSON(got)) != string(value.EncodeJSON(want)) {
				t.Errorf("SEED=%d (%s): %s with %s: %s\nHeat: %s", s, v, value.EncodeJSON(schema), value.EncodeJSON(val), value.EncodeJSON(got), heat.Value)
			}
			values++
		}
	}
	t.Logf("%d values and %d refusals agree, %d patterns were left to Heat", values, refused, leftToHeat)
}

// cfnDeclaration is roughly the same in CloudFormation's notation.
func cfnDeclaration(g *generator, schema *value.Dict) *value.Dict {
	kind, _ := schema.Get("type")
	out := dict("Type", pick[value.Value](g, CFNType(kind.(string)), CFNType(kind.(string)), CFNType(kind.(string)), CFNType(kind.(string)), kind))
	if v, ok := schema.Get("default"); ok {
		out.Set("Default", v)
	}
	for _, c := range schemaConstraints(schema) {
		for _, x := range [][3]string{{"range", "min", "MinValue"}, {"range", "max", "MaxValue"}, {"length", "min", "MinLength"},
			{"length", "max", "MaxLength"}, {"allowed_values", "", "AllowedValues"}, {"allowed_pattern", "", "AllowedPattern"}} {
			v, ok := c.Get(x[0])
			if bounds, isMap := v.(*value.Dict); ok && x[1] != "" && isMap {
				v, ok = bounds.Get(x[1])
				ok = ok && g.IntN(4) > 0
			}
			if ok {
				out.Set(x[2], v)
			}
		}
	}
	if g.IntN(10) == 0 {
		out.Set(pick(g, "NoEcho", "Label", "default", "ConstraintDescription", "Description"), pick[value.Value](g, "true", true, "x"))
	}
	return out
}

func schemaConstraints(schema *value.Dict) (out []*value.Dict) {
	constraints, _ := schema.Get("constraints")
	items, _ := constraints.([]value.Value)
	for _, c := range items {
		out = append(out, c.(*value.Dict))
	}
	return out
}

// onlyPython reports whether hotc leaves a pattern to Heat.
func onlyPython(schema *value.Dict) bool {
	patterns := schemaConstraints(schema)
	if _, isCFN := schema.Get("AllowedPattern"); isCFN {
		patterns = append(patterns, schema)
	}
	for _, c := range patterns {
		p, _ := c.Get("allowed_pattern")
		if p == nil {
			p, _ = c.Get("AllowedPattern")
		}
		if text, ok := p.(string); ok && (pattern(text) == nil || strings.Contains(text, `\`) || strings.Contains(text, "(")) {
			return true
		}
	}
	return false
}

func parameterOf(v Version, schema *value.Dict, val value.Value) (value.Value, error) {
	key, date := v.Head()
	text := fmt.Sprintf(`{%q: %q, %q: {"p": %s}}`, key, date, v.Keywords().Parameters, value.EncodeJSON(schema))
	var diags source.Diagnostics
	template := ParseTemplate(source.NewFile("p.json", []byte(text)), &diags)
	if diags.Failed() {
		return nil, diags.All()[0]
	}
	p := template.Parameter("p")
	if val == nil && p.Default != nil {
		val = p.Default.Data()
	}
	if val == nil {
		return nil, fmt.Errorf("no value")
	}
	if err := p.Check(val); err != nil {
		return nil, err
	}
	return p.Cast(val)
}

// The message says what is expected.
func TestConstraintMessages(t *testing.T) {
	for _, c := range []struct{ declaration, value, want string }{
		{`{type: number}`, `"many"`, `expected a number, not "many"`},
		{`{type: boolean}`, `"maybe"`, `expected a boolean (true, yes, on, 1, … or false, no, off, 0, …), not "maybe"`},
		{`{type: number, constraints: [range: {min: 1, max: 5}]}`, `9`, `expected a number from 1 to 5, not 9`},
		{`{type: string, constraints: [length: {min: 3}]}`, `"ab"`, `expected a length of at least 3, not 2`},
		{`{type: string, constraints: [{allowed_values: [a, b], description: A or B}]}`, `"c"`, `A or B (expected one of ["a","b"], not "c")`},
		{`{type: string, constraints: [allowed_pattern: "[a-z]+"]}`, `"A"`, `expected a string that matches [a-z]+, not "A"`},
		{`{type: number, constraints: [modulo: {step: 2, offset: 1}]}`, `4`, `expected a multiple of 2 plus 1, not 4`},
		{`{type: json}`, `"{"`, `expected JSON: invalid JSON at byte 1`},
	} {
		var diags source.Diagnostics
		text := "heat_template_version: 2018-08-31\nparameters:\n  p: " + c.declaration + "\n"
		template := ParseTemplate(source.NewFile("t.yaml", []byte(text)), &diags)
		var value any
		if err := json.Unmarshal([]byte(c.value), &value); err != nil || diags.Failed() {
			t.Fatal(err, diags.All())
		}
		v, _ := yaml.DecodeJSON([]byte(c.value))
		if err := template.Parameter("p").Check(v); err == nil || err.Error() != c.want {
			t.Errorf("%s with %s: %v, want %s", c.declaration, c.value, err, c.want)
		}
	}
}

// What is refused as a regular expression Python refuses, too.
func TestInvalidPatterns(t *testing.T) {
	hottest.Skip(t)
	g := rand.New(rand.NewPCG(seedtest.One(t), 0))
	parts := []string{"[", "]", "(", ")", "-", "a", "z", `\`, "|", "*", "+", "^", ".", "{", "}", "1", ",", "$", "?", ":", `\d`, `\]`, `\(`, "b-", "[^", "Z"}
	var refused []string
	for range 20_000 {
		text := ""
		for range 1 + g.IntN(9) {
			text += parts[g.IntN(len(parts))]
		}
		if unfinished(text) != nil {
			refused = append(refused, text)
		}
	}
	python := exec.Command("/usr/bin/python3", "-W", "ignore", "-c", `
import json, re, sys
for text in json.load(sys.stdin):
    try:
        re.compile(text)
        print(text)
    except re.error:
        pass`)
	question, err := json.Marshal(refused)
	if err != nil {
		t.Fatal(err)
	}
	python.Stdin = bytes.NewReader(question)
	accepted, err := python.CombinedOutput()
	if err != nil || len(accepted) > 0 || len(refused) < 1000 {
		t.Errorf("of %d Python takes %s, %v", len(refused), accepted, err)
	}
}
