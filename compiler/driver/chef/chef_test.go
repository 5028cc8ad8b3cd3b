package chef_test

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/chef"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

// folders are what lies beside the template.
var folders = map[string]fstest.MapFS{
	"books": {"web/metadata.rb": text("name 'web'\n"), "web/recipes/default.rb": text("log 'x'"), "web/recipes/site.yml": text("resources: []"),
		"db-1.0/metadata.json": text(`{"name": "db"}`), "db-1.0/recipes/default.rb": text(""), "README.md": text("")},
	"one":   {"metadata.rb": text("name  'one'\n"), "recipe.rb": text("")},
	"roles": {"base.json": text(`{"name": "base"}`), "front.rb": text("name 'front'")},
	"repo": {"cookbooks/web/metadata.rb": text("name 'web'"), "cookbooks/web/recipes/default.rb": text(""), "roles/base.rb": text(""),
		"site-cookbooks/extra/metadata.rb": text("# no name")},
	"empty":  {"notes.txt": text("")},
	"broken": {"web/metadata.json": text("{")},
}

// lower reads the roles of a server; the rest of the source is that of role "web".
func lower(t *testing.T, role string) (*program.Role, *source.Diagnostics) {
	t.Helper()
	template := "heat_template_version: 2018-08-31\nresources:\n  s:\n    type: OS::Nova::Server\n    metadata:\n      hotc: {roles: [{name: web, driver: chef, " + role + "}]}\n"
	var diags source.Diagnostics
	parsed := hot.ParseTemplate(source.NewFile("x.yaml", []byte(template)), &diags)
	if diags.Failed() {
		t.Fatal(diags.All()[0])
	}
	p := program.New(parsed, &program.Supplied{
		ReadFile: func(name string) ([]byte, error) {
			if name == "dna.json" {
				return []byte(`{"run_list": ["web::site"], "web": {"port": 80, "ratio": 0.5}}`), nil
			}
			return []byte("an archive"), nil
		},
		OpenFolder: func(name string) (fs.FS, error) {
			if folder, there := folders[strings.TrimPrefix(name, "./")]; there {
				return folder, nil
			}
			return nil, &source.Diagnostic{Code: source.CannotRead, Message: "cannot read " + name + ": no such file or directory"}
		}}, roles.FrontEnd([]driver.Driver{chef.Driver}))
	p.Lower(&diags)
	return p.Server("s").Roles[0], &diags
}

