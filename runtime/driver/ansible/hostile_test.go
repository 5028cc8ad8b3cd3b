package ansible_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// hostileForms are templates that give a hostile text: V is an input that is it, P one
// that has it in its parts (drivertest.Hostile), F what set_fact made of P.
var hostileForms = []string{
	"{{ V }}", "{{ V | string }}", "{{ [V] | join }}", "{{ V ~ '' }}", "{{ V[:] }}", "{{ V | list | join }}",
	"{{ '%s' | format(V) }}", "{{ '{}'.format(V) }}", "{{ '%s' % V }}", "{{ V | regex_replace('\\\\Z', '') }}",
	"{{ V | to_json | from_json }}", "{{ V | b64encode | b64decode }}", "{{ V | default('d') }}", "{{ V if true else 'd' }}",
	"{% if true %}{{ V }}{% endif %}", "{% set x = V %}{{ x }}", "{% filter string %}{{ V }}{% endfilter %}",
	"{% set x %}{{ V }}{% endset %}{{ x }}",
	"{{ P.list[0] }}", "{{ P['list'][0] }}", "{{ P.list | first }}", "{{ P.list | join(',') }}", "{{ P.list | map('string') | list | first }}",
	"{{ P.list | map('regex_replace', '\\\\Z', '') | list | join }}", "{{ P.list | map('regex_replace', '\\\\Z', '') | join }}",
	"{{ P.list | select | join }}{{ P.list | reject | join }}", "{{ P.list | zip([1]) | first | first }}", "{{ P.list | random }}", "{{ P.list | sort | unique | last }}",
	"{% for x in P.list %}{{ x }}{% endfor %}", "{% set x = P.list %}{{ x | join }}", "{{ (P.list + ['']) | join }}",
	"{% macro m(x) %}{{ x | join }}{% endmacro %}{{ m(P.list) }}", "{% macro m() %}{{ P.list | join }}{% endmacro %}{{ m() }}",
	"{{ P.map.deep.text }}", "{{ P.map.deep.values() | first }}", "{{ P.map.deep.values() | join }}", "{{ P.map['deep'] | dict2items | map(attribute='value') | join }}",
	"{{ P.get('map').deep.get('text') }}",
	"{{ P.named.keys() | join }}", "{{ P.named.keys() | first }}", "{{ P.named | join }}", "{{ P.named | list | first }}", "{{ P['named'] | dict2items | map(attribute='key') | join }}",
	"{% for k in P.named %}{{ k }}{% endfor %}", "{% for k, v in P.named.items() %}{{ k }}{% endfor %}", "{{ (P.named.items() | first).0 }}",
	"{{ P.named | combine({}) | join }}", "{{ dict(P.named) | join }}", "{{ P.named | dictsort | map('first') | join }}", "{{ [P.named] | map('join') | join }}",
	"{{ (P | to_json | from_json).list | join }}", "{{ (P | to_json | from_json).named | join }}", "{{ P | to_json | regex_replace('(?s).*', '') }}{{ V }}",
	"{{ lookup('vars', 'P').named | join }}", "{{ vars.P.named | join }}", "{{ vars['P']['list'] | join }}", "{{ hostvars.localhost.P.named | join }}", "{{ hostvars['localhost']['P'].list | join }}",
	"{{ lookup('dict', P.named).key }}", "{{ query('items', P.list) | join }}", "{{ lookup('list', P.list) | join }}",
	"{{ lookup('template', 'partP.j2') }}", "{% include 'partP.j2' %}", "{% import 'macrosP.j2' as m with context %}{{ m.text() }}", "{% from 'macrosP.j2' import mine with context %}{{ mine }}",
	"{{ aliasP.named | join }}", "{{ aliasP.list | join }}", "{{ {'a': P.list}.a | join }}",
	"{{ F.list | join }}", "{{ F.named | join }}", "{{ F.named.keys() | first }}", "{{ F.map.deep.text | string }}", "{{ hostvars.localhost.F.named | join }}", "{{ hostvars.localhost.F.list | join }}",
	"{{ vars.F.named | join }}", "{{ lookup('vars', 'F').named | join }}", "{% for k in F.named %}{{ k }}{% endfor %}", "{% include 'partF.j2' %}",
	"{{ F.tuple | map('join') | join }}",
}

