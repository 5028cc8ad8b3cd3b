package salt_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

var update = flag.Bool("update", false, "write the table of docs/salt.md")

// form is a template in which an SLS file may read. Each is run with names of its own:
// the pillar's V and N are inputs, a text and a number; X:y, X:w, X:n and X:in:z are
// inputs, X:own and X:in:own the pillar's. Of an optional input, O, nothing came.
type form struct{ template, waits string }

const all = "X:in:z X:n X:w X:y"

var forms = []form{
	{"{{ pillar['V'] }}", "V"},
	{"{{ pillar.V }}", "V"},
	{"{{ pillar.get('V') }}", "V"},
	{"{{ pillar.get('V', 'd') }}", "V"},
	{"{{ pillar.get('none', 'd') }}", ""},
	{"{{ pillar['N'] + 1 }}", "N"},
	{"{{ pillar['V'] | upper }}", "V"},
	{"{{ pillar['X']['y'] }}", "X:y"},
	{"{{ pillar.X.y }}", "X:y"},
	{"{{ pillar['X'].get('y', 'd') }}", "X:y"},
	{"{{ pillar.get('X', {}).get('y') }}", "X:y"},
	{"{{ pillar.get('X:y', 'd') }}", ""}, // a dict's own get knows no colons
	{"{{ salt['pillar.get']('V') }}", "V"},
	{"{{ salt['pillar.get']('X:y') }}", "X:y"},
	{"{{ salt['pillar.get']('X:y', 'd') }}", "X:y"},
	{"{{ salt.pillar.get('X:y') }}", "X:y"},
	{"{{ salt['pillar.get']('X/y', delimiter='/') }}", "X:y"},
	{"{{ salt['pillar.get']('X:none', 'd') }}", ""},
	{"{{ salt['pillar.get']('X:own') }}", ""},
	{"{{ salt['pillar.get']('X:w:k:0') }}", "X:w"},
	{"{{ salt['pillar.get']('X:in:z') }}", "X:in:z"},
	{"{{ salt['pillar.get']('X:in') | json }}", "X:in:z"},
	{"{{ salt['pillar.get']('X:in', {'a': 1}, merge=True)['z'] }}", "X:in:z"},
	{"{{ salt['pillar.item']('X:y') | json }}", "X:y"},
	{"{{ salt['pillar.raw']('V') }}", "V"},
	{"{{ salt['pillar.items']()['V'] }}", "V"},
	{"{{ salt['pillar.keys']('X') | sort | join(' ') }}", ""},
	{"{{ 'V' in salt['pillar.ls']() }}", ""},
	{"{{ salt['config.get']('X:y') }}", "X:y"},
	{"{{ salt['config.get']('X:none', 'd') }}", ""},
	{"{{ pillar | traverse('X:y') }}", "X:y"},
	{"{{ opts['pillar']['V'] }}", "V"},
	{"{{ pillar['X']['own'] }}", ""},
	{"{{ pillar['X']['in']['own'] }}", ""},
	{"{{ 'V' in pillar }}", ""},
	{"{{ 'y' in pillar['X'] }}", ""},
	{"{{ pillar['X'] | length }}", ""},
	{"{{ pillar['X'].keys() | sort | join(' ') }}", ""},
	{"{% for k in pillar['X'] %}{{ k }} {% endfor %}", ""},
	{"{% for k, v in pillar['X'].items() %}{{ k }} {% endfor %}", "X:n X:w X:y"},
	{"{% for v in pillar['X']['in'].values() %}{{ v }} {% endfor %}", "X:in:z"},
	{"{{ pillar['X'] | dictsort | map('first') | join(' ') }}", "X:n X:w X:y"},
	{"{{ pillar['X'] | json }}", all},
	{"{{ pillar['X'] | yaml }}", all},
	{"{{ pillar['X'] | tojson }}", all},
	{"{{ pillar['X']['in'] }}", "X:in:z"},
	{"{{ pillar['X']['in'] | string }}", "X:in:z"},
	{"{{ pillar['X']['w'] }}", "X:w"},
	{"{{ pillar['X']['w'].items() | list }}", "X:w"},
	{"{{ salt['pillar.get']('X:w') | string }}", "X:w"},
	{"{{ pillar['X']['in'] == {'own': 'deep', 'z': 'Z'} }}", "X:in:z"},
	{"{{ pillar['X'].copy()['y'] }}", "X:y"},
	{"{{ dict(pillar['X'])['own'] }}", "X:n X:w X:y"},
	{"{{ dict(pillar['X'], a=1)['a'] }}", "X:n X:w X:y"},
	{"{% set d = {} %}{% do d.update(pillar['X']) %}{{ d['own'] }}", "X:n X:w X:y"},
	{"{% do pillar['X'].update({'y': 'mine'}) %}{{ pillar['X']['y'] }}", ""},
	{"{{ pillar['X'].pop('y') }}", "X:y"},
	{"{{ pillar['X'].setdefault('y', 'd') }}", "X:y"},
	{"{% set v = pillar['V'] %}own", "V"},
	{"{% set x = pillar['X'] %}own", ""},
	{"{% set x = pillar['X'] %}{{ x.y }}", "X:y"},
	{"{{ pillar['V'] is defined }}", "V"}, // Jinja evaluates what it asks about
	{"{{ pillar['V'] if false else 'own' }}", ""},
	{"{{ true or pillar['V'] }}", ""},
	{"{% if 'V' in pillar and false %}{{ pillar['V'] }}{% else %}own{% endif %}", ""},
	{"{% if pillar['N'] > 5 %}{{ pillar['V'] }}{% endif %}", "N V"},
	{"{% for i in [] %}{{ pillar['V'] }}{% endfor %}own", ""},
	{"{% macro m() %}{{ pillar['V'] }}{% endmacro %}own", ""},
	{"{% macro m() %}{{ pillar['V'] }}{% endmacro %}{{ m() }}", "V"},
	{"{{ salt['slsutil.merge']({'a': 1}, pillar['X']['in'])['z'] }}", "X:in:z"},
	{"{{ salt['defaults.merge']({'a': 1}, pillar['X']['in'])['z'] }}", "X:in:z"},
	{"{{ salt['grains.filter_by']({'default': {'a': 1}}, default='default', merge=salt['pillar.get']('X:in'))['z'] }}", "X:in:z"},
	{"{{ pillar.get('O', 'd') }}", "O"},
	{"{{ salt['pillar.get']('O', 'd') }}", "O"},
	{"{% import_yaml 'defaults.yaml' as d %}{{ d.a }} {{ pillar['V'] }}", "V"},
	{"{% from 'map.jinja' import ROW with context %}{{ ROW }}", "X:y"},
	{"text", ""},
}

