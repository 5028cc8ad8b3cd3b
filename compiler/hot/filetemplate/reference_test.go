package filetemplate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/hotc-dev/hotc/compiler/hot/filetemplate"
	"github.com/hotc-dev/hotc/compiler/seedtest"
)

// Random templates have the same output as with text/template, whose inputs are all
// in a map from the start, or fail as there.
func TestAsTextTemplate(t *testing.T) {
	seedtest.SkipShort(t)
	whole := 0
	for seed := range seedtest.Each(t, 5000, 564798134) {
		g := &generator{rand.New(rand.NewPCG(seed, 1)), nil}
		text := g.list(3) + `{{ define "t" }}{{ if kindIs "slice" . }}{{ len . }}{{ else }}{{ with $ }}{{ len . | toJson }}{{ end }}{{ end }}{{ end }}`
		want, wantErr := reference(t, text)
		var got strings.Builder
		parsed, err := filetemplate.Parse(text, names())
		if err == nil {
			err = parsed.Execute(&got, "x", func(input string) (json.RawMessage, error) { return json.RawMessage(values[input]), nil })
		}
		if (err == nil) != (wantErr == nil) || err == nil && got.String() != want {
			t.Fatalf("seed %d: %s\n gives %q, %v\n not   %q, %v", seed, text, got.String(), err, want, wantErr)
		}
		if err == nil {
			whole++
		}
	}
	if whole < 1000 && !seedtest.Few() {
		t.Errorf("only %d templates were executed completely", whole)
	}
}

func reference(t *testing.T, text string) (string, error) {
	inOrder := template.FuncMap{"keys": func(dicts ...map[string]any) []string { // sprig's order is that of a Go map
		all := []string{}
		for _, dict := range dicts {
			all = append(all, slices.Sorted(maps.Keys(dict))...)
		}
		return all
	}}
	parsed, err := template.New("hotc").Funcs(sprig.TxtFuncMap()).Funcs(inOrder).Option("missingkey=error").Parse(text)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	data := map[string]any{}
	for name, value := range values {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			t.Fatal(err)
		}
		if n, is := v.(float64); is && n == float64(int(n)) {
			v = int(n)
		}
		if m, is := v.(map[string]any); is {
			m["deep"] = map[string]any{"x": 1}
		}
		data[name] = v
	}
	var out strings.Builder
	err = parsed.Execute(&out, data)
	return out.String(), err
}

// generator writes templates. Each action ends in toJson, so that both print values
// alike.
type generator struct {
	*rand.Rand
	vars []string
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) list(depth int) string {
	var b strings.Builder
	outer := g.vars
	for range 1 + g.IntN(3) {
		b.WriteString(g.item(depth))
	}
	g.vars = outer
	return b.String()
}

func (g *generator) item(depth int) string {
	if depth == 0 {
		return fmt.Sprintf("{{ %s | toJson }};", g.value(2))
	}
	switch g.IntN(8) {
	case 0:
		return g.pick("a", "\n", "{{/* c */}}", " {{- 1 -}} ")
	case 1:
		return fmt.Sprintf("{{ if %s }}%s{{ else if %s }}%s{{ else }}%s{{ end }}", g.value(2), g.list(depth-1), g.value(1), g.list(depth-1), g.list(depth-1))
	case 2:
		return fmt.Sprintf("{{ with %s }}%s{{ . | toJson }}{{ else }}%s{{ end }}", g.value(1), g.list(depth-1), g.list(depth-1))
	case 3:
		outer := g.vars
		g.vars = append(g.vars[:len(g.vars):len(g.vars)], "$i", "$v")
		body := g.list(depth - 1)
		g.vars = outer
		return fmt.Sprintf("{{ range $i, $v := %s }}%s%s{{ else }}none{{ end }}", g.pick(".hosts", ".node", ".none", "list 1 2", "until 3", ".port", `splitList "." .db`), body,
			g.pick("", "{{ break }}", "{{ if $i }}{{ continue }}{{ end }}x", "{{ $.port }}"))
	case 4:
		name := fmt.Sprintf("$x%d", len(g.vars))
		text := fmt.Sprintf("{{ %s := %s }}", name, g.value(2))
		g.vars = append(g.vars[:len(g.vars):len(g.vars)], name)
		return text
	case 5:
		if len(g.vars) > 0 {
			return fmt.Sprintf("{{ %s = %s }}", g.pick(g.vars...), g.value(1))
		}
		return fmt.Sprintf("{{ range %s }}{{ . | toJson }}{{ end }}", g.pick("3", ".hosts", ".node", "until 2"))
	case 6:
		return fmt.Sprintf(`{{ template "t" %s }}`, g.pick(".hosts", "$", "(dict)", "5", ".", "(list 1)", ""))
	}
	return fmt.Sprintf("{{ %s | toJson }};", g.value(3))
}

func (g *generator) value(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		plain := []string{"1", "0", "2.5", "-3", `"a"`, `""`, "true", "false", "0x10", "'c'", "1e3", "$.db", "$.port", "$.ratio", "$.on", "$.off", "$.none", "$.hosts", "$.node",
			"$.node.name", "$.node.deep.x", "$.node.nothing", "$.db.x", "($.node).deep", `(index $ "odd name")`}
		return g.pick(append(plain, g.vars...)...)
	}
	inner := func() string { return "(" + g.value(depth-1) + ")" }
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("%s %s %s", g.pick("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "index", "print", "printf", "add", "list", "default", "contains", "hasKey", "dict"), inner(), inner())
	case 1:
		return fmt.Sprintf("%s %s", g.pick("not", "len", "html", "js", "urlquery", "print", "println", "upper", "toString", "int", "float64", "empty", "first", "keys", "until", "trim", "atoi"), inner())
	case 2:
		return fmt.Sprintf("%s | %s", inner(), g.pick("default 5", "upper", "quote", "add 1", "printf `%v`", "and 1", "or 0", "eq 1", "len", "trunc 2", "join `,`", "b64enc", "ternary 1 2"))
	case 3:
		return fmt.Sprintf("%s %s %s", g.pick("and", "or", "eq"), inner(), inner()) + " " + inner()
	case 4:
		return fmt.Sprintf("trunc %s %s", g.pick("1", "2.0", `"x"`, "$.port", "nil"), inner())
	}
	return fmt.Sprintf("slice (list 1 2 3) %s %s", g.pick("0", "1", "2"), g.pick("2", "3"))
}
