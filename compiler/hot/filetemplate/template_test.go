package filetemplate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot/filetemplate"
)

var values = map[string]string{"db": `"10.0.0.7"`, "port": "3306", "ratio": "0.5", "on": "true", "off": "false", "none": "null",
	"hosts": `["a", "b"]`, "node": `{"name": "n1", "deep": {"x": 1}}`, "wordpress.db.url": `"mysql://x"`, "odd name": `"<odd>"`}

func names() []string {
	var list []string
	for name := range values {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// order formats steps on one line: a fork is {way|way}.
func order(steps []filetemplate.Step) string {
	var parts []string
	for _, s := range steps {
		var ways []string
		for _, way := range s.Ways {
			ways = append(ways, order(way))
		}
		switch {
		case s.Any:
			parts = append(parts, "?")
		case s.Input != "":
			parts = append(parts, s.Input)
		default:
			parts = append(parts, "{"+strings.Join(ways, "|")+"}")
		}
	}
	return strings.Join(parts, " ")
}

// The output of templates, the predicted reads of inputs, and the actual ones.
func TestTemplates(t *testing.T) {
	for _, c := range []struct{ text, want, steps, reads string }{
		{"host {{ .db }}:{{ $.port }}", "host 10.0.0.7:3306", "db port", "db port"},
		{"{{ .ratio }} {{ .on }} {{ .none }} {{ .hosts }} {{ .node }}", `0.5 true null ["a","b"] {"deep":{"x":1},"name":"n1"}`, "ratio on none hosts node", "ratio on none hosts node"},
		{`{{ .wordpress.db.url }} {{ input "odd name" }}`, "mysql://x <odd>", "wordpress.db.url odd name", "wordpress.db.url odd name"},
		{"{{ .node.deep.x }} {{ (.node).name }} {{ add .port 1 }}", "1 n1 3307", "node node port", "node node port"},
		{"{{ if .on }}{{ .db }}{{ else }}{{ .port }}{{ end }}", "10.0.0.7", "on {db|port}", "on db"},
		{"{{ if .off }}{{ .db }}{{ else if .on }}{{ .port }}{{ end }}", "3306", "off {db|on {port|}}", "off on port"},
		{"{{ range $i, $h := .hosts }}{{ $i }}={{ $h }}:{{ $.port }} {{ end }}", "0=a:3306 1=b:3306 ", "hosts {port|}", "hosts port port"},
		{"{{ range .hosts }}{{ . }}{{ if eq . \"a\" }}{{ break }}{{ end }}{{ $.db }}{{ end }}{{ .port }}", "a3306", "hosts {{|db}|} port", "hosts port"},
		{"{{ with .node }}{{ .name }} {{ $.db }}{{ end }}", "n1 10.0.0.7", "node {db|}", "node db"},
		{"{{ with .none }}{{ .name }}{{ else }}{{ .db }}{{ end }}", "10.0.0.7", "none {|db}", "none db"},
		{"{{ $d := .db }}{{ $d }}{{ $d }}", "10.0.0.710.0.0.7", "db", "db"},
		{"{{ if and .off .db }}x{{ end }}{{ or .on .port }}", "true", "off {|db} on {|port}", "off on"},
		{`{{ .none | default "d" | quote }} {{ .db | upper | printf "%s!" }}`, `"d" 10.0.0.7!`, "none db", "none db"},
		{`{{ range $n := list "db" "port" }}{{ input $n }} {{ end }}`, "10.0.0.7 3306 ", "{?|}", "db port"},
		{`{{ define "row" }}{{ .db }} {{ $.port }}{{ end }}{{ template "row" . }} {{ template "row" $ }}`, "10.0.0.7 3306 10.0.0.7 3306", "db port db port", "db port db port"},
		{`{{ define "row" }}{{ .name }}{{ end }}{{ template "row" .node }}{{ template "row" dict "name" .db }}`, "n110.0.0.7", "node db", "node db"},
		{`{{ define "t" }}{{ .db }}{{ end }}{{ template "t" . }} {{ template "t" dict "db" 5 }}`, "10.0.0.7 5", "db", "db"},
		{`{{ (semver "1.2.3-beta").Minor }} {{ (semver "1.2.3").Compare (semver "1.3.0") }} {{ (toDate "2006-01-02" "2024-02-29").Year }}`, "2 -1 2024", "", ""},
		{`{{ block "b" .hosts }}{{ len . }}{{ end }}`, "2", "hosts", "hosts"},
		{`{{ define "down" }}{{ .db }}{{ if .off }}{{ template "down" . }}{{ end }}{{ end }}{{ template "down" . }}`, "10.0.0.7", "db off", "db off"},
		{"{{/* .nothing */}}{{ `{{ .db }}` }}", "{{ .db }}", "", ""},
		{"{{ len . }}", "10", strings.Join(names(), " "), strings.Join(names(), " ")},
		{"a\n{{- /* c */ -}}\nb", "ab", "", ""},
		{"{{ .db | b64enc }} {{ list 1 2 | toJson }} {{ tuple 1 .5 }}", "MTAuMC4wLjc= [1,2] [1,0.5]", "db", "db"},
	} {
		parsed, err := filetemplate.Parse(c.text, names())
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		if got := order(parsed.Steps()); got != c.steps {
			t.Errorf("%s\n should read %s\n not %s", c.text, got, c.steps)
		}
		var out strings.Builder
		var reads []string
		err = parsed.Execute(&out, "x.tmpl", func(input string) (json.RawMessage, error) {
			reads = append(reads, input)
			return json.RawMessage(values[input]), nil
		})
		if err != nil || out.String() != c.want {
			t.Errorf("%s\n gives %q, %v\n not   %q", c.text, out.String(), err, c.want)
		}
		if got := strings.Join(reads, " "); got != c.reads {
			t.Errorf("%s\n reads %s\n not   %s", c.text, got, c.reads)
		}
	}
}

// Parse errors and their positions.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\nb {{ .db", `2: unclosed action`},
		{"{{ if .db }}", `1: unexpected end of the template (close every if, range, with, block and define with {{ end }})`},
		{"x {{ .dB }}", `1: the role declares no input "dB" (did you mean "db"?)`},
		{"\n{{ .node.name }} {{ $.nobody.name }}", `2: the role declares no input "nobody"`},
		{`{{ input "nobody" }}`, `1: the role declares no input "nobody"`},
		{"a\n{{ nothing 1 }}", `2: function "nothing" not defined`},
		{`{{ env "HOME" }}`, `1: function "env" not defined (hotc does not support sprig's env, expandenv, getHostByName: pass the value as an input)`},
		{doubling(40), "1: the template calls too many templates"},
	} {
		_, err := filetemplate.Parse(c.text, names())
		var wrong *filetemplate.Error
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got := fmt.Sprintf("%d: %s", 1+strings.Count(c.text[:wrong.Offset], "\n"), wrong.Message)
		if wrong.Hint != "" {
			got += " (" + wrong.Hint + ")"
		}
		if got != c.want {
			t.Errorf("%s\n is %s\n not %s", c.text, got, c.want)
		}
	}
}