// hostilePlaces are tasks that use all hostile texts at once: T.list, T.map and T.named
// hold them. What a task registers as `got` must be, or hold, the texts.
var hostilePlaces = []string{
	`{debug: {msg: "{{ item }}"}, loop: "{{ T.list }}"}`,
	`{debug: {msg: "{{ item }}"}, loop: "{{ T.list | map('regex_replace', '^', 'x') | list }}"}`,
	`{debug: {msg: "{{ item }}"}, loop: "{{ T.named | list }}"}`,
	`{debug: {msg: "{{ item.key }}"}, loop: "{{ T.named | dict2items }}", loop_control: {label: "{{ item }}"}}`,
	`{debug: {msg: "{{ item }}"}, with_items: "{{ T.list }}"}`,
	`{debug: {msg: "{{ item }}"}, with_items: ["{{ T.list }}", "{{ T.map }}"]}`,
	`{debug: {msg: "{{ item.key }}"}, with_dict: "{{ T.named }}"}`,
	`{debug: {msg: "{{ item | join }}"}, with_together: ["{{ T.list }}", "{{ T.named | list }}"]}`,
	`{debug: {msg: "{{ item | join }}"}, with_nested: ["{{ T.list }}", [1]]}`,
	`{debug: {msg: "{{ item | join }}"}, with_indexed_items: "{{ T.list }}"}`,
	`{debug: {msg: "{{ item }}"}, with_random_choice: "{{ T.list }}"}`,
	`{name: "named {{ T.list | join(' ') }} {{ T.named | join }}", debug: {msg: x}}`,
	`{debug: {var: T}}`, `{debug: {var: T.list}}`, `{debug: {var: T.named}}`, `{debug: {msg: ["{{ T.named | join }}", "{{ T.list | join }}"]}}`,
	`{debug: {msg: x}, when: T.list | join == 'x'}`, `{debug: {msg: x}, when: item == 'x', loop: "{{ T.list }}"}`,
	`{debug: {msg: x}, when: "'{{ item }}' is defined", loop: "{{ T.map.values() | list }}", ignore_errors: true}`,
	`{debug: {msg: x}, failed_when: T.named | join == 'x', changed_when: T.list | join != ''}`,
	`{assert: {that: T.list | join == 'x', fail_msg: "{{ T.named | join }}"}, ignore_errors: true}`,
	`{assert: {that: "{{ T.list }}"}, ignore_errors: true}`,
	`{fail: {msg: "{{ item }}"}, loop: "{{ T.named | list }}", ignore_errors: true}`,
	`{command: cat, args: {stdin: "{{ item }}"}, loop: ["{{ T.list | join }}", "{{ T.named | join }}", "{{ T | to_json }}"]}`,
	`{set_fact: {got_fact: "{{ item }}"}, loop: "{{ T.named | list }}"}`,
	`{set_fact: {got_fact: "{{ T.named.items() | list }}"}}`,
	`{set_fact: {got_fact: "{{ T.named }}", cacheable: true}}`,
	`{debug: {msg: "{{ mine }}"}, vars: {mine: "{{ item }}"}, loop: "{{ T.list }}"}`,
	`{debug: {msg: "{{ mine | join }}"}, vars: {mine: "{{ T.named }}"}}`,
	`{debug: {msg: x}, delegate_to: "{{ item }}", loop: "{{ T.list | difference(['', '\n', '|']) }}", ignore_errors: true, ignore_unreachable: true}`,
	`{command: printenv A, environment: {A: "{{ item }}"}, loop: ["{{ T.map['jinja-lookup'] }}", "{{ T.list | difference(['a\0b']) | join }}", "{{ T.named }}"], ignore_errors: true}`,
	`{add_host: {name: "{{ item }}", groups: others, theirs: "{{ item }}", ansible_connection: local}, loop: "{{ T.named | list | difference(['']) }}", ignore_errors: true}`,
	`{group_by: {key: "{{ item }}"}, loop: "{{ T.list | difference(['']) }}", ignore_errors: true}`,
	`{debug: {msg: "{{ groups | list | join }} {{ groups.all | join }} {{ hostvars.keys() | join }} {{ group_names | join }}"}}`,
	`{debug: {msg: "{{ hostvars.values() | map(attribute='theirs', default='') | join }}"}}`,
	`{include_tasks: included.yml, vars: {mine: "{{ item }}"}, loop: "{{ T.list }}"}`,
	`{include_role: {name: mine}, vars: {mine: "{{ T.named }}"}}`,
	`{copy: {content: "{{ T.named | join }}", dest: "{{ folder }}/copied"}}`,
	`{template: {src: all.j2, dest: "{{ folder }}/all"}}`,
	`{block: [{fail: {msg: "{{ T.list | join }}"}}], rescue: [{debug: {msg: "{{ ansible_failed_result.msg }}{{ ansible_failed_task.name }}"}}]}`,
	`{command: 'true', async: 5, poll: 1, environment: {A: "{{ T.map['jinja-lookup'] }}"}}`,
	`{set_stats: {data: {a: "{{ T.named }}"}}}`,
	`{lineinfile: {path: "{{ folder }}/lines", create: true, line: "{{ T.named | join }}"}}`,
}

var hostileName = regexp.MustCompile(`\b(part|macros|alias)?[VPF]\b`)

// No text that comes from another server is evaluated, wherever a playbook uses it, whole
// or a part of a value.
func TestHostileValues(t *testing.T) {
	for name, settings := range map[string]string{"as Ansible is": "", "jinja2_native": "[defaults]\njinja2_native = true\n"} {
		t.Run(name, func(t *testing.T) { testHostileValues(t, settings) })
	}
}