func TestSources(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for _, c := range []struct{ role, means string }{
		{`source: {cookbooks: ./books}`, `{"cookbooks":[{"file":"D"}],"run_list":["recipe[web]"]}`},
		{`source: {cookbooks: [books, one], run_list: "web, role[x], one::default@1.0", prepare: berks vendor, roles: {git: "https://x.org/r", tag: v1}}`,
			`{"cookbooks":[{"file":"D"},{"file":"D"}],"roles":{"git":"https://x.org/r","tag":"v1"},"prepare":"berks vendor","run_list":["web","role[x]","one::default@1.0"]}`},
		{`source: {cookbooks: books, roles: roles, run_list: ["role[front]", "recipe[web::site]", "db"]}`,
			`{"cookbooks":[{"file":"D"}],"roles":{"file":"D"},"run_list":["role[front]","recipe[web::site]","db"]}`},
		{`source: {repository: ./repo, environment: prod, mode: client, config: "x 1"}`,
			`{"repository":{"file":"D"},"environment":"prod","config":"x 1","mode":"client","run_list":["recipe[web]"]}`},
		{`source: {cookbooks: {url: "https://x.org/b.tgz", sha256: ` + sum + `, path: books}}`,
			`{"cookbooks":[{"url":"https://x.org/b.tgz","sha256":"` + sum + `","path":"books"}],"run_list":["recipe[web]"]}`},
		{`source: {cookbooks: {git: "git@x.org:b", branch: main, ssh_key: {input: key.text}}, run_list: [a]}, inputs: {key.text: k}`,
			`{"cookbooks":[{"git":"git@x.org:b","branch":"main","ssh_key":{"input":"key.text"}}],"run_list":["a"],"inputs":{"key.text":["key","text"]}}`},
		{`source: {cookbooks: books.tar.gz, run_list: [whatever]}`, `{"cookbooks":[{"file":"D"}],"run_list":["whatever"]}`},
		{`source: {cookbooks: books, attributes: {web: {port: 80}}}`, `{"cookbooks":[{"file":"D"}],"attributes":{"web":{"port":80}},"run_list":["recipe[web]"]}`},
		{`source: {cookbooks: books, attributes: {get_file: dna.json}}`,
			`{"cookbooks":[{"file":"D"}],"attributes":{"web":{"port":80,"ratio":0.5}},"run_list":["web::site"]}`},
		{`source: {cookbooks: books}, inputs: {web.db.url: x, "node['web'][\"a.b\"][:c]": y}, outputs: {web.site: {}, top: {}, up: {resource: "service[web]"}, known: {value: 1}}`,
			`{"cookbooks":[{"file":"D"}],"run_list":["recipe[web]"],"inputs":{"web.db.url":["web","db","url"],"node['web'][\"a.b\"][:c]":["web","a.b","c"]},"outputs":{"web.site":["web","site"],"top":["top"]}}`},
	} {
		role, diags := lower(t, c.role)
		if diags.Failed() || role.Meaning == nil {
			t.Errorf("%s\n %v", c.role, diags.All())
			continue
		}
		got := string(value.EncodeJSON(role.Meaning.Source))
		for _, file := range role.Meaning.Files {
			got = strings.ReplaceAll(got, file.Digest, "D")
		}
		if got != c.means {
			t.Errorf("%s\n means %s\n want  %s", c.role, got, c.means)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ role, wants, hint string }{
		{`outputs: {}`, `H303 role "web" has no source: the chef driver needs cookbooks`, "docs/chef.md"},
		{`source: ./books`, `H303 the source of role "web" must be a map, not a string`, "cookbooks: ./cookbooks"},
		{`source: {run_list: [web]}`, `H303 the source of role "web" names no cookbooks`, ""},
		{`source: {cookbook: ./books, prepare: x}`, `H303 the source of role "web" has a key "cookbook", which is unknown to the chef driver`, `did you mean "cookbooks"?`},
		{`source: {cookbooks: ./none}`, `H101 cannot read ./none: no such file or directory`, ""},
		{`source: {cookbooks: ./empty}`, `H303 the source of role "web" contains no cookbook`, "metadata.rb or metadata.json"},
		{`source: {cookbooks: ./broken}`, `H303 broken/web/metadata.json is not valid JSON`, ""},
		{`source: {cookbooks: [3]}`, `H303 source.cookbooks of role "web" must name a folder, or be a map with folder, url or git, not`, ""},
		{`source: {cookbooks: {url: "https://x.org/b.tgz"}}`, "H303 source.cookbooks of role \"web\": a url needs its sha256", ""},
		{`source: {cookbooks: books, mode: zero}`, `H303 unknown mode "zero"`, "chef-client"},
		{`source: {cookbooks: books, prepare: []}`, `H303 prepare of role "web" must be a string, not a list`, ""},
		{`source: {cookbooks: books, environment: "../x"}`, `H303 "../x" is not a valid environment name`, ""},
		{`source: {cookbooks: books, attributes: [1]}`, `H303 the attributes of role "web" must be a map, not a list`, ""},
		{`source: {cookbooks: books, attributes: "{"}`, `H303 the attributes of role "web" are not JSON`, ""},
		{`source: {cookbooks: books, run_list: [web], attributes: {run_list: [web]}}`, `H303 role "web" has two run lists: in its attributes and in its source`, ""},
		{`source: {cookbooks: books, run_list: []}`, `H303 the run list of role "web" must be a list of recipes and roles`, "recipe[web]"},
		{`source: {cookbooks: books, run_list: [1]}`, `H303 items of the run list of role "web" must be strings`, ""},
		{`source: {cookbooks: books, run_list: ["role[web::x]"]}`, `H303 "role[web::x]" in the run list of role "web" is neither a recipe nor a role`, ""},
		{`source: {cookbooks: books, run_list: ["recipe[web"]}`, `H303 "recipe[web" in the run list of role "web" is neither a recipe nor a role`, ""},
		{`source: {cookbooks: books, run_list: [wbe]}`, `H314 the run list of role "web" needs the cookbook wbe, which does not exist`, `did you mean "web"?`},
		{`source: {cookbooks: one}`, `H314 the run list of role "web" needs the cookbook web, which does not exist`, "the cookbooks are one"},
		{`source: {cookbooks: books, run_list: ["web::sites"]}`, `H314 the cookbook web (books/web) has no recipe "sites"`, `did you mean "site"?`},
		{`source: {repository: repo, run_list: [extra]}`, `H314 the cookbook extra (repo/site-cookbooks/extra) has no recipe "default"`, ""},
		{`source: {cookbooks: books, roles: roles, run_list: ["role[fornt]"]}`, `H314 the run list of role "web" contains role[fornt], but there is no such role`, `did you mean "front"?`},
		{`source: {cookbooks: books, roles: {git: "https://x.org/r", tag: v1}}`, `H303 role "web" needs a run list: its Chef roles are known only on the server`, ""},
		{`source: {cookbooks: books}, inputs: {"web..url": 1}`, `H303 input "web..url" of role "web": not a path of keys joined by dots`, "node['wordpress']"},
		{`source: {cookbooks: books}, inputs: {"node['web'][0]": 1}`, `H303 input "node['web'][0]" of role "web": expected a string or symbol as key, not [0]`, ""},
		{`source: {cookbooks: books}, outputs: {"web['x']": {}}`, `H303 output "web['x']" of role "web": the key "web['x']" is neither written as in a recipe`, ""},
		{`source: {cookbooks: books}, inputs: {web: 1, web.port: 2}`, `H303 input "web.port" and input "web" of role "web" overlap in the node's attributes`, "beside each other"},
		{`source: {cookbooks: books}, inputs: {web.port: 1}, outputs: {"node['web']['port']": {attribute: p}}`, `H303 output "node['web']['port']" and input "web.port" of role "web" overlap`, ""},
		{`source: {cookbooks: books}, outputs: {up: {resource: service web}}`, `H301 output "up": "service web" is not a Chef resource`, ""},
		{`source: {cookbooks: books}, install: {licence: yes please}`, `H301 accept Chef's licence with one of accept, accept-no-persist, accept-silent, not "yes please"`, ""},
	} {
		_, diags := lower(t, c.role)
		if !diags.Failed() {
			t.Errorf("%s\n is right, want %s", c.role, c.wants)
			continue
		}
		d := diags.All()[0]
		if got := string(d.Code) + " " + d.Message; !strings.HasPrefix(got, c.wants) || !strings.Contains(d.Hint, c.hint) || !d.At.Known() {
			t.Errorf("%s\n gives %s (%s) at %v\n want  %s (%s)", c.role, got, d.Hint, d.At, c.wants, c.hint)
		}
	}
}

// dict is a map as a template has it.
func dict(m map[string]any) *value.Dict {
	d := value.NewDict()
	for _, key := range slices.Sorted(maps.Keys(m)) {
		d.Set(key, m[key])
	}
	return d
}