// doubling is a template whose calls double n times.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{{ define "t%d" }}{{ template "t%d" . }}{{ template "t%d" . }}{{ end }}`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `{{ define "t%d" }}{{ .db }}{{ end }}{{ template "t0" . }}`, n)
	return b.String()
}

// Errors of the execution have a position; an error of a read is passed on.
func TestExecutionFails(t *testing.T) {
	gone := errors.New("the producer has failed")
	for _, c := range []struct{ text, want string }{
		{"a\n{{ .node.nothing }}", `x.tmpl:2:8: map has no entry for key "nothing"`},
		{"{{ .db.name }}", `x.tmpl:1:6: can't evaluate field name in type string`},
		{"{{ len }}", `x.tmpl:1:3: wrong number of args for len: want 1 got 0`},
		{"{{ trunc .db .db }}", `x.tmpl:1:9: wrong type for value; expected int; got string`},
		{`{{ index .hosts 2 }}`, `x.tmpl:1:3: error calling index: index out of range: 2`},
		{`{{ lt 1 "2" }}`, `x.tmpl:1:3: error calling lt: incompatible types for comparison`},
		{`{{ .port 1 }}`, `x.tmpl:1:3: can't give argument to non-function .port`},
		{`{{ (now).Clock }}`, `x.tmpl:1:8: can't evaluate field Clock in type time.Time`},
		{`{{ fail "no" }}`, `x.tmpl:1:3: error calling fail: no`},
		{"{{ .port }}{{ template \"t\" . }}{{ define \"t\" }}{{ template \"t\" . }}{{ end }}", `x.tmpl:1:59: template calls are nested more than 10000 deep`},
		{"{{ .none }}{{ .off }}", gone.Error()},
	} {
		parsed, err := filetemplate.Parse(c.text, names())
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		err = parsed.Execute(&strings.Builder{}, "x.tmpl", func(input string) (json.RawMessage, error) {
			if input == "off" {
				return nil, gone
			}
			return json.RawMessage(values[input]), nil
		})
		if err == nil || err.Error() != c.want || errors.Is(err, gone) != (c.want == gone.Error()) {
			t.Errorf("%s\n fails with %v\n not        %s", c.text, err, c.want)
		}
	}
}

// No input makes the parser panic or loop.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"{{ .db }}", "{{ range $i, $h := .hosts }}{{ $.port }}{{ end }}", `{{ define "a" }}{{ .x }}{{ end }}{{ template "a" . }}`,
		"{{ with $x := .node }}{{ .y.z }}{{ end }}", "{{ and .a (or .b .c) | default $ }}", "{{ (input \"db\").x }}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := filetemplate.Parse(text, names())
		var wrong *filetemplate.Error
		if err != nil && (!errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(text)) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
