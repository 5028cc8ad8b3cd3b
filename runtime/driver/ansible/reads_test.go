package ansible_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// form is a template in which a playbook may read. It is run with a variable of its own,
// written X here: X.y, X.w, X.n and X.in.z are inputs, X.own and X.in.own the playbook's.
// V is a variable that is an input as a whole, N one that is a number.
type form struct{ template, waits string }

var forms = []form{
	{"{{ V }}", "V"},
	{"{{ N }}", "N"},
	{"{{ N + 1 }}", "N"},
	{"{{ 'a' ~ N }}", "N"},
	{"{{ V | upper }}", "V"},
	{"{{ V | default('d') }}", "V"},
	{"{{ V is defined }}", ""},
	{"{{ V is not undefined }}", ""},
	{"{{ V if false else 'own' }}", ""},
	{"{{ 'own' if true else V }}", ""},
	{"{{ V if true else N }}", "V"},
	{"{{ false and V }}", ""},
	{"{{ true or V }}", ""},
	{"{% if false %}{{ V }}{% else %}own{% endif %}", ""},
	{"{% if true %}{{ V }}{% endif %}", "V"},
	{"{% for i in [] %}{{ V }}{% endfor %}own", ""},
	{"{% for V in ['own'] %}{{ V }}{% endfor %}", ""},
	{"{% set v = V %}{{ v }}", "V"},
	{"{% macro m(x) %}{{ x }}{% endmacro %}{{ m(V) }}", "V"},
	{"{% macro m() %}{{ V }}{% endmacro %}own", ""},
	{"{{ X.y }}", "X.y"},
	{"{{ X['y'] }}", "X.y"},
	{"{{ X['y' | lower] }}", "X.y"},
	{"{{ X.get('y') }}", "X.y"},
	{"{{ X.get('own') }}", "X.in.z X.n X.w X.y"},
	{"{{ X.n }}", "X.n"},
	{"{{ X.w.k[0] }}", "X.w"},
	{"{{ X.w['k'][1:] }}", "X.w"},
	{"{{ X.own }}", ""},
	{"{{ X.in.own }}", ""},
	{"{{ X.in.z }}", "X.in.z"},
	{"{{ X.in }}", "X.in.z"},
	{"{{ X }}", "X.in.z X.n X.w X.y"},
	{"{{ X.keys() | sort }}", "X.in.z X.n X.w X.y"},
	{"{{ X | dict2items | map(attribute='key') | sort }}", "X.in.z X.n X.w X.y"},
	{"{{ X | to_nice_yaml }}", "X.in.z X.n X.w X.y"},
	{"{{ X.in | combine({'a': 1}) }}", "X.in.z"},
	{"{{ X.y is defined }}", ""},
	{"{{ X.none is defined }}", "X.in.z X.n X.w X.y"},
	{"{{ X.none | default('own') }}", "X.in.z X.n X.w X.y"},
	{"{{ [X.y, X.own] | join(',') }}", "X.y"},
	{"{{ {'a': X.y} }}", "X.y"},
	{"{{ lookup('vars', 'V') }}", "V"},
	{"{{ vars['V'] }}", "V"},
	{"{{ vars.X.y }}", "X.y"},
	{"{{ hostvars['localhost']['V'] }}", "V"},
	{"{{ hostvars[inventory_hostname].X.y }}", "X.in.z X.n X.w X.y"},
	{"{{ aliasV }}", "V"},
	{"{{ aliasX }}", "X.y"},
	{"{{ aliasV if false else 'own' }}", "V"}, // the variable around it is looked up first, as Jinja does
	{"{{ text }}", ""},
}

