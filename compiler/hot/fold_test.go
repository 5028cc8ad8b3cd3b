package hot

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// parseValue reads an expression of a version; a and b are unknown attributes, p is
// the string "known".
func parseValue(t testing.TB, v Version, conditions, text string) *Expr {
	t.Helper()
	section := ""
	if conditions != "" {
		section = "conditions: " + conditions + "\n"
	}
	var diags source.Diagnostics
	file := source.NewFile("t.yaml", []byte("heat_template_version: "+v.String()+"\nparameters:\n  p: {type: string}\n"+section+
		"outputs:\n  o:\n    value: "+text+"\n"))
	template := ParseTemplate(file, &diags)
	if template == nil || diags.Failed() {
		t.Fatalf("%s: %v", text, diags.All())
	}
	return template.Expr(template.Outputs[0].Value)
}

func onlyP(call *Expr) (*Expr, error) {
	if call.Func.Meaning() == "get_param" && call.arg.Value == "p" {
		return Constant("known", call.At), nil
	}
	return call, nil
}

// Known parts are computed, and the residual is HOT of the same version.
func TestPartialEvaluation(t *testing.T) {
	const a, b, p = "{get_attr: [r, a]}", "{get_attr: [r, b]}", "{get_param: p}"
	const u = `{"get_attr":["r","a"]}`
	for _, c := range []struct{ name, text, want string }{
		{"a known condition takes its branch", `{if: [{equals: [` + p + `, known]}, ` + a + `, {digest: wrong}]}`, u},
		{"a named condition too", `{if: [named, ` + a + `, 0]}`, u},
		{"an unknown condition is written out, its branches are folded", `{if: [open, ` + p + `, ` + a + `]}`,
			`{"if":[{"equals":[{"get_param":"q"},1]},"known",` + u + `]}`},
		{"what fails in a branch may never matter", `{if: [open, {digest: [x]}, 1]}`, `{"if":[{"equals":[{"get_param":"q"},1]},{"digest":["x"]},1]}`},
		{"and ends at what decides", `{if: [{and: [open, {equals: [1, 2]}]}, 1, 2]}`, `2`},
		{"or keeps what is open", `{if: [{or: [open, named, false]}, 1, 2]}`, `1`},
		{"and drops what is true", `{if: [{and: [open, named]}, 1, 2]}`, `{"if":[{"equals":[{"get_param":"q"},1]},1,2]}`},
		{"maps of the text are merged, unknown values and all", `{map_merge: [{x: ` + a + `, y: 1}, {y: 2}]}`, `{"x":` + u + `,"y":2}`},
		{"maps side by side become one", `{map_merge: [{x: 1}, {y: 2}, ` + a + `, {z: 3}]}`, `{"map_merge":[{"x":1,"y":2},` + u + `,{"z":3}]}`},
		{"what may fail stays under what goes over it", `{map_merge: [{k: {resource_facade: metadata}}, {k: 0}]}`, `{"map_merge":[{"k":{"resource_facade":"metadata"}},{"k":0}]}`},
		{"texts side by side become one", `{list_join: ["-", [x, ` + p + `, ` + a + `, y], [z]]}`, `{"list_join":["-",["x-known",` + u + `,"y-z"]]}`},
		{"an unknown delimiter keeps all apart", `{list_join: [` + a + `, [x, y]]}`, `{"list_join":[` + u + `,["x","y"]]}`},
		{"known params are put in", `{str_replace: {template: $x/$y, params: {$x: ` + a + `, $y: ` + p + `}}}`,
			`{"str_replace":{"template":"$x/known","params":{"$x":` + u + `}}}`},
		{"but not if they make a placeholder", `{str_replace: {template: $x/$y, params: {$x: ` + a + `, $y: $x}}}`,
			`{"str_replace":{"template":"$x/$y","params":{"$x":` + u + `,"$y":"$x"}}}`},
		{"or make one with their neighbours", `{str_replace: {template: "$$y $x", params: {$x: ` + a + `, $y: x}}}`,
			`{"str_replace":{"template":"$$y $x","params":{"$x":` + u + `,"$y":"x"}}}`},
		{"a key that Heat only checks is dropped", `{str_replace: {template: $x/$y, params: {$x: ` + a + `, $y: ` + p + `}, more: 1}}`,
			`{"str_replace":{"template":"$x/known","params":{"$x":` + u + `}}}`},
		{"unless the check depends on what is unknown", `{str_replace: {template: $x/$y, params: {$x: ` + a + `, $y: ` + p + `}, more: {if: [open, 1, {digest: wrong}]}}}`,
			`{"str_replace":{"template":"$x/known","params":{"$x":` + u + `},"more":{"if":["open",1,{"digest":"wrong"}]}}}`},
		{"contains is decided early", `{contains: [known, [` + a + `, ` + p + `]]}`, `true`},
		{"contains forgets what it is not", `{contains: [x, [` + a + `, ` + p + `]]}`, `{"contains":["x",[` + u + `]]}`},
		{"lists of the text are joined", `{list_concat: [[1], [` + a + `], [2]]}`, `[1,` + u + `,2]`},
		{"filter takes out what it knows", `{filter: [[known], [` + p + `, ` + a + `, x]]}`, `{"filter":[["known"],[` + u + `,"x"]]}`},
		{"repeat waits for its template", `{repeat: {for_each: {$i: [1, 2]}, template: ` + a + `}}`,
			`{"repeat":{"for_each":{"$i":[1,2]},"template":` + u + `}}`},
		{"a reference's path is folded", `{get_attr: [r, a, ` + p + `]}`, `{"get_attr":["r","a","known"]}`},
		{"an if without else leaves its item out", `[1, {if: [{not: named}, 2]}, ` + b + `]`, `[1,{"get_attr":["r","b"]}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := parseValue(t, V20210416, `{named: {equals: [1, 1]}, open: {equals: [{get_param: q}, 1]}}`, c.text)
			out, err := Fold(e, onlyP)
			if err != nil {
				t.Fatal(err)
			}
			v, ok := out.HOT()
			if got := string(value.EncodeJSON(v)); !ok || got != c.want {
				t.Errorf("%s\n   is %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

// Data that looks like a call stays data, which HOT cannot express.
func TestDataThatLooksLikeACall(t *testing.T) {
	e := parseValue(t, V20210416, "", `{list_concat: [[1], {get_param: p}]}`)
	data := dict("get_param", "p")
	out, err := Fold(e, func(call *Expr) (*Expr, error) { return Constant(list(data), call.At), nil })
	if err != nil || string(value.EncodeJSON(out.Value)) != `[1,{"get_param":"p"}]` {
		t.Fatalf("%v %v", out, err)
	}
	if _, ok := out.HOT(); ok {
		t.Error("no template can say this")
	}
	text, at := EncodeResidual(out)
	read, err := ParseResidual(text, at)
	if err != nil || !value.Equal(read.expr.Value, out.Value) {
		t.Errorf("%s is read as %v, %v", text, read, err)
	}
}

// A few lines that would create gigabytes are refused at once.
func TestGrowthIsBounded(t *testing.T) {
	items := "[" + strings.Repeat("aaaaaaaaaa, ", 300) + "b]"
	nested := "x"
	for range 40 {
		nested = `{list_join: [x, [` + nested + `, y]]}`
	}
	for _, text := range []string{
		`{repeat: {for_each: {$a: ` + items + `, $b: ` + items + `, $c: ` + items + `}, template: {k: $a$b$c}}}`,
		`{repeat: {for_each: {a: [` + strings.Repeat("a", 5000) + `], b: [` + strings.Repeat("b", 10) + `]}, template: ` + strings.Repeat("a", 50_000) + `}}`,
		`{str_replace: {template: ` + strings.Repeat("a", 100_000) + `, params: {a: ` + strings.Repeat("b", 10_000) + `}}}`,
		`{list_join: [` + strings.Repeat("d", 100_000) + `, ` + items + `, ` + items + `, ` + items + `]}`,
		`{str_replace: {template: {list_join: ["", [` + strings.Repeat("a, ", 5000) + `a]]}, params: {a: {list_join: ["", [` + strings.Repeat("bbbbbbbbbb, ", 5000) + `b]]}}}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Fold(parseValue(t, V20210416, "", text), onlyP)
		if err == nil || !strings.Contains(err.Error(), "grows beyond 16 MiB") {
			t.Errorf("%.60s…: %v", text, err)
		}
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 1024 {
			t.Errorf("%.60s… allocated %d MiB", text, made)
		}
	}
}

// Conditions may refer to each other, but not to themselves.
func TestConditions(t *testing.T) {
	deep := `c0: {equals: [1, 1]}`
	for i := range 60 {
		deep += fmt.Sprintf(`, c%d: {and: [c%d, c%d]}`, i+1, i, i)
	}
	e := parseValue(t, V20180831, "{"+deep+"}", `{if: [c60, yes, no]}`)
	if out, err := Fold(e, onlyP); err != nil || out.Value != true {
		t.Errorf("%v %v", out, err)
	}
	e = parseValue(t, V20180831, "{a: {not: b}, b: {not: a}}", `{if: [a, 1, 2]}`)
	if _, err := Fold(e, onlyP); err == nil || !strings.Contains(err.Error(), `the condition "a" depends on itself`) {
		t.Error(err)
	}
	e = parseValue(t, V20180831, "{production: true}", `{if: [prodction, 1, 2]}`)
	if _, err := Fold(e, onlyP); err == nil || err.Error() != `t.yaml:7:18: unknown condition "prodction"; did you mean "production"?` {
		t.Error(err)
	}
}

// Functions of other versions are reported at their position.
func TestCheckFunctions(t *testing.T) {
	for _, c := range []struct{ version, value, want string }{
		{"2016-04-08", `{Ref: p}`, `error[H207]: the function Ref does not exist in version 2016-04-08; 2013-05-23 was the last with it`},
		{"2016-04-08", `{"Fn::Select": [0, [a]]}`, `error[H207]: the function Fn::Select does not exist in version 2016-04-08; 2015-04-30 was the last`},
		{"2013-05-23", `{digest: [md5, x]}`, `warning[H207]: the function digest needs version 2015-04-30 or later; in 2013-05-23 Heat reads it as data`},
		{"2016-10-14", `{filter: just a property}`, ``},
		{"2016-10-14", `{if: [true, 1, {Ref: p}]}`, `warning[H207]: the function Ref does not exist in version 2016-10-14`},
	} {
		var diags source.Diagnostics
		ParseTemplate(source.NewFile("t.yaml", []byte("heat_template_version: "+c.version+"\noutputs:\n  o: {value: "+c.value+"}\n")), &diags)
		got := ""
		for _, d := range diags.All() {
			got += d.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s in %s: %s, want %s", c.value, c.version, got, c.want)
		}
	}
}

// withOutput is a template with a value for its only output; nil if it is invalid.
func withOutput(v Version, value []byte) *Template {
	var diags source.Diagnostics
	key, date := v.Head()
	head := fmt.Sprintf("%s: %s\n", key, date)
	switch {
	case v.CFN() && v.hasConditions():
		head += "Conditions: {c: {Fn::Equals: [1, {Ref: q}]}}\n"
	case v.hasConditions():
		head += "conditions: {c: {equals: [1, {get_param: q}]}}\n"
	}
	if v.CFN() {
		head += "Mappings: {m: {a: {x: 1}}}\n"
	}
	head += fmt.Sprintf("%s:\n  o:\n    %s:\n      ", v.Keywords().Outputs, v.Keywords().Value)
	template := ParseTemplate(source.NewFile("f.yaml", append([]byte(head), value...)), &diags)
	if template == nil || len(template.Outputs) == 0 {
		return nil
	}
	return template
}

// foldsAlike folds the output's expression, and its node directly: the results are equal,
// and the expression is unchanged.
func foldsAlike(t *testing.T, template *Template) {
	t.Helper()
	node := template.Outputs[0].Value
	e := template.Expr(node)
	before := described(e, nil)
	out, err := Fold(e, onlyP)
	want := described(out, err)
	if after := described(e, nil); after != before {
		t.Errorf("folding made %s of the expression %s", after, before)
	}
	again, err := template.Fold(node, onlyP)
	if got := described(again, err); got != want {
		t.Errorf("the node is folded to %s, its expression to %s: %s", got, want, before)
	}
}

// described is an expression in full, with positions, or the error.
func described(e *Expr, err error) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	e.Walk(func(x *Expr) bool {
		fmt.Fprintf(&b, "(%s %d %q %s %d", x.At, x.Kind, x.Keys, value.EncodeJSON(x.Value), len(slices.Collect(x.Inside())))
		if x.Kind == CallExpr {
			b.WriteString(" " + x.Func.Name)
		}
		b.WriteString(")")
		return true
	})
	return b.String()
}

// Folding a node directly gives the same as folding its expression, which stays unchanged.
func TestFoldingChangesNothing(t *testing.T) {
	calls := 0
	for s := range seedtest.Each(t, 6000) {
		v := versionOfSeed(s)
		template := withOutput(v, value.EncodeJSON(newGenerator(s, v).value(anything, 4)))
		if template == nil {
			continue
		}
		if foldsAlike(t, template); t.Failed() {
			t.FailNow()
		}
		if template.Expr(template.Outputs[0].Value).Any(func(x *Expr) bool { return x.Kind == CallExpr }) {
			calls++
		}
	}
	if calls == 0 && !seedtest.Few() {
		t.Error("there was no call")
	}
}

// FuzzFold: no expression makes the evaluator panic, hang or exhaust the memory, and its
// residual survives a plan.
func FuzzFold(f *testing.F) {
	for s := uint64(1); s < 200; s++ {
		v := versionOfSeed(s)
		f.Add(uint8(v), []byte(value.EncodeJSON(newGenerator(s, v).value(anything, 3))))
	}
	f.Fuzz(func(t *testing.T, version uint8, text []byte) {
		v := Version(version % uint8(lastVersion+1))
		template := withOutput(v, text)
		if template == nil {
			return
		}
		foldsAlike(t, template)
		out, err := Fold(template.Expr(template.Outputs[0].Value), onlyP)
		if err != nil {
			return
		}
		out.HOT()
		encoded, at := EncodeResidual(out)
		if out.NeedsHeat() != nil {
			return
		}
		if _, err := ParseResidual(encoded, at); err != nil && !strings.Contains(string(encoded), "Infinity") && !strings.Contains(string(encoded), "NaN") {
			t.Fatalf("%s: %v", encoded, err)
		}
	})
}
