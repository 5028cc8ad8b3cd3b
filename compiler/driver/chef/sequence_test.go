package chef_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/chef"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// beside reads one folder, whatever its name.
type beside struct{ folder fstest.MapFS }

func (b beside) File(string) ([]byte, error)  { return nil, fs.ErrNotExist }
func (b beside) Folder(string) (fs.FS, error) { return b.folder, nil }

// steps are the steps of a role with the inputs in.a, in.b and in.c.d and the outputs
// out.x, out.y (of type list) and up (log[up]).
func steps(t *testing.T, given map[string]any, files map[string]string) string {
	t.Helper()
	folder := fstest.MapFS{}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	role := driver.Role{Name: "web", Source: dict(given), Locate: func(...string) source.Place { return source.Place{} }, Reader: beside{folder}}
	for _, name := range []string{"in.a", "in.b", "in.c.d"} {
		role.Inputs = append(role.Inputs, &program.Input{Name: name})
	}
	role.Outputs = []*program.Output{{Name: "out.x"}, {Name: "out.y", Type: "list"}, {Name: "out.z", Type: "string"}, {Name: "up", Resource: "log[up]"}}
	var diags source.Diagnostics
	meaning := chef.Driver.Lower(role, &diags)
	if diags.Failed() {
		t.Fatal(diags.All()[0])
	}
	if meaning.Sequence == nil {
		return "unknown"
	}
	return shown(meaning.Sequence.Steps)
}

func shown(list []program.Step) string {
	var out []string
	for _, s := range list {
		switch s.Op {
		case program.ReadInput:
			out = append(out, "read "+s.Name)
		case program.WriteOutput:
			out = append(out, "write "+s.Name)
		case program.ReadAny:
			out = append(out, "read any")
		case program.Fork:
			out = append(out, "("+shown(s.Ways[1])+")")
		case program.AnyOrder:
			out = append(out, "?")
		}
	}
	return strings.Join(out, ", ")
}

func TestOrderOfReadsAndWrites(t *testing.T) {
	for _, c := range []struct{ recipe, steps string }{
		{"node['in']['a']\nnode.default['out']['x'] = 1\nnode['in']['b']", "read in.a, write out.x, read in.b"},
		// a list may still grow, and so may what nobody can tell the type of
		{"node.default['out']['y'] = [1]\nnode['in']['a']", "(write out.y), read in.a, write out.y"},
		{"node.default['out']['x'] = f()\nnode['in']['a']", "(write out.x), read in.a, write out.x"},
		{"node.default['out']['z'] = f()\nnode['in']['a']", "write out.z, read in.a"},
		{"node.default['out'] = x\nnode['in']['a']", "(write out.x), (write out.y), (write out.z), read in.a, (write out.x), (write out.y), (write out.z), write out.x, write out.y, write out.z"},
		// what converges comes after what is compiled
		{"ruby_block 'x' do\n  block { node.default['out']['x'] = 1 }\nend\nnode['in']['a']", "read in.a, write out.x"},
		{"file '/x' do\n  content lazy { node['in']['a'] }\nend\nfile node['in']['b']", "read in.b, read in.a"},
		{"log 'up' do\n  message lazy { node['in']['a'] }\nend\nlog 'x' do\n  message lazy { node['in']['b'] }\nend", "read in.a, write up, read in.b"},
		{"log 'up'\ntemplate '/etc/page' do\n  mode '0600'\nend", "write up, read in.a"},
		{"template '/etc/x' do\n  source 'page.erb'\nend\nlog 'up'", "read in.a, write up"},
		{"template '/etc/x' do\n  source name\nend\nlog 'up'", "(read in.a), write up"},
		// a resource that another one notifies, or is not certain
		{"log 'up' do\n  action :nothing\nend\nlog 'x' do\n  message lazy { node['in']['a'] }\n  notifies :write, 'log[up]', :immediately\nend", "(write up), read in.a, write up"},
		{"log 'up' if node['in']['a']\nlog 'x' do\n  message lazy { node['in']['b'] }\nend", "read in.a, (write up), read in.b, write up"},
		{"log 'x' do\n  action :nothing\n  message lazy { node['in']['a'] }\nend\nlog 'up'", "(read in.a), write up"},
		// what is not certain
		{"node['in']['a'] if x\nnode['in'][key]\nnode['in']['c'].each { }", "(read in.a), (read in.a), (read in.b), (read in.c.d), (read in.c.d)"},
		{"helper(node)\nnode['in'].key?('a')\nnode['in']['a'].empty?", "read any, read in.a"},
		{"node['in']['c']['d']['deep']", "read in.c.d"},
		// included recipes stand where they are included, once
		{"include_recipe 'web::other'\nnode['in']['a']\ninclude_recipe '::other'", "read in.b, read in.a"},
		{"include_recipe 'web::other' if x", "(read in.b)"},
		{"include_recipe 'lib'", "(write out.x), read in.c.d, write out.x"},
		{"include_recipe name", "unknown"},
		{"include_recipe 'nowhere'", "unknown"},
	} {
		files := map[string]string{"web/metadata.rb": "name 'web'", "web/recipes/default.rb": c.recipe, "web/recipes/other.rb": "node['in']['b']",
			"web/templates/default/page.erb": "<%= node['in']['a'] %>",
			"lib/metadata.rb":                "name 'lib'", "lib/recipes/default.rb": "node['in']['c']['d']", "lib/libraries/x.rb": "def x\n  node.default['out']['x'] = 1\nend"}
		got := steps(t, map[string]any{"cookbooks": "books"}, files)
		if got != c.steps {
			t.Errorf("%s\n gives %s\n want  %s", c.recipe, got, c.steps)
		}
	}
}

