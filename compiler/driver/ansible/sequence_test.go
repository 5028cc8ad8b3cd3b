package ansible_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/ansible"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// text writes a sequence in one line: r and w are reads and writes, what may happen
// or not stands in {}, and r:? is a read of what cannot be told.
func text(steps []program.Step) string {
	var parts []string
	for _, s := range steps {
		switch s.Op {
		case program.ReadInput:
			parts = append(parts, "r:"+s.Name)
		case program.WriteOutput:
			parts = append(parts, "w:"+s.Name)
		case program.ReadAny:
			parts = append(parts, "r:?")
		case program.Fork:
			parts = append(parts, "{"+text(s.Ways[1])+"}")
		}
	}
	return strings.Join(parts, " ")
}

// folder is a folder of playbooks beside the template.
type folder fstest.MapFS

func (f folder) Folder(string) (fs.FS, error) { return fstest.MapFS(f), nil }
func (folder) File(string) ([]byte, error)    { return nil, errors.New("no file") }

// lower lowers a role with the inputs a, b and x.y, x.z, and the outputs o, p and up,
// which is the success of the task "start it".
func lower(src value.Value, files map[string]string) (*program.Meaning, *source.Diagnostics) {
	var diags source.Diagnostics
	role := driver.Role{Name: "r", Source: src, Locate: func(...string) source.Place { return source.Place{} }}
	for _, name := range []string{"a", "b", "x.y", "x.z"} {
		role.Inputs = append(role.Inputs, &program.Input{Name: name})
	}
	role.Outputs = []*program.Output{{Name: "o"}, {Name: "p.stdout"}, {Name: "up", Resource: "start it"}}
	tree := folder{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	role.Reader = tree
	return ansible.Driver.Lower(role, &diags), &diags
}

const start = "- hosts: all\n  gather_facts: false\n"

// The order of reads and writes of playbooks, as Ansible would go.
func TestSequence(t *testing.T) {
	for _, c := range []struct{ tasks, want string }{
		{"- debug: {msg: '{{ a }}'}", "r:a"},
		{"- debug: {msg: '{{ a }} {{ x.y }}'}\n- debug: {var: b}", "r:a r:x.y r:b"},
		{"- debug: {msg: 'a {{ \"b\" }}'}", ""},
		{"- debug: {msg: '{{ x }}'}", "r:x.y r:x.z"},
		{"- debug: {msg: \"{{ x['y'] }}\"}", "r:x.y"},
		{"- debug: {msg: '{{ x[q] }}{{ a[q] }}{{ x.keys() }}'}", "{r:x.y r:x.z} r:a {r:x.y r:x.z}"},
		{"- debug: {msg: '{{ x.own }}'}", "{r:x.y r:x.z}"},
		{"- debug: {msg: '{{ a.part | default(b) }}'}", "r:a r:b"},
		{"- debug: {msg: '{{ a is defined }}'}", ""},
		{"- debug: {msg: '{{ q | a(b=1) }}'}", ""},
		{"- debug: {msg: '{{ a if b else 1 }}'}", "{r:a} {r:b}"},
		{"- debug: {msg: '{{ a and b }}'}", "r:a {r:b}"},
		{"- debug: {msg: '{% if a %}{{ b }}{% endif %}'}", "r:a {r:b}"},
		{"- debug: {msg: '{%if(a)%}{{ b }}{%endif%}{{ x.y }}'}", "r:a {r:b} r:x.y"},
		{"- debug: {msg: '{% if\ta %}{{ b }}{% endif %}{% endif %}{{ x.y }}'}", "r:a {r:b} r:x.y"},
		{"- debug: {msg: '{% for i in a %}{{ b }}{% endfor %}{{ x.y }}'}", "r:a {r:b} r:x.y"},
		{"- debug: {msg: '{# {{ a }} #}{% raw %}{{ b }}{% endraw %}{{ x.y }}'}", "r:x.y"},
		{"- debug: {msg: '{{ lookup(\"env\", a) }}'}", "r:a"},
		{"- debug: {msg: '{{ lookup(\"vars\", \"a\") }}'}", "r:?"},
		{"- debug: {msg: \"{{ hostvars['h'].a }}\"}", "r:?"},
		{"- {debug: {msg: '{{ a }}'}, when: b}", "r:b {r:a}"},
		{"- {debug: {msg: '{{ a }}'}, when: [b, x.y == 1]}", "r:b {r:x.y} {r:a}"},
		{"- {debug: {msg: '{{ a }}'}, when: q}", "{r:a}"},
		{"- &t {debug: {msg: '{{ a }}'}, when: b}\n- {<<: *t, when: x.y}\n- {<<: [{when: x.z}, *t]}", "r:b {r:a} r:x.y {r:a} r:x.z {r:a}"},
		{"- {debug: {msg: '{{ a }}'}, loop: '{{ b }}'}", "r:b {r:a}"},
		{"- {debug: {msg: '{{ a }}'}, loop: [1, 2]}", "r:a"},
		{"- {debug: {msg: x}, name: 'named {{ a }}'}", "r:a"},
		{"- {debug: {msg: '{{ v }}'}, vars: {v: '{{ a }}'}}", "r:a"},
		{"- {debug: {msg: x}, vars: {v: '{{ a }}'}}", ""},
		{"- {command: 'x {{ a }}', register: p, changed_when: b}", "r:a r:b w:p.stdout"},
		{"- set_fact: {o: '{{ a }}'}\n- debug: {msg: '{{ b }}'}", "r:a w:o r:b"},
		{"- set_fact: o=1 q=2\n- debug: {msg: '{{ b }}'}", "w:o r:b"},
		{"- {set_fact: {o: 1}, when: q}", "{w:o}"},
		{"- {set_fact: {o: 1}, when: q}\n- debug: {msg: '{{ b }}'}\n- {set_fact: {o: 2}, when: not q}", "r:b {w:o}"},
		{"- set_fact: {o: []}\n- debug: {msg: '{{ a }}'}\n- set_fact: {o: [1]}\n- debug: {msg: '{{ b }}'}", "r:a w:o r:b"},
		{"- {name: start it, service: {name: x, state: started}}\n- debug: {msg: '{{ b }}'}", "w:up r:b"},
		{"- {block: [{debug: {msg: '{{ a }}'}}, {set_fact: {o: 1}}], when: b}", "r:b {r:a w:o}"},
		{"- {block: [{debug: {msg: '{{ a }}'}}, {set_fact: {o: 1}}], rescue: [{debug: {msg: '{{ b }}'}}], always: [{debug: {msg: '{{ x.y }}'}}]}", "{r:a} {w:o} {r:b} r:x.y"},
		{"- {command: x, notify: h}\n- debug: {msg: '{{ b }}'}", "r:b {r:a w:up}"},
		{"- {command: x, notify: h}\n- meta: flush_handlers\n- debug: {msg: '{{ b }}'}", "{r:a w:up} r:b"},
		{"- command: x", ""},
		{"- meta: end_play\n- debug: {msg: '{{ a }}'}", "{r:a}"},
		{"- mysql_info: {login: '{{ a }}'}", "r:a {w:o} {w:p.stdout}"},
		{"- {set_fact: {o: 1}, tags: never}", "{w:o}"},
		{"- include_tasks: '{{ a }}.yml'", "r:a r:? {w:o} {w:p.stdout} {w:up}"},
		{"- import_tasks: more.yml", "r:a w:o"},
		{"- {include_tasks: more.yml, when: b}", "r:b {r:a w:o}"},
		{"- include_role: {name: web}", "r:x.y {r:b} {w:up}"},
		{"- import_role: {name: web, tasks_from: other}", "r:a"},
		{"- include_role: {name: missing}", "r:? {w:o} {w:p.stdout} {w:up}"},
		{"- template: {src: t.j2, dest: /etc/t}", "r:a r:a {r:b}"},
		{"- template: {src: none.j2, dest: /etc/t}", "r:?"},
		{"- copy: {content: '{{ grouped }}', dest: /etc/t}", "r:x.z"},
		{"- include_vars: more.vars.yml", "w:o"},
		{"- set_fact: {'{{ q }}': 1}", "{w:o} {w:p.stdout} {w:up}"},
	} {
		tasks := "  tasks:\n    " + strings.ReplaceAll(c.tasks, "\n", "\n    ") + "\n"
		m, diags := lower(project(), map[string]string{
			"site.yml":                    start + tasks + "  handlers:\n    - {name: start it, listen: h, command: 'run {{ a }}'}\n",
			"more.yml":                    "- set_fact: {o: '{{ a }}'}\n",
			"more.vars.yml":               "o: 1\n",
			"templates/t.j2":              "{{ a }}\n{% if a %}\n{{ b }}\n{% endif %}\n",
			"group_vars/all.yml":          "grouped: 'and {{ x.z }}'\n",
			"roles/web/defaults/main.yml": "address: '{{ x.y }}'\n",
			"roles/web/tasks/main.yml":    "- debug: {msg: '{{ address }}'}\n- {name: start it, command: 'x', when: \"'{{ q }}' is match(b if q else 1)\"}\n",
			"roles/web/tasks/other.yml":   "- debug: {msg: '{{ a }}'}\n",
		})
		if m == nil || m.Sequence == nil || diags.Failed() {
			t.Errorf("%s: %v %v", c.tasks, m, diags.All())
			continue
		}
		got := strings.TrimSuffix(text(m.Sequence.Steps), " ")
		if got != c.want {
			t.Errorf("%s\n got  %s\n want %s", c.tasks, got, c.want)
		}
	}
}

func project() value.Value {
	src := value.NewDict()
	src.Set("playbooks", "./ansible")
	return src
}

// Plays, roles and handlers, in the order in which Ansible comes to them.
func TestSequenceOfPlays(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		groups []string
		want   string
	}{
		"the parts of a play": {map[string]string{"site.yml": start + `  post_tasks: [{debug: {msg: "{{ x.z }}"}}]
  tasks: [{debug: {msg: "{{ x.y }}"}}]
  roles: [{role: web, when: q}]
  pre_tasks: [{debug: {msg: "{{ a }}"}}]
`, "roles/web/tasks/main.yml": "- debug: {msg: '{{ b }}'}\n"}, nil, "r:a {r:b} r:x.y r:x.z"},
		"plays of others": {map[string]string{"site.yml": "- hosts: web\n  tasks: [{debug: {msg: '{{ a }}'}}]\n- hosts: db\n  gather_facts: no\n  tasks: [{debug: {msg: '{{ b }}'}}]\n"},
			[]string{"db"}, "r:b"},
		"a pattern":              {map[string]string{"site.yml": "- hosts: 'db*'\n  gather_facts: no\n  tasks: [{debug: {msg: '{{ b }}'}}]\n"}, nil, "{r:b}"},
		"an imported one":        {map[string]string{"site.yml": "- import_playbook: plays/one.yml\n- import_playbook: plays/one.yml\n  when: q\n", "plays/one.yml": start + "  tasks: [{debug: {msg: '{{ a }}'}}]\n"}, nil, "r:a {r:a}"},
		"dependencies":           {map[string]string{"site.yml": start + "  roles: [web]\n", "roles/web/tasks/main.yml": "- debug: {msg: '{{ a }}'}\n", "roles/web/meta/main.yml": "dependencies: [base]\n", "roles/base/tasks/main.yml": "- debug: {msg: '{{ b }}'}\n"}, nil, "r:b r:a"},
		"a role of the path":     {map[string]string{"site.yml": start + "  roles: [web]\n", "ansible.cfg": "[defaults]\nroles_path = shared:more\n", "more/web/tasks/main.yml": "- debug: {msg: '{{ a }}'}\n"}, nil, "r:a"},
		"facts":                  {map[string]string{"site.yml": "- hosts: all\n"}, nil, "{w:o} {w:p.stdout}"},
		"a default":              {map[string]string{"site.yml": start + "  vars: {o: 'x{{ a }}'}\n"}, nil, "{r:a} {w:o}"},
		"a role's handler":       {map[string]string{"site.yml": start + "  roles: [web]\n", "roles/web/tasks/main.yml": "- {command: x, notify: 'web : start it'}\n", "roles/web/handlers/main.yml": "- {name: start it, command: x}\n"}, nil, "{w:up}"},
		"itself":                 {map[string]string{"site.yml": start + "  tasks: [{include_tasks: more.yml}]\n", "more.yml": "- include_tasks: more.yml\n"}, nil, ""},
		"variables of variables": {map[string]string{"site.yml": start + "  vars: {v: '{{ w }}', w: '{{ a }} {{ v }}'}\n  tasks: [{debug: {msg: '{{ v }}'}}]\n"}, nil, "r:a"},
		"two meanings":           {map[string]string{"site.yml": start + "  vars: {v: '{{ a }}'}\n  tasks: [{debug: {msg: '{{ v }}'}}]\n- hosts: all\n  gather_facts: no\n  vars: {v: 1}\n"}, nil, "{r:a}"},
	} {
		src := project().(*value.Dict)
		if c.groups != nil {
			src.Set("groups", []value.Value{c.groups[0]})
		}
		m, diags := lower(src, c.files)
		if m == nil || m.Sequence == nil {
			t.Errorf("%s: %v", name, diags.All())
			continue
		}
		if got := text(m.Sequence.Steps); got != c.want {
			t.Errorf("%s\n got  %s\n want %s", name, got, c.want)
		}
	}
}