// Every form of reading in an SLS file: which inputs it waits for, and that it gives
// what a pillar with the same values gives without the interceptor.
func TestFormsOfReading(t *testing.T) {
	everySalt(t, func(t *testing.T, program string) {
		r := role{agent: &drivertest.Values{Arrived: map[string]string{}}, source: map[string]any{"sls": []string{"forms"}}}
		own, whole := map[string]any{}, map[string]any{}
		var sls, maps strings.Builder
		sls.WriteString("{% set results = [] %}\n")
		for i, f := range forms {
			x, v, n, o := fmt.Sprint("x", i), fmt.Sprint("v", i), fmt.Sprint("n", i), fmt.Sprint("o", i)
			for name, value := range map[string]any{v: "Value", n: 7, x + ":y": "Y", x + ":w": map[string]any{"k": []any{1, "two"}}, x + ":n": 3306, x + ":in:z": "Z"} {
				text, _ := json.Marshal(value)
				r.inputs = append(r.inputs, name)
				r.agent.Arrived[name] = string(text)
			}
			r.inputs = append(r.inputs, "?"+o)
			r.agent.Arrived[o] = "null"
			own[x] = map[string]any{"own": "own", "in": map[string]any{"own": "deep"}}
			whole[v], whole[n] = "Value", 7
			whole[x] = map[string]any{"y": "Y", "w": map[string]any{"k": []any{1, "two"}}, "n": 3306, "in": map[string]any{"z": "Z", "own": "deep"}, "own": "own"}
			fmt.Fprintf(&sls, "{%% set r %%}%s{%% endset %%}{%% do results.append(r | string) %%}\n", inRow(f.template, i))
			if strings.Contains(f.template, "map.jinja") {
				fmt.Fprintf(&maps, "{%% set row%d = pillar['%s']['y'] %%}\n", i, x)
			}
		}
		slices.Sort(r.inputs)
		sls.WriteString("results:\n  file.managed:\n    - name: {{ salt['environ.get']('RESULTS') }}\n    - contents: {{ results | json | json }}\n")
		r.files = map[string]string{"states/forms.sls": sls.String(), "states/map.jinja": maps.String(), "states/defaults.yaml": "a: 1\n",
			"pillar/top.sls": "base: {'*': [own]}\n", "pillar/own.sls": asJSON(own)}
		seen, bare := filepath.Join(t.TempDir(), "seen"), filepath.Join(t.TempDir(), "bare")
		r.environment = []string{"RESULTS=" + seen}
		r.run(t, program).MustSucceed(t)
		withoutInterceptor(t, program, map[string]string{"states/forms.sls": sls.String(), "states/map.jinja": maps.String(), "states/defaults.yaml": "a: 1\n",
			"pillar/top.sls": "base: {'*': [own]}\n", "pillar/own.sls": asJSON(whole)}, "forms", "RESULTS="+bare)
		var got, want []string
		if json.Unmarshal([]byte(drivertest.Text(seen)), &got) != nil || json.Unmarshal([]byte(drivertest.Text(bare)), &want) != nil || len(got) != len(forms) || len(want) != len(forms) {
			t.Fatalf("results:\n%s\n%s", drivertest.Text(seen), drivertest.Text(bare))
		}
		for i, f := range forms {
			if asked := asked(r.agent, i); asked != f.waits {
				t.Errorf("%s\n waits for %q, want %q", f.template, asked, f.waits)
			}
			if inOrder(got[i]) != inOrder(want[i]) {
				t.Errorf("%s\n gives %s, and with a pillar of its own %s", f.template, got[i], want[i])
			}
		}
	})
}

