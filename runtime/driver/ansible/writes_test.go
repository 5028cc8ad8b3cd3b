package ansible_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// write is a form in which a playbook may write. O is the variable of the row's output,
// T the name of a task whose success is another output. It is published "now", before the
// next task, "later", before the play's end, at the "end", or not at all.
type writing struct{ tasks, when, value string }

var writings = []writing{
	{"- set_fact: {O: text}", "now", `"text"`},
	{"- set_fact: O=text", "now", `"text"`},
	{"- ansible.builtin.set_fact: {O: 1}", "now", `1`},
	{"- set_fact: {O: [1, {a: null}]}", "now", `[1,{"a":null}]`},
	{"- set_fact: {O: ''}", "now", `""`},
	{"- set_fact: {O: false}", "now", `false`},
	{"- set_fact: {O: '{{ 3306 | int }}'}", "now", `"3306"`},
	{"- set_fact: {'{{ \"O\" }}': 1}", "now", `1`},
	{"- {set_fact: {O: '{{ (O | default([])) + [item] }}'}, loop: [1, 2]}", "now", `[1,2]`},
	{"- {set_fact: {O: '{{ item }}'}, loop: []}", "", ``},
	{"- {set_fact: {O: 1}, when: false}", "", ``},
	{"- {set_fact: {O: a}, when: true}\n    - {set_fact: {O: b}, when: false}", "now", `"a"`},
	{"- set_fact: {O: []}\n    - set_fact: {O: '{{ O + [1] }}'}", "now", `[1]`},
	{"- {block: [{set_fact: {O: a}}, {command: 'false'}], rescue: [{set_fact: {O: b}}]}", "now", `"b"`},
	{"- {block: [{set_fact: {O: a}}], rescue: [{set_fact: {O: b}}]}", "now", `"a"`},
	{"- {set_fact: {O: a}, notify: hROW, changed_when: true}", "later", `"b"`},
	{"- {command: echo hello, register: O}", "now", `O.stdout`},
	{"- {shell: 'echo {{ item }}', loop: [1, 2], register: O}", "now", `O.results`},
	{"- {command: 'false', register: O, ignore_errors: true}", "now", `O.rc`},
	{"- {command: 'true', register: O, when: false}", "", ``},
	{"- {include_vars: oROW.yml}", "now", `"of a file"`},
	{"- {include_tasks: tasksROW.yml}", "now", `"of a task"`},
	{"- {include_role: {name: roleROW}}", "now", `"of a task"`},
	{"- {import_role: {name: roleROW}}", "now", `"of a task"`},
	{"- {include_role: {name: defaultROW, public: true}}", "end", `"of a default"`},
	{"- {name: T, command: 'true'}", "now", `T`},
	{"- {name: T, command: 'true', loop: [1, 2]}", "now", `T`},
	{"- {name: T, command: 'true', when: false}", "", ``},
	{"- {name: T, command: 'false', ignore_errors: true}", "", ``},
	{"- {name: T, command: 'true', when: true}\n    - {name: T, command: 'true', when: false}", "now", `T`},
	{"- {command: 'true', notify: handler ROW}", "later", `T`},
	{"- {command: 'true', notify: handler ROW}\n    - meta: flush_handlers", "now", `T`},
	{"- {command: 'true', notify: listener ROW}", "later", `T`},
}