// There is an end to what is looked at: of what is too much, no order is known.
func TestBounds(t *testing.T) {
	n := seedtest.Cases(3_000, 1_000)
	merges := "- hosts: all\n  vars:\n    m0: &m0 {x: 1}\n"
	for i := range 12 {
		merges += fmt.Sprintf("    m%d: &m%d {%s}\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("<<: *m%d, ", i), 10), ", "))
	}
	many := func(line, anchored string) string { return anchored + strings.Repeat(line, n) }
	for name, c := range map[string]struct {
		playbook string
		known    bool
	}{
		"maps in maps":             {merges, true},
		"a large map as a task":    {"- hosts: all\n  tasks:\n  - &t\n" + many("  - *t\n", strings.Repeat("    k: 1\n", n)), false},
		"a long condition":         {"- hosts: all\n  tasks:\n  - when: &w\n" + many("  - {debug: {}, when: *w}\n", strings.Repeat("    - a\n", n)), false},
		"a long text":              {"- hosts: all\n  tasks:\n  - debug: {msg: &m '" + many("  - debug: {msg: *m}\n", strings.Repeat("{{x}}", n)+"'}\n"), false},
		"many handlers":            {"- hosts: all\n  handlers:\n" + many("  - {debug: {}, notify: h}\n  - meta: flush_handlers\n", strings.Repeat("  - {name: h, debug: {}}\n", n)+"  tasks:\n"), false},
		"the same variables again": {"- hosts: all\n  tasks:\n  - vars: &v\n" + many("  - {debug: {}, vars: *v}\n", strings.Repeat("      v: 1\n", n)), false},
	} {
		t.Run(name, func(t *testing.T) {
			m, diags := lower(c.playbook, nil)
			if m == nil || c.known != (m.Sequence != nil) {
				t.Error(m, diags.All())
			}
		})
	}
}

// Whatever a playbook is, it is looked at to an end.
func FuzzPlaybook(f *testing.F) {
	f.Add(start + "  tasks:\n    - {debug: {msg: '{{ a if x.y is defined else b[\"c\"] }}'}, when: [a, b]}\n    - set_fact: o=1\n")
	f.Add("- &a\n  hosts: all\n  <<: *a\n  vars: {v: '{{ v }}', w: [*a]}\n  tasks: [{include_tasks: playbook.yml}, {block: [{meta: end_play}], rescue: []}]\n")
	f.Add("- import_playbook: playbook.yml\n")
	f.Add("- hosts: [all]\n  roles: [{role: '..', vars: {a: \"{% raw %}{{ a }}{% endraw %}{% for\"}}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		lower(text+"\n", nil)
	})
}