// Every form of reading: which inputs it waits for, and that it gives what an ordinary
// extra variable with the same value gives.
func TestFormsOfReading(t *testing.T) {
	bare := needAnsible(t)
	r := role{agent: &drivertest.Values{Arrived: map[string]string{}}}
	given := map[string]any{}
	var own, tasks, results strings.Builder
	for i, f := range forms {
		x, v, n := fmt.Sprintf("x%d", i), fmt.Sprintf("v%d", i), fmt.Sprintf("n%d", i)
		for name, value := range map[string]any{v: "Value", n: 7, x + ".y": "Y", x + ".w": map[string]any{"k": []any{1, "two"}}, x + ".n": 3306, x + ".in.z": "Z"} {
			text, _ := json.Marshal(value)
			r.inputs = append(r.inputs, name)
			r.agent.Arrived[name] = string(text)
		}
		given[v], given[n] = "Value", 7
		given[x] = map[string]any{"y": "Y", "w": map[string]any{"k": []any{1, "two"}}, "n": 3306, "in": map[string]any{"z": "Z", "own": "deep"}, "own": "own"}
		template := inRow(f.template, i)
		fmt.Fprintf(&own, "    %s: {own: own, in: {own: deep}}\n    alias%s: '{{ %s }}'\n    alias%s: '{{ %s.y }}'\n", x, v, v, x, x)
		fmt.Fprintf(&tasks, "    - set_fact: {result%d: %q}\n", i, template)
		fmt.Fprintf(&results, "result%d, ", i)
	}
	slices.Sort(r.inputs)
	playbook := "- hosts: all\n  gather_facts: false\n  vars:\n    text: plain\n" + own.String() + "  tasks:\n" + tasks.String() +
		"    - copy: {content: '{{ [" + results.String() + "] | to_json }}', dest: '{{ results_in }}'}\n"
	r.files = map[string]string{"site.yml": playbook}
	seen, plain := filepath.Join(t.TempDir(), "seen"), filepath.Join(t.TempDir(), "plain")
	r.source = map[string]any{"vars": map[string]any{"results_in": seen}}
	r.run(t).MustSucceed(t)
	r.mustHaveForeseen(t)
	given["results_in"] = plain
	extra, _ := json.Marshal(given)
	folder := t.TempDir()
	site := write(t, folder, "site.yml", playbook)
	cmd := exec.CommandContext(t.Context(), bare, "-i", "localhost,", "-c", "local", "-e", "ansible_python_interpreter={{ ansible_playbook_python }}", "-e", "@"+write(t, folder, "vars.json", string(extra)), site)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("without the interceptor: %v\n%s", err, out)
	}
	var got, want []json.RawMessage
	if json.Unmarshal([]byte(drivertest.Text(seen)), &got) != nil || json.Unmarshal([]byte(drivertest.Text(plain)), &want) != nil || len(got) != len(forms) || len(want) != len(forms) {
		t.Fatalf("results:\n%s\n%s", drivertest.Text(seen), drivertest.Text(plain))
	}
	for i, f := range forms {
		if asked := asked(r.agent, i); asked != f.waits {
			t.Errorf("%s\n waits for %q, want %q", f.template, asked, f.waits)
		}
		if !sameJSON(got[i], want[i]) {
			t.Errorf("%s\n gives %s, and with extra variables %s", f.template, got[i], want[i])
		}
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

var placeholder = regexp.MustCompile(`\b(alias)?[XVN]\b`)

// inRow gives a form the names of its row.
func inRow(template string, row int) string {
	return placeholder.ReplaceAllStringFunc(template, func(name string) string { return fmt.Sprint(strings.ToLower(name), row) })
}

// asked are the inputs of a row that were asked for, as the form names them.
func asked(a *drivertest.Values, row int) string {
	var names []string
	for _, line := range a.Lines() {
		for from, to := range map[string]string{"x": "X", "v": "V", "n": "N"} {
			name, is := strings.CutPrefix(line, fmt.Sprintf("get %s%d", from, row))
			if is && (name == "" || name[0] == '.') && !slices.Contains(names, to+name) {
				names = append(names, to+name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// place is where in a playbook a read may stand; V, X and N as in a form.
type place struct{ tasks, waits string }

var places = []place{
	{"- debug: {msg: '{{ V }}'}", "V"},
	{"- debug: {var: V}", "V"},
	{"- debug: {var: X.y}", "X.y"},
	{"- {debug: {msg: x}, when: V == 'Value'}", "V"},
	{"- {debug: {msg: x}, when: V is defined}", ""},
	{"- {debug: {msg: x}, when: 'V is defined and N > 5'}", "N"},
	{"- {debug: {msg: '{{ V }}'}, when: false}", ""},
	{"- {debug: {msg: '{{ V }}'}, when: N == 0}", "N"},
	{"- {debug: {msg: x}, when: [N == 0, V == 'x']}", "N"},
	{"- {debug: {msg: '{{ item }}'}, loop: '{{ X.w.k }}'}", "X.w"},
	{"- {debug: {msg: '{{ item }}'}, with_items: '{{ X.w.k }}'}", "X.w"},
	{"- {debug: {msg: '{{ item }}'}, with_dict: '{{ X.w }}'}", "X.w"},
	{"- {debug: {msg: '{{ V }}'}, loop: []}", ""},
	{"- {debug: {msg: '{{ item }} {{ V }}'}, loop: [1, 2]}", "V"},
	{"- {name: 'named {{ V }}', debug: {msg: x}}", "V"},
	{"- {debug: {msg: '{{ mine }}'}, vars: {mine: '{{ V }}'}}", "V"},
	{"- {debug: {msg: x}, vars: {mine: '{{ V }}'}}", ""},
	{"- {command: 'true', environment: {A: '{{ V }}'}, changed_when: false}", "V"},
	{"- {command: 'true', register: r, changed_when: 'N == 0'}", "N"},
	{"- {command: 'true', register: r, until: N == 7, changed_when: false}", "N"},
	{"- {command: 'false', failed_when: V == 'x', changed_when: false}", "V"},
	{"- {assert: {that: [\"V == 'Value'\", 'X.n == 3306']}}", "V X.n"},
	{"- {block: [{debug: {msg: x}}], when: N == 0}", "N"},
	{"- {block: [{command: 'false'}], rescue: [{debug: {msg: '{{ V }}'}}]}", "V"},
	{"- {block: [{command: 'true'}], rescue: [{debug: {msg: '{{ V }}'}}], always: [{debug: {msg: '{{ N }}'}}]}", "N"},
	{"- {template: {src: whole.j2, dest: '{{ folder }}/ROW'}}", "V X.y"},
	{"- {template: {src: branch.j2, dest: '{{ folder }}/ROW'}}", "N"},
	{"- {template: {src: including.j2, dest: '{{ folder }}/ROW'}}", "V X.y"},
	{"- {template: {src: shadow.j2, dest: '{{ folder }}/ROW'}}", "X.y"}, // it sets V itself
	{"- {copy: {content: '{{ X.in }}', dest: '{{ folder }}/ROW'}}", "X.in.z"},
	{"- {set_fact: {fact: '{{ lookup(\"template\", \"branch.j2\") }}'}}", "N"},
	{"- {include_tasks: '{{ V }}.yml'}", "N V"},
	{"- {import_tasks: Value.yml}", "N"},
	{"- {include_tasks: 'quiet.yml', vars: {mine: '{{ V }}'}}", ""},
	{"- {include_role: {name: reader}, vars: {reader_value: '{{ V }}'}}", "V"},
	{"- {import_role: {name: reader}, vars: {reader_value: '{{ X.y }}'}}", "X.y"},
	{"- {include_role: {name: defaulted}}", "X.y"},
	{"- {command: 'true', notify: hROW}", "V"},
	{"- {command: 'true', notify: hROW, changed_when: false}", ""},
	{"- {add_host: {name: other, groups: others}, when: V == 'x'}", "V"},
	{"- {delegate_to: localhost, debug: {msg: '{{ V }}'}}", "V"},
	{"- {include_vars: '{{ V }}.vars.yml'}", "V"},
	{"- {command: 'true', async: 5, poll: 1, changed_when: false, environment: {A: '{{ V }}'}}", "V"},
}

// Where in a playbook a read may stand, and that what is not reached is not awaited.
func TestPlacesOfReading(t *testing.T) {
	r := role{agent: &drivertest.Values{Arrived: map[string]string{}}, source: map[string]any{"vars": map[string]any{"folder": t.TempDir()}}, files: map[string]string{}}
	var tasks, handlers strings.Builder
	for i, p := range places {
		for name, value := range map[string]string{"vROW": `"Value"`, "nROW": "7", "xROW.y": `"Y"`, "xROW.w": `{"k":[1,"two"]}`, "xROW.n": "3306", "xROW.in.z": `"Z"`} {
			name = strings.ReplaceAll(name, "ROW", fmt.Sprint(i))
			r.inputs = append(r.inputs, name)
			r.agent.Arrived[name] = value
		}
		row := fmt.Sprint(i)
		for _, name := range []string{"whole.j2", "branch.j2", "including.j2", "shadow.j2", "Value.yml", "quiet.yml", "Value.vars.yml"} {
			p.tasks = strings.ReplaceAll(p.tasks, name, row+name)
		}
		p.tasks = strings.NewReplacer("{{ V }}.yml", row+"{{ V }}.yml", "{{ V }}.vars", row+"{{ V }}.vars", "reader", "reader"+row, "defaulted", "defaulted"+row).Replace(p.tasks)
		for name, text := range map[string]string{
			"whole.j2":     "{{ V }} {{ X.y }}\n",
			"branch.j2":    "{% if N == 0 %}{{ V }}{% else %}none{% endif %}\n",
			"shadow.j2":    "{% set V = 'own' %}{% include 'ROWwhole.j2' %}",
			"including.j2": "{% include 'ROWwhole.j2' %}",
		} {
			r.files["templates/"+row+name] = inRow(strings.ReplaceAll(text, "ROW", row), i)
		}
		r.files[row+"Value.yml"] = inRow("- debug: {msg: '{{ N }}'}\n", i)
		r.files[row+"quiet.yml"] = "- debug: {msg: x}\n"
		r.files[row+"Value.vars.yml"] = inRow("included: '{{ N }}'\n", i)
		r.files["roles/reader"+row+"/tasks/main.yml"] = "- debug: {msg: '{{ reader" + row + "_value }}'}\n"
		r.files["roles/defaulted"+row+"/defaults/main.yml"] = inRow("address: '{{ X.y }}'\nunused: '{{ V }}'\n", i)
		r.files["roles/defaulted"+row+"/tasks/main.yml"] = "- debug: {msg: '{{ address }}'}\n"
		tasks.WriteString("    " + inRow(strings.ReplaceAll(p.tasks, "ROW", row), i) + "\n")
		fmt.Fprintf(&handlers, "    - {name: h%d, debug: {msg: '{{ v%d }}'}}\n", i, i)
	}
	slices.Sort(r.inputs)
	r.files["site.yml"] = "- hosts: all\n  gather_facts: false\n  tasks:\n" + tasks.String() + "  handlers:\n" + handlers.String()
	r.run(t).MustSucceed(t)
	r.mustHaveForeseen(t)
	for i, p := range places {
		if asked := asked(r.agent, i); asked != p.waits {
			t.Errorf("%s\n waits for %q, want %q", p.tasks, asked, p.waits)
		}
	}
}