// With settings that few have it takes a third of the forms, others at each run: Ansible needs minutes for all of them.
func testHostileValues(t *testing.T, settings string) {
	forms := slices.Clone(hostileForms)
	if settings != "" {
		random := rand.New(rand.NewPCG(seedtest.One(t), 1))
		random.Shuffle(len(forms), func(i, j int) { forms[i], forms[j] = forms[j], forms[i] })
		forms = forms[:len(forms)/3]
	}
	trap := drivertest.NewTrap(t)
	texts := trap.Texts()
	folder := t.TempDir()
	r := role{agent: &drivertest.Values{Arrived: map[string]string{"T": drivertest.All(texts[:len(texts)-1])}}, inputs: []string{"T"}, files: map[string]string{
		"ansible.cfg": settings, "included.yml": "- debug: {msg: '{{ mine }}'}\n", "roles/mine/tasks/main.yml": "- debug: {msg: '{{ mine | join }}'}\n",
		"templates/all.j2": "{{ T.named | join }}{% for x in T.list %}{{ x }}{% endfor %}{{ T.map.values() | join }}",
	}, source: map[string]any{"vars": map[string]any{"folder": folder}}}
	var vars, facts, tasks, results strings.Builder
	for i, h := range texts {
		p := fmt.Sprint("p", i)
		r.inputs = append(r.inputs, fmt.Sprint("v", i), p)
		r.agent.Arrived[fmt.Sprint("v", i)], r.agent.Arrived[p] = h.JSON(), h.Parts()
		fmt.Fprintf(&vars, "    alias%s: '{{ %s }}'\n", p, p)
		fmt.Fprintf(&facts, "        f%d: \"{{ %s | combine({'tuple': %s.list | zip(['']) | list}) }}\"\n", i, p, p)
		for _, name := range []string{p, fmt.Sprint("f", i)} {
			r.files["part"+name+".j2"] = "{{ " + name + ".named | join }}"
			r.files["macros"+name+".j2"] = "{% macro text() %}{{ " + name + ".list | join }}{% endmacro %}{% set mine = " + name + ".named | join %}"
		}
	}
	for f, form := range forms {
		tasks.WriteString("    - set_fact:\n")
		for i := range texts {
			template := hostileName.ReplaceAllStringFunc(form, func(name string) string {
				return name[:len(name)-1] + fmt.Sprint(strings.ToLower(name[len(name)-1:]), i)
			})
			quoted, _ := json.Marshal(template)
			fmt.Fprintf(&tasks, "        r%d_%d: %s\n", f, i, quoted)
		}
	}
	tasks.WriteString("    - set_fact:\n        results:\n")
	for f := range forms {
		results.Reset()
		for i := range texts {
			fmt.Fprintf(&results, "r%d_%d, ", f, i)
		}
		fmt.Fprintf(&tasks, "          - '{{ [%s] }}'\n", results.String())
	}
	fmt.Fprintf(&tasks, "    - copy: {content: '{{ results | to_json }}', dest: '{{ folder }}/results'}\n")
	for i, task := range hostilePlaces {
		if strings.HasPrefix(task, "{block") || strings.HasPrefix(task, "{include") {
			fmt.Fprintf(&tasks, "    - %s\n", task)
		} else {
			fmt.Fprintf(&tasks, "    - %s, register: got%d}\n", strings.TrimSuffix(task, "}"), i)
			fmt.Fprintf(&tasks, "    - debug: {msg: \"{{ got%d }} {{ got%d | to_json }} {{ got%d.keys() | join }} {{ got%d.msg | default('') }} {{ got%d.results | default([]) | map(attribute='msg', default='') | join }} {{ got%d.results | default([]) | map(attribute='stdout', default='') | join }}\"}\n", i, i, i, i, i, i)
		}
	}
	r.files["site.yml"] = "- hosts: all\n  gather_facts: false\n  vars:\n" + vars.String() + "  tasks:\n    - set_fact:\n" + facts.String() + tasks.String() +
		"- hosts: others\n  gather_facts: false\n  tasks:\n    - debug: {msg: '{{ inventory_hostname }} {{ theirs }} {{ inventory_hostname_short }}'}\n"
	end := r.run(t)
	trap.MustBeEmpty(t)
	end.MustSucceed(t)
	var got [][]any
	if err := json.Unmarshal([]byte(drivertest.Text(filepath.Join(folder, "results"))), &got); err != nil {
		t.Fatal(err)
	}
	for f, form := range forms {
		for i, h := range texts {
			// set_fact makes a boolean of it, and a native template reads literals of Python's
			own := settings == "" && h.Name == "yaml-boolean" || settings != "" && h.Name == "shell-quotes"
			if got[f][i] != h.Text && !own {
				t.Errorf("%s of %s\n gives %.200q\n and not %.200q", form, h.Name, got[f][i], h.Text)
			}
		}
	}
}