func sameJSON(a, b string) bool {
	var x, y any
	return a == b || json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// inOrder is a text with its words in order: a map's keys have none that counts.
func inOrder(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n,{}", r) })
	slices.Sort(words)
	return strings.Join(words, " ")
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// withoutInterceptor applies an SLS file as a user of Salt alone would.
func withoutInterceptor(t *testing.T, program string, files map[string]string, sls string, environment ...string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		write(t, folder, name, text)
	}
	roots := func(name string) map[string]any {
		return map[string]any{"base": []string{filepath.Join(folder, name)}}
	}
	write(t, folder, "etc/minion", asJSON(map[string]any{"file_client": "local", "file_roots": roots("states"), "pillar_roots": roots("pillar"),
		"root_dir": folder, "enable_fqdns_grains": false, "enable_gpu_grains": false, "id": "x"}))
	cmd := exec.CommandContext(t.Context(), program, "--local", "--config-dir", filepath.Join(folder, "etc"), "--retcode-passthrough", "state.apply", sls)
	cmd.Env = append(os.Environ(), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("without the interceptor: %v\n%s", err, out)
	}
}

func write(t testing.TB, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var placeholder = regexp.MustCompile(`\b[XVNO]\b|\bROW\b`)

// inRow gives a form the names of its row.
func inRow(template string, row int) string {
	return placeholder.ReplaceAllStringFunc(template, func(name string) string { return fmt.Sprint(strings.ToLower(name), row) })
}

// asked are the inputs of a row that were asked for, as the form names them.
func asked(a *drivertest.Values, row int) string {
	var names []string
	for _, line := range a.Lines() {
		for _, letter := range []string{"X", "V", "N", "O"} {
			rest, is := strings.CutPrefix(line, fmt.Sprintf("get %s%d", strings.ToLower(letter), row))
			if is && (rest == "" || rest[0] == ':') && !slices.Contains(names, letter+rest) {
				names = append(names, letter+rest)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// place is where in a tree of states a read may stand; V, X and N as in a form. It is
// asked for while SLS files are rendered, before any state is run, or when a state is.
type place struct {
	what   string
	states string // an SLS file's; ROW is a name of its own
	waits  string
	when   string // "render" or "run"
}

var places = []place{
	{"a state's argument", "ROW: {test.nop: [{text: \"{{ pillar['V'] }}\"}]}", "V", "render"},
	{"a state's ID", "\"ROW {{ pillar['V'] }}\": {test.nop: []}", "V", "render"},
	{"`unless:` and `onlyif:`, as Jinja", "ROW: {cmd.run: [{name: 'true'}, {unless: \"test {{ pillar['N'] }} = 7\"}]}", "N", "render"},
	{"an included SLS file", "include: [included.ROW]", "V", "render"},
	{"a state under a false `{% if %}`", "{% if pillar['N'] == 0 %}\nROW: {test.nop: [{text: \"{{ pillar['V'] }}\"}]}\n{% endif %}", "N", "render"},
	{"the renderer `#!py`: `__pillar__['V']`, `__salt__['pillar.get']('X:y')`", "#!py\ndef run():\n    return {'ROW': {'test.nop': [{'text': __pillar__['V'] + __salt__['pillar.get']('X:y')}]}}\n", "V X:y", "render"},
	{"a template of `file.managed`", "ROW: {file.managed: [{name: WORK/ROW}, {source: 'salt://files/ROW.j2'}, {template: jinja}]}", "V", "run"},
	{"a template that imports a map", "ROW: {file.managed: [{name: WORK/ROW}, {source: 'salt://files/ROW.map.j2'}, {template: jinja}]}", "X:y", "run"},
	{"`contents_pillar`", "ROW: {file.managed: [{name: WORK/ROW}, {contents_pillar: 'X:y'}]}", "X:y", "run"},
	{"a slot", "ROW: {test.nop: [{text: '__slot__:salt:pillar.get(X:y)'}]}", "X:y", "run"},
	{"an execution module of the tree, called by a state", "ROW: {module.run: [{reader.read: [{name: V}]}]}", "V", "run"},
	{"a state that is run in parallel", "ROW: {file.managed: [{name: WORK/ROW}, {contents_pillar: 'X:y'}, {parallel: true}]}", "X:y", "run"},
	{"a state whose requisite has failed, or that need not run", "ROW a: {test.nop: []}\nROW: {file.managed: [{name: WORK/ROW}, {contents_pillar: 'X:y'}, {onchanges: [{test: ROW a}]}]}", "", ""},
	{"a top file's `match: pillar`", "", "V", "render"},
}

func TestPlacesOfReads(t *testing.T) {
	everySalt(t, func(t *testing.T, program string) {
		work := t.TempDir()
		r := role{agent: &drivertest.Values{Arrived: map[string]string{}}, outputs: []string{"begun=test: begin"}, files: map[string]string{
			"states/begin.sls":          "begin: {test.nop: [{order: first}]}\n",
			"states/_modules/reader.py": "def read(name):\n    return __pillar__[name]\n",
			"pillar/top.sls":            "base: {'*': [own]}\n", "pillar/own.sls": "own: own\n",
		}}
		top := "base:\n  '*':\n    - begin\n"
		for i, p := range places {
			v, x, n := fmt.Sprint("v", i), fmt.Sprint("x", i), fmt.Sprint("n", i)
			for name, value := range map[string]string{v: `"Value"`, n: "7", x + ":y": `"Y"`} {
				r.inputs = append(r.inputs, name)
				r.agent.Arrived[name] = value
			}
			row := fmt.Sprint("row", i)
			r.files["states/"+row+".sls"] = strings.ReplaceAll(inRow(p.states, i), "WORK", work) + "\n"
			r.files["states/included/"+row+".sls"] = inRow("included ROW: {test.nop: [{text: \"{{ pillar['V'] }}\"}]}\n", i)
			r.files["states/files/"+row+".j2"] = inRow("{{ pillar['V'] }}\n", i)
			r.files["states/files/"+row+".map.j2"] = inRow("{% from 'maps/ROW.jinja' import y with context %}{{ y }}\n", i)
			r.files["states/maps/"+row+".jinja"] = inRow("{% set y = pillar['X']['y'] %}\n", i)
			if p.states == "" {
				r.files["states/"+row+".sls"] = row + ": {test.nop: []}\n"
				top += fmt.Sprintf("  '%s:Value':\n    - match: pillar\n    - %s\n", v, row)
				continue
			}
			top += "    - " + row + "\n"
		}
		// those of all servers stand first
		r.files["states/top.sls"] = top
		slices.Sort(r.inputs)
		end := r.run(t, program)
		end.MustSucceed(t)
		lines := r.agent.Lines()
		begun := slices.Index(lines, "put begun true")
		if begun < 0 {
			t.Fatalf("the first state is not told of: %q\n%s", lines, end.Stdout)
		}
		for i, p := range places {
			asked, when := asked(r.agent, i), ""
			for n, line := range lines {
				if name, is := strings.CutPrefix(line, "get "); is && regexp.MustCompile(fmt.Sprintf(`^[vxn]%d(:|$)`, i)).MatchString(name) {
					when = map[bool]string{true: "render", false: "run"}[n < begun]
				}
			}
			if asked != p.waits || when != p.when {
				t.Errorf("%s: waits for %q (%s), want %q (%s)", p.what, asked, when, p.waits, p.when)
			}
		}
	})
}

// written is a way in which states may write, and what is published of it. O is a name
// of its own, the output's.
type written struct{ states, output, as, when string }

var writes = []written{
	{"ROW: {grains.present: [{name: O}, {value: text}]}", "O", `"text"`, "at once"},
	{"ROW: {grains.present: [{name: O}, {value: 3}]}", "O", `3`, "at once"},
	{"ROW: {grains.present: [{name: O}, {value: false}]}", "O", `false`, "at once"},
	{"ROW: {grains.present: [{name: O}, {value: {a: [1, 2]}}]}", "O", `{"a":[1,2]}`, "at once"},
	{"ROW: {grains.present: [{name: 'O:a'}, {value: deep}]}", "O:a", `"deep"`, "at once"},
	{"ROW: {grains.present: [{name: O}, {value: 1}]}\nROW b: {grains.present: [{name: O}, {value: 2}, {force: true}]}", "O", `2`, "at once"}, // by the last of them
	{"ROW: {module.run: [{grains.setval: [{key: O}, {val: text}]}]}", "O", `"text"`, "at once"},
	{"{% do salt['grains.setval']('O', 'text') %}\nROW: {test.nop: []}", "O", `"text"`, "before states"},
	{"ROW: {cmd.run: [{name: echo text}]}", "ROW.changes.stdout", `"text"`, "at once"},
	{"ROW: {cmd.run: [{name: echo text}]}", "cmd: ROW.changes.stdout", `"text"`, "at once"},
	{"ROW: {cmd.run: [{name: echo text}]}", "cmd: echo text ROW.changes.stdout", "", "never"}, // no state is called so
	{"ROW: {cmd.run: [{name: 'echo text; exit 3'}, {unless: 'true'}]}", "ROW.changes.stdout", "", "never"},
	{"ROW: {cmd.run: [{names: [echo a, echo b]}]}", "ROW.changes.stdout", `"b"`, "at once"}, // by the last of them
	{"ROW: {test.succeed_with_changes: []}", "ROW.changes.testing.old", `"Unchanged"`, "at once"},
	{"ROW: {test.succeed_with_changes: []}", "ROW.changes.testing", `{"new":"Something pretended to change","old":"Unchanged"}`, "at once"},
	{"ROW: {cmd.run: [{name: echo text}, {parallel: true}]}", "ROW.changes.stdout", `"text"`, "when it is waited for"},
	{"ROW: {cmd.run: [{name: 'true'}]}", "O=cmd: ROW", `true`, "at once"},
	{"ROW: {cmd.run: [{name: 'true'}]}", "O=ROW", `true`, "at once"},
	{"ROW: {cmd.run: [{name: 'true # ROW'}]}", "O=cmd: true # ROW", `true`, "at once"},
	{"ROW: {cmd.run: [{name: 'false'}, {unless: 'true'}]}", "O=ROW", `true`, "at once"},
	{"ROW a: {test.nop: []}\nROW: {cmd.run: [{name: 'true'}, {onchanges: [{test: ROW a}]}]}", "O=ROW", `true`, "at once"},
	{"ROW: {cmd.run: [{name: 'true'}, {parallel: true}]}", "O=ROW", `true`, "when it is waited for"},
}

func TestFormsOfWriting(t *testing.T) {
	everySalt(t, func(t *testing.T, program string) {
		r := role{agent: &drivertest.Values{}, source: map[string]any{}, files: map[string]string{}}
		top := "base:\n  '*':\n    - begin\n"
		r.files["states/begin.sls"] = "begin: {test.nop: []}\n"
		r.outputs = append(r.outputs, "begun=begin", "ended=end")
		for i, w := range writes {
			row := fmt.Sprint("row", i)
			r.files["states/"+row+".sls"] = inRow(w.states, i) + "\nafter " + row + ": {test.nop: []}\n"
			r.outputs = append(r.outputs, inRow(w.output, i), fmt.Sprintf("after%d=after %s", i, row))
			top += "    - " + row + "\n"
		}
		r.files["states/end.sls"] = "end: {test.nop: []}\n"
		r.files["states/top.sls"] = top + "    - end\n"
		end := r.run(t, program)
		end.MustSucceed(t)
		lines := r.agent.Lines()
		at := func(name string) int {
			return slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "put "+name+" ") })
		}
		for i, w := range writes {
			name, _, _ := strings.Cut(inRow(w.output, i), "=")
			n, as, when := at(name), "", "never"
			if n >= 0 {
				as = strings.TrimPrefix(lines[n], "put "+name+" ")
				switch {
				case n < at("begun"):
					when = "before states"
				case n < at(fmt.Sprint("after", i)):
					when = "at once"
				default:
					when = "when it is waited for"
				}
			}
			if !sameJSON(as, w.as) || when != w.when {
				t.Errorf("%s\n %s is published as %s, %s; want %s, %s", inRow(w.states, i), name, as, when, w.as, w.when)
			}
		}
		if t.Failed() {
			t.Log(strings.Join(lines, "\n"))
		}
	})
}

// The page has every form, with what these tests want of it.
func TestEveryFormIsDocumented(t *testing.T) {
	const file, mark = "../../../docs/salt.md", "<!-- forms: go test ./runtime/driver/salt -update -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, table, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("%s has no line %q", file, mark)
	}
	cell := func(text string) string {
		if text == "" {
			return "nothing"
		}
		return "`" + strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ↵ ") + "`"
	}
	var want strings.Builder
	want.WriteString("\n| read in an SLS file | waits for |\n|---|---|\n")
	for _, f := range forms {
		fmt.Fprintf(&want, "| %s | %s |\n", cell(f.template), cell(f.waits))
	}
	when := map[string]string{"render": "before any state runs", "run": "when that state runs", "": "never"}
	want.WriteString("\n| place of a read | waits |\n|---|---|\n")
	for _, p := range places {
		fmt.Fprintf(&want, "| %s | %s |\n", p.what, when[p.when])
	}
	want.WriteString("\n| states | output | is published | as |\n|---|---|---|---|\n")
	for _, w := range writes {
		fmt.Fprintf(&want, "| %s | %s | %s | %s |\n", cell(w.states), cell(w.output), w.when, cell(w.as))
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+mark+want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want.String() {
		t.Errorf("the tables in %s are not what is tested; go test -update writes them anew", file)
	}
}