// Every form of writing: when it is published, and as what.
func TestFormsOfWriting(t *testing.T) {
	r := role{agent: &drivertest.Values{Arrived: map[string]string{}}, files: map[string]string{}}
	var tasks, handlers strings.Builder
	for i, w := range writings {
		row := fmt.Sprint(i)
		named := strings.NewReplacer("ROW", row, "O", "o"+row, "T", "task "+row)
		r.inputs = append(r.inputs, "mark"+row)
		r.agent.Arrived["mark"+row] = "1"
		output := "o" + row
		switch {
		case strings.HasPrefix(w.value, "O."):
			output += strings.TrimPrefix(w.value, "O")
		case w.value == "T" || strings.Contains(w.tasks, "name: T"):
			output += ": task " + row
		}
		if strings.Contains(w.tasks, "notify: handler") {
			output = "o" + row + ": handler " + row
		} else if strings.Contains(w.tasks, "notify: listener") {
			output = "o" + row + ": listener " + row
		}
		r.outputs = append(r.outputs, output)
		r.files["o"+row+".yml"] = "o" + row + ": of a file\n"
		r.files["tasks"+row+".yml"] = "- set_fact: {o" + row + ": of a task}\n"
		r.files["roles/role"+row+"/tasks/main.yml"] = "- set_fact: {o" + row + ": of a task}\n"
		r.files["roles/default"+row+"/defaults/main.yml"] = "o" + row + ": of a default\n"
		fmt.Fprintf(&tasks, "    %s\n    - debug: {msg: '{{ mark%d }}'}\n", strings.NewReplacer("ROW", row, "O", "o"+row, "T", "task "+row).Replace(w.tasks), i)
		fmt.Fprintf(&handlers, "    - {name: handler %d, listen: listener %d, command: 'true'}\n", i, i)
		if strings.Contains(w.tasks, "notify: h"+"ROW") {
			fmt.Fprintf(&handlers, "    - {name: h%d, set_fact: {o%d: b}}\n", i, i)
		}
		_ = named
	}
	// a variable of the play that nothing sets, one that another play sets, too, and a fact
	r.outputs = append(r.outputs, "of_play", "twice", "ansible_facts.python.version.major", "never")
	r.inputs = append(r.inputs, "marklast", "markend")
	r.agent.Arrived["marklast"], r.agent.Arrived["markend"] = "1", "1"
	r.files["site.yml"] = "- hosts: all\n  gather_facts: false\n  tasks:\n" + tasks.String() + `    - set_fact: {twice: 1}
    - debug: {msg: '{{ marklast }}'}
  handlers:
` + handlers.String() + `- hosts: all
  gather_facts: false
  vars: {of_play: 'of the {{ "play" }}'}
  tasks:
    - set_fact: {twice: 2}
    - setup: {gather_subset: ['!all', '!min', python]}
    - debug: {msg: '{{ markend }}'}
- hosts: others
  tasks: [{set_fact: {never: 1}}]
`
	r.run(t).MustSucceed(t)
	r.mustHaveForeseen(t)
	for i, w := range writings {
		name := fmt.Sprintf("o%d", i)
		value := w.value
		switch part, is := strings.CutPrefix(w.value, "O."); {
		case is:
			name += "." + part
			value = map[string]string{"stdout": `"hello"`, "rc": "1"}[part]
		case w.value == "T":
			value = "true"
		}
		when, got := wrote(r.agent, name, fmt.Sprintf("mark%d", i))
		if value == "" && w.value == "O.results" {
			value = got
			if !strings.Contains(got, `"stdout": "2"`) {
				t.Errorf("%s\n published %s", w.tasks, got)
			}
		}
		if when != w.when || !sameJSON([]byte(got), []byte(value)) && got != value {
			t.Errorf("%s\n published %q %s, want %q %s", w.tasks, when, got, w.when, value)
		}
	}
	for name, want := range map[string]string{"of_play": `"of the play"`, "twice": "2", "ansible_facts.python.version.major": "3", "never": ""} {
		if got := r.agent.Published(name); got != want {
			t.Errorf("%s was published as %q, want %q", name, got, want)
		}
	}
}

// wrote is when an output was published, measured by the read of a mark behind it, and
// as what.
func wrote(a *drivertest.Values, name, mark string) (when, value string) {
	when = "now"
	for _, line := range a.Lines() {
		switch line {
		case "get " + mark:
			when = "later"
		case "get markend":
			when = "end"
		}
		if value, is := strings.CutPrefix(line, "put "+name+" "); is {
			return when, value
		}
	}
	return "", ""
}