// What attribute files say counts when all is compiled; those of the cookbooks that
// a cookbook depends on come first.
func TestAttributeFiles(t *testing.T) {
	got := steps(t, map[string]any{"cookbooks": "books"}, map[string]string{
		"web/metadata.rb": "name 'web'\ndepends 'lib', '~> 1.0'", "web/recipes/default.rb": "node['in']['a']",
		"web/attributes/default.rb": "default['out']['x'] = node['in']['c']['d']",
		"lib/metadata.json":         `{"name": "lib"}`, "lib/attributes/default.rb": "default['x'] = node['in']['b']"})
	if got != "read in.b, read in.c.d, read in.a, write out.x" {
		t.Error(got)
	}
}

// Roles name their recipes.
func TestRecipesOfRoles(t *testing.T) {
	files := map[string]string{"cookbooks/web/metadata.rb": "name 'web'", "cookbooks/web/recipes/one.rb": "node['in']['a']", "cookbooks/web/recipes/two.rb": "node['in']['b']",
		"roles/first.rb": "name 'first'\nrun_list 'recipe[web::two]',\n  \"role[second]\"\n", "roles/second.json": `{"run_list": ["web::one"]}`,
		"roles/computed.rb": "run_list [\"recipe[web::#{x}]\"]", "roles/list.rb": "run_list(%w{web::one})",
		"roles/commented.rb": "run_list(\n  'web::two',\n  # 'web::gone',\n  'web::one' # the last\n)\ndefault_attributes({})\n", "roles/none.rb": "name 'none'\n",
		"roles/more.rb": "run_list ['web::one'] + others\n", "roles/rest.rb": "run_list 'web::one', *others\n", "roles/perhaps.rb": "run_list 'web::one' if x\n",
		"roles/env.rb":    "env_run_lists '_default' => ['web::two']\nrun_list 'web::one'\n",
		"roles/prod.json": `{"run_list": ["web::one"], "env_run_lists": {"prod": ["web::two"]}}`, "roles/noprod.json": `{"run_list": ["web::one"], "env_run_lists": {}}`}
	for role, want := range map[string]string{"role[first]": "read in.b, read in.a", "role[computed]": "unknown", "role[list]": "unknown",
		"role[commented]": "read in.b, read in.a", "role[none]": "", "role[more]": "unknown", "role[rest]": "unknown", "role[perhaps]": "unknown",
		"role[env]": "unknown", "role[prod]": "unknown", "role[noprod]": "read in.a"} {
		if got := steps(t, map[string]any{"repository": "repo", "run_list": role}, files); got != want {
			t.Errorf("%s: %s", role, got)
		}
	}
}

// There is an end to what is looked at: each resource whose template nobody can tell may
// have any of all.
func TestBounds(t *testing.T) {
	files := map[string]string{"web/metadata.rb": "name 'web'", "web/recipes/default.rb": strings.Repeat("template x do\nend\n", 10_000)}
	for i := range 2_000 {
		files[fmt.Sprintf("web/templates/%d.erb", i)] = strings.Repeat("<%= node['in']['a'] %>", 100)
	}
	if got := steps(t, map[string]any{"cookbooks": "books"}, files); got != "unknown" {
		t.Error(len(got))
	}
}

// Where a tree comes from elsewhere nobody knows.
func TestUnknownCookbooks(t *testing.T) {
	files := map[string]string{"web/metadata.rb": "name 'web'\n", "web/recipes/default.rb": "node['in']['a']"}
	if got := steps(t, map[string]any{"cookbooks": "books", "prepare": "berks vendor"}, files); got != "unknown" {
		t.Error(got)
	}
}
