package salt_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// hostileForms are templates of an SLS file that give a hostile text: V is a part of the
// pillar that is it, P one that has it in its parts (drivertest.Hostile).
var hostileForms = []string{
	"{{ pillar['V'] }}", "{{ pillar.V }}", "{{ pillar.get('V') }}", "{{ salt['pillar.get']('V') }}", "{{ salt['pillar.item']('V')['V'] }}", "{{ salt['pillar.raw']('V') }}",
	"{{ pillar | traverse('V') }}", "{{ salt['config.get']('V') }}", "{% set x = pillar['V'] %}{{ x }}", "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(pillar['V']) }}",
	"{{ pillar['P']['list'][0] }}", "{{ pillar['P']['list'] | join }}", "{{ pillar['P']['list'] | map('string') | join }}", "{% for x in pillar['P']['list'] %}{{ x }}{% endfor %}",
	"{{ salt['pillar.get']('P:list:0') }}", "{{ salt['pillar.get']('P:map:deep:text') }}", "{{ pillar['P'].map.deep.text }}",
	"{{ pillar['P']['named'].keys() | join }}", "{{ pillar['P']['named'] | join }}", "{% for k, v in pillar['P']['named'].items() %}{{ k }}{% endfor %}",
	"{{ (pillar['P']['named'] | dictsort)[0][0] }}", "{{ salt['slsutil.merge']({'a': 1}, pillar['P'])['list'][0] }}", "{{ '%s' | format(pillar['V']) }}",
	"{% from 'map.jinja' import R with context %}{{ R }}",
}

var hostileName = regexp.MustCompile(`\b[VPR]\b`)

// lineEnd is what Python takes for the end of a line.
var lineEnd = regexp.MustCompile("\r\n|[\n\r\v\f\x1c-\x1e\u0085\u2028\u2029]")

// No text that comes from another server is evaluated, in SLS files and in templates of
// files, in the stand-in and in the real Salt where it is.
func TestHostileValues(t *testing.T) {
	everySalt(t, func(t *testing.T, program string) {
		trap := drivertest.NewTrap(t)
		texts := trap.Texts()
		texts = texts[:len(texts)-1] // the long one is a matter of time
		r := role{files: map[string]string{}, agent: &drivertest.Values{Arrived: map[string]string{}}, source: map[string]any{"sls": []string{"forms"}}}
		work := t.TempDir()
		var sls, maps, files strings.Builder
		sls.WriteString("{% set results = [] %}\n")
		for i, h := range texts {
			for name, value := range map[string]string{"v": h.JSON(), "p": h.Parts()} {
				r.inputs = append(r.inputs, fmt.Sprint(name, i))
				r.agent.Arrived[fmt.Sprint(name, i)] = value
			}
			named := func(text string) string {
				return hostileName.ReplaceAllStringFunc(text, func(name string) string { return fmt.Sprint(strings.ToLower(name), i) })
			}
			for _, form := range hostileForms {
				fmt.Fprintf(&sls, "{%% set r %%}%s{%% endset %%}{%% do results.append(r | string) %%}\n", named(form))
			}
			r.files[fmt.Sprintf("states/file%d.j2", i)] = named("{{ pillar['V'] }}")
			fmt.Fprint(&maps, named("{% set R = pillar['P']['named'] | join %}\n"))
			// what a state is given, as its authors write it (neither YAML nor file.managed takes every character), and what a
			// template of a file is
			fmt.Fprintf(&files, named(`
a%d:
  file.managed: [{name: WORK/contents%d}, {contents: {{ pillar['V'] | tojson | yaml_dquote }}}]
b%d:
  file.managed: [{name: WORK/pillar%d}, {contents_pillar: 'V'}, {contents_newline: false}]
c%d:
  file.managed: [{name: WORK/template%d}, {source: 'salt://file%d.j2'}, {template: jinja}]
d%d:
  test.nop: [{text: {{ pillar['P'] | yaml }}}]
e%d:
  test.nop: [{text: '__slot__:salt:pillar.get(V)'}]
`), i, i, i, i, i, i, i, i, i)
			if h.Name == "salt-slot" {
				fmt.Fprint(&files, named("slot: {file.managed: [{name: WORK/slot}, {contents: {{ pillar['P']['list'][0] | json }}}]}\n"))
			}
		}
		r.files["states/map.jinja"] = maps.String()
		r.files["states/forms.sls"] = sls.String() + "results:\n  file.managed:\n    - name: " + work + "/results\n    - contents: {{ results | tojson | yaml_dquote }}\n" + strings.ReplaceAll(files.String(), "WORK", work)
		r.run(t, program).MustSucceed(t)
		trap.MustBeEmpty(t)
		var got []string
		if err := json.Unmarshal([]byte(drivertest.Text(filepath.Join(work, "results"))), &got); err != nil {
			t.Fatal(err)
		}
		for i, h := range texts {
			for f, form := range hostileForms {
				if got := got[i*len(hostileForms)+f]; got != h.Text {
					t.Errorf("%s of %s\n gives %.200q\n and not %.200q", form, h.Name, got, h.Text)
				}
			}
			if h.Name == "salt-slot" {
				if got := drivertest.Text(work + "/slot"); got != h.Text+"\n" {
					t.Errorf("a state's argument is %.200q", got)
				}
			}
			var contents string
			_ = json.Unmarshal([]byte(drivertest.Text(fmt.Sprintf("%s/contents%d", work, i))), &contents)
			for what, got := range map[string]string{"contents": contents, "a template": drivertest.Text(fmt.Sprintf("%s/template%d", work, i))} {
				// file.managed ends what it writes with a newline
				if got != h.Text && got != h.Text+"\n" {
					t.Errorf("%s of %s\n gives %.200q\n and not %.200q", what, h.Name, got, h.Text)
				}
			}
			// file.managed writes contents line by line
			want := strings.TrimRight(lineEnd.ReplaceAllLiteralString(h.Text, "\n"), "\n")
			if got := drivertest.Text(fmt.Sprintf("%s/pillar%d", work, i)); got != want {
				t.Errorf("contents_pillar of %s\n gives %.200q\n and not %.200q", h.Name, got, want)
			}
		}
	})
}
