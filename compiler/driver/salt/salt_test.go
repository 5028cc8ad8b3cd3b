package salt_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/salt"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// folder is what lies beside the template.
type folder fstest.MapFS

func (f folder) Folder(name string) (fs.FS, error) { return fs.Sub(fstest.MapFS(f), name) }
func (folder) File(string) ([]byte, error)         { return nil, errors.New("no file") }

// lower lowers a source, as YAML, with files beside it, and inputs and outputs: names,
// or NAME=RESOURCE.
func lower(t *testing.T, text string, files map[string]string, inputs, outputs string) (*program.Meaning, *source.Diagnostics) {
	t.Helper()
	var diags source.Diagnostics
	beside := folder{}
	for name, text := range files {
		beside[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	role := driver.Role{Name: "web", Reader: beside, Locate: func(...string) source.Place { return source.Place{} }}
	if text != "" {
		role.Source = yaml.Parse(source.NewFile("x.yaml", []byte(text)), &diags).Data()
	}
	for _, name := range strings.Fields(inputs) {
		role.Inputs = append(role.Inputs, &program.Input{Name: name})
	}
	for _, name := range strings.Split(outputs, ";") {
		if name, resource, _ := strings.Cut(name, "="); name != "" {
			role.Outputs = append(role.Outputs, &program.Output{Name: name, Resource: resource})
		}
	}
	return salt.Driver.Lower(role, &diags), &diags
}

var tree = map[string]string{"salt/top.sls": "base: {'*': [web]}\n", "salt/web/init.sls": "a: {test.nop: []}\n", "salt/db.sls": "b: {test.nop: []}\n", "pillar/top.sls": "base: {}\n"}

func TestWhatASourceMeans(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for _, c := range []struct{ text, want string }{
		{`"a:\n  test.nop\n"`, `{"text":{"file":"D0","name":"web"},"sls":["web"]} web.sls`},
		{`{file_roots: salt}`, `{"file_roots":[{"file":"D0"}]} salt/`},
		{`{file_roots: salt, sls: [web, db]}`, `{"file_roots":[{"file":"D0"}],"sls":["web","db"]} salt/`},
		{`{file_roots: salt, sls: web, pillar_roots: pillar, pillar: {a: {b: 1}}, grains: {roles: [web]}, id: web1.example.com, config: {failhard: true}}`,
			`{"file_roots":[{"file":"D0"}],"pillar_roots":[{"file":"D1"}],"sls":["web"],"pillar":{"a":{"b":1}},"grains":{"roles":["web"]},"config":{"failhard":true},"id":"web1.example.com"} salt/ pillar/`},
		{`{file_roots: [salt, {git: "https://x.org/nginx-formula.git", tag: v1, path: nginx}, {url: "https://x.org/a.tgz", sha256: ` + sum + `}], sls: nginx}`,
			`{"file_roots":[{"file":"D0"},{"git":"https://x.org/nginx-formula.git","tag":"v1","path":"nginx"},{"url":"https://x.org/a.tgz","sha256":"` + sum + `"}],"sls":["nginx"]} salt/`},

		{``, `role "web" has no source: the salt driver needs states`},
		{`[a]`, `the source of role "web" must be the text of an SLS file or a map, not a list`},
		{`" "`, `the SLS file of role "web" is empty`},
		{`web.sls`, `"web.sls" is not the text of an SLS file`},
		{`{sls: [web]}`, `the source of role "web" names no states`},
		{`{file_root: salt}`, `the source of role "web" has a key "file_root", which is unknown to the salt driver`},
		{`{file_roots: []}`, `file_roots of role "web" is empty`},
		{`{file_roots: salt, sls: [nothing]}`, `there is no nothing.sls or nothing/init.sls in salt`},
		{`{file_roots: salt, sls: [web/init.sls]}`, `web/init.sls is not a valid SLS name`},
		{`{file_roots: salt, sls: []}`, `sls is empty`},
		{`{file_roots: salt, pillar: pillar}`, `pillar of role "web" must be a map, not a string`},
		{`{file_roots: salt, id: "a b"}`, `id must be a valid minion ID, not a b`},
		{`{file_roots: salt, config: {master: x}}`, `the agent controls Salt's setting "master": the role's inputs and outputs depend on it`},
		{`{file_roots: salt, config: {"a b": x}}`, `"a b" is not a valid Salt setting`},
		{`{file_roots: {tag: x}}`, `source.file_roots of role "web": a map needs one of the keys folder, url and git`},
	} {
		m, diags := lower(t, c.text, tree, "", "")
		got := ""
		if m == nil {
			got = diags.All()[0].Message
		} else {
			got = string(value.EncodeJSON(m.Source))
			for i, f := range m.Files {
				got = strings.ReplaceAll(got, f.Digest, fmt.Sprintf("D%d", i)) + " " + f.Name
			}
		}
		if got != c.want {
			t.Errorf("%s\n gives %s\n want  %s", c.text, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ inputs, outputs, want string }{
		{"db:url db.name a:b.c whole", "site;site:url;make it.changes.stdout;cmd: make it.changes.stdout", ""},
		{"db: x", "", `input "db:" of role "web": the name has an empty part`},
		{"db..url", "", `input "db..url" of role "web": the name has an empty part`},
		{"db db:url", "", `input "db:url" of role "web": db is an input already: declare either the whole map or its parts`},
		{"db:url db", "", `input "db" of role "web": db contains an input already: declare either the whole map or its parts`},
		{"db:url db.url", "", `input "db.url" of role "web": db:url is an input already: declare either the whole map or its parts`},
		{"", "a..b", `output "a..b" of role "web": the name has an empty part`},
		{"", ".changes.stdout", `output ".changes.stdout" of role "web": name a part of a state's changes as ` + "`ID.changes.stdout`"},
	} {
		m, diags := lower(t, "{file_roots: salt}", tree, c.inputs, c.outputs)
		got := ""
		if m == nil {
			got = diags.All()[0].Message
		}
		if got != c.want {
			t.Errorf("%s; %s\n gives %s\n want  %s", c.inputs, c.outputs, got, c.want)
		}
	}
}

func TestReferences(t *testing.T) {
	for name, want := range map[string]string{
		"nginx":          "",
		"service: nginx": "",
		"cmd: echo [a]":  "",
		"/etc/x.conf":    "",
		"":               "a Salt resource is a state's ID, or a state as in requisites: `service: nginx`",
		"service:":       `"service:" does not name a state: write "service: nginx", or its ID`,
		"service[nginx]": `write the state "service[nginx]" as in a requisite: "service: nginx"`,
	} {
		got := ""
		if err := salt.Driver.CheckResource(name); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// steps writes a sequence in one line: r and w are reads and writes, what may happen or
// not stands in {}, what happens in any order in <>, and r:? is a read of what cannot be
// told.
func steps(all []program.Step) string {
	var parts []string
	for _, s := range all {
		switch s.Op {
		case program.ReadInput:
			parts = append(parts, "r:"+s.Name)
		case program.WriteOutput:
			parts = append(parts, "w:"+s.Name)
		case program.ReadAny:
			parts = append(parts, "r:?")
		case program.AnyOrder:
			parts = append(parts, "<"+steps(s.Ways[0])+">")
		case program.Fork:
			parts = append(parts, "{"+steps(s.Ways[1])+"}")
		}
	}
	return strings.Join(parts, " ")
}

// What is read while SLS files are rendered comes before all that states do.
func TestSequence(t *testing.T) {
	for _, c := range []struct{ sls, want string }{
		{"a: {test.nop: [{text: \"{{ pillar['a'] }}\"}]}\nup: {service.running: []}", "r:a w:ready"},
		{"up: {service.running: []}\na: {test.nop: [{text: \"{{ pillar.db.url }} {{ salt['pillar.get']('db:name', 'x') }}\"}]}", "r:db:url r:db:name w:ready"},
		{"{{ salt.pillar.get('db:url') }} {{ salt['config.get']('a') }} {{ opts['pillar']['db']['name'] }}", "r:db:url r:a r:db:name"},
		{"{{ pillar.get('db', {}).get('url', pillar['a']) }}", "r:db:url r:a"},
		{"{% set db = pillar['db'] %}{{ db.url }}", "{r:db:url} {r:db:name}"},
		{"{% if pillar['a'] %}{{ pillar.db.url }}{% endif %}", "r:a {r:db:url}"},
		{"{{ pillar.a if true else pillar.db.url }}", "{r:a} {r:db:url}"},
		{"{{ true or pillar.a }}", "{r:a}"},
		{"{% if 'db' in pillar %}x{% endif %}", ""},
		{"{% for k in pillar.db.keys() %}x{% endfor %}", ""},
		{"{% for k, v in pillar.db.items() %}x{% endfor %}", "{r:db:url} {r:db:name}"},
		{"{{ pillar['db'][key] }}", "{r:db:url} {r:db:name}"},
		{"{{ salt['pillar.get'](key) }} {{ salt['pillar.get']('db:' ~ key) }}", "r:? r:?"},
		{"{{ salt['pillar.items']() | json }}", "r:?"},
		{"{% raw %}{{ pillar.a }}{% endraw %}{# {{ pillar.a }} #}", ""},
		{"{{ x.pillar.a }} {{ salt['cmd.run']('pillar') }}", ""},
		{"{% from 'map.jinja' import url with context %}", "r:db:url"},
		{"{% from tplroot ~ '/map.jinja' import url with context %}", "r:?"},
		{"include:\n  - other\na: {test.nop: []}", "r:db:name"},
		{"up: {service.running: []}\nslot: {test.nop: [{text: '__slot__:salt:pillar.get(db:url)'}]}", "w:ready r:db:url"},
		{"file: {file.managed: [{contents_pillar: 'db:url'}]}\nup: {service.running: []}", "r:db:url w:ready"},
		{"up:\n  service.running: []\n/etc/x:\n  file.managed:\n    - source: salt://x.j2\n    - template: jinja\n", "w:ready {r:a}"},
		{"up:\n  service.running:\n    - require: [{file: /etc/x}]\n/etc/x:\n  file.managed:\n    - source: salt://x.j2\n    - template: jinja\n", "<w:ready {r:a}>"},
		{"{% if grains.os == 'Debian' %}\nup: {service.running: []}\n{% endif %}\nx: {}", "{w:ready}"},
		{"set it:\n  grains.present:\n    - name: site\n    - value: 1\nmake: {cmd.run: [{name: make}]}", "w:site w:make.changes.stdout"},
		{"site:\n  grains.present:\n    - value: 1\nother: {service.running: [{name: up}]}", "w:site w:ready"},
		{"'{{ pillar.a }}': {cmd.run: [{name: it}]}", "r:a <{w:ready} {w:site} {w:make.changes.stdout}>"},
		{"#!py\ndef run():\n    return {'x': {'test.nop': [{'text': __pillar__['a'] + __salt__['pillar.get']('db:url')}]}}", "{r:a} {r:db:url} <{w:ready} {w:site} {w:make.changes.stdout}>"},
	} {
		files := map[string]string{"salt/web.sls": c.sls + "\n", "salt/map.jinja": "{% set url = pillar['db']['url'] %}\n", "salt/other.sls": "{{ pillar.db.name }}\n", "salt/x.j2": "{{ pillar['a'] }}\n"}
		m, diags := lower(t, "{file_roots: salt, sls: web}", files, "a db:url db:name", "ready=service: up;site;make.changes.stdout")
		if m == nil {
			t.Fatal(diags.All()[0].Message)
		}
		if got := steps(m.Sequence.Steps); got != c.want || !m.Sequence.Complete {
			t.Errorf("%s\n gives %s\n want  %s", c.sls, got, c.want)
		}
	}
}

// What the compiler cannot look into may do anything.
func TestNoSequence(t *testing.T) {
	for text, files := range map[string]map[string]string{
		`{file_roots: [salt, {git: "https://x.org/f.git", tag: v1}]}`: tree,
		`{file_roots: salt, sls: web}`:                                {"salt/web.sls": "include: [other]\n"},
		`{file_roots: salt}`:                                          {"salt/top.sls": "base: {'web*': [web]}\n", "salt/web.sls": "a: {test.nop: []}\n"},
	} {
		m, diags := lower(t, text, files, "a", "ready=service: up")
		if m == nil {
			t.Fatal(diags.All()[0].Message)
		}
		if m.Sequence != nil {
			t.Errorf("%s: %s", text, steps(m.Sequence.Steps))
		}
	}
	// a tree that imports itself again and again ends, too
	tangled := map[string]string{"salt/web.sls": strings.Repeat("{% from 'a.jinja' import x %}\n", 3000), "salt/a.jinja": "{% from 'web.sls' import x %}{% from 'a.jinja' import x %}\n"}
	if m, _ := lower(t, "{file_roots: salt, sls: web}", tangled, "a", ""); m == nil || m.Sequence != nil {
		t.Error("there is an order in what is too much to look at")
	}
	// so does one that mentions everything again and again
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("x:n%d", i)
	}
	if m, _ := lower(t, "{file_roots: salt, sls: web}", map[string]string{"salt/web.sls": strings.Repeat("{{pillar.x}}", 80_000)}, strings.Join(names, " "), ""); m == nil || m.Sequence != nil {
		t.Error("there is an order in what is too much to look at")
	}
	nested := map[string]string{"salt/web.sls": "{{ " + strings.Repeat("pillar.get('a', ", 60_000) + " }}"}
	if m, _ := lower(t, "{file_roots: salt, sls: web}", nested, "a", ""); m == nil || m.Sequence == nil {
		t.Error("there is no order in what can be looked at")
	}
	m, _ := lower(t, "{file_roots: salt, sls: web}", map[string]string{"salt/web.sls": "a: {test.nop: []}\n", "salt/_modules/x.py": ""}, "a", "")
	if m == nil || m.Sequence == nil || m.Sequence.Complete {
		t.Error("a module of the tree's own may read what it wants")
	}
}

// Whatever an SLS file holds, the compiler ends, and its places lie in the file.
func FuzzSequence(f *testing.F) {
	for _, seed := range []string{
		"a: {test.nop: [{text: \"{{ pillar['a'] }}\"}]}\nup: {service.running: []}",
		"{{ pillar.get('db', {}).get('url', pillar['a']) }} {{ salt['pillar.get']('db:' ~ key) }}",
		"{% from 'web.sls' import x with context %}{% raw %}{{ pillar.a }}{% endraw %}\ninclude:\n  - web\n",
		"x:\n  file.managed:\n    - source: salt://web.sls\n    - text: '__slot__:salt:pillar.get(db:url)'\n    - contents_pillar: a\n",
		"#!py\ndef run(): return __pillar__['a']", "{{ pillar.", "{{ salt[", "{{ opts.pillar.get( }}", "site: {grains.present: []}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sls string) {
		var diags source.Diagnostics
		role := driver.Role{Name: "web", Reader: folder{"salt/web.sls": &fstest.MapFile{Data: []byte(sls), Mode: 0o644}}, Locate: func(...string) source.Place { return source.Place{} },
			Inputs:  []*program.Input{{Name: "a"}, {Name: "db:url"}},
			Outputs: []*program.Output{{Name: "ready", Resource: "service: up"}, {Name: "site"}, {Name: "x.changes.stdout"}}}
		role.Source = yaml.Parse(source.NewFile("x.yaml", []byte("{file_roots: salt, sls: web}")), &diags).Data()
		m := salt.Driver.Lower(role, &diags)
		if m == nil {
			return
		}
		m.Sequence.Walk(func(s *program.Step) {
			if s.At.File != nil && (s.At.Span.Start > s.At.Span.End || int(s.At.Span.End) > len(s.At.File.Text)) {
				t.Errorf("%v lies outside of the file", s.At.Span)
			}
		})
	})
}
