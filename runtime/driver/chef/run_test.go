package chef_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/chef"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// standIn is a program chef-solo that is the stand-in.
func standIn(t testing.TB) string {
	t.Helper()
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Skip("SKIPPED: no ruby on PATH")
	}
	script, err := filepath.Abs("testdata/standin/chef-solo.rb")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chef-solo")
	for name, only := range map[string]string{"chef-solo": "", "chef-client": "case $1 in --local-mode) ;; *) exit 9 ;; esac\n"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), fmt.Appendf(nil, "#!/bin/sh\n%sexec '%s' '%s' \"$@\"\n", only, ruby, script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// everyChef runs a test with the stand-in, and with the real Chef where there is one.
func everyChef(t *testing.T, test func(t *testing.T, solo string)) {
	t.Run("stand-in", func(t *testing.T) { test(t, standIn(t)) })
	t.Run("Chef", func(t *testing.T) {
		if testing.Short() {
			t.Skip("NOT RUN with the real tool: -short")
		}
		solo, err := exec.LookPath("chef-solo")
		if err != nil {
			t.Skip("SKIPPED: no chef-solo on PATH: Debian 12 has no Chef, so that only the stand-in was tried")
		}
		test(t, solo)
	})
}

// tree is a tree of files that travels with the plan, by name; a name that ends with
// "/" is a folder.
type tree map[string]string

func (files tree) archive(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	return out.Bytes()
}

// trees are the files of a plan, by digest (which are just names here).
type trees map[string][]byte

func (f trees) File(_ context.Context, digest string) ([]byte, error) {
	if data, there := f[digest]; there {
		return data, nil
	}
	return nil, errors.New("no such file")
}

// bed runs a role.
type bed struct {
	t      *testing.T
	values *agent
	job    *driver.Job
	files  trees
	driver chef.Driver
}

func newBed(t *testing.T, solo, source string, cookbooks tree) *bed {
	t.Helper()
	b := &bed{t: t, values: &agent{}, files: trees{"books": cookbooks.archive(t)}, driver: chef.Driver{}}
	open := func(name string) *os.File {
		file, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	b.job = &driver.Job{Grace: time.Second, Role: contract.Role{Name: "web", Source: json.RawMessage(source)}, Work: t.TempDir(), Values: b.values, Files: b.files,
		Stdout: open("stdout"), Stderr: open("stderr"), Program: solo, Started: func(context.Context) error { return nil }}
	return b
}

// run prepares and runs the role in a new folder, as the agent does.
func (b *bed) run() (driver.Exit, error) {
	b.t.Helper()
	b.job.Folder = b.t.TempDir()
	s, err := socket.Serve(b.t.Context(), b.job.Folder, b.values)
	if err != nil {
		b.t.Fatal(err)
	}
	defer s.Close()
	b.job.Environment = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.t.TempDir(), socket.Variable + "=" + s.Path()}
	if err := b.driver.Prepare(b.t.Context(), b.job); err != nil {
		return driver.Exit{}, err
	}
	return b.driver.Run(b.t.Context(), b.job)
}

func (b *bed) mustRun() {
	b.t.Helper()
	if exit, err := b.run(); err != nil || !exit.OK() {
		b.t.Fatalf("%v, %v\n%s%s", exit, err, b.printed(b.job.Stdout), b.printed(b.job.Stderr))
	}
}

// fails runs a role that must fail, and returns what its cause will say.
func (b *bed) fails() string {
	b.t.Helper()
	exit, err := b.run()
	if err != nil {
		return err.Error()
	}
	if exit.OK() {
		b.t.Error("it did not fail")
	}
	said := strings.TrimSpace(b.printed(b.job.Stderr))
	return said[strings.LastIndexByte(said, '\n')+1:]
}

func (b *bed) printed(file *os.File) string {
	text, err := os.ReadFile(file.Name())
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// recipe is a cookbook "web" with one recipe.
func recipe(text string) tree {
	return tree{"web/metadata.rb": "name 'web'\n", "web/recipes/default.rb": text}
}

const web = `{"cookbooks": [{"file": "books"}], "run_list": ["recipe[web]"]}`

func TestARunReadsAndWrites(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		b := newBed(t, solo, `{"cookbooks": [{"file": "books", "path": "chef/books"}], "roles": {"file": "books", "path": "chef/roles"},
			"run_list": ["role[blog]"], "attributes": {"web": {"port": 80}}, "inputs": {"db.y": ["web", "db.url"]}, "outputs": {"site": ["web", "site"]}}`, tree{
			"chef/roles/blog.json":              `{"name": "blog", "run_list": ["recipe[web::site]"], "default_attributes": {"web": {"name": "blog"}}}`,
			"chef/books/web/metadata.rb":        "name 'web'\n",
			"chef/books/web/recipes/site.rb":    `node.default['web']['site'] = "#{node['web']['name']}:#{node['web']['port']} #{node['web']['db.url']}"; log 'last'`,
			"chef/books/other/metadata.json":    `{"name": "other"}`,
			"chef/books/other/recipes/dummy.rb": "raise",
		})
		b.job.Role.Inputs = []contract.Input{{Name: "db.y", Time: contract.Run}}
		b.job.Role.Outputs = []contract.Output{{Name: "site"}, {Name: "up", Resource: "log[last]"}}
		b.mustRun()
		if got := strings.Join(b.values.log, "\n"); got != "get db.y\nput site \"blog:80 Y\"\nput up true" {
			t.Error(got)
		}
	})
}

// What the plan gives no place, such as an action's argument, has its name's.
func TestAnArgumentsPlace(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		b := newBed(t, solo, web, recipe("raise node['backup']['y'].to_s unless node['backup']['y'] == 'Y'\nlog 'x'"))
		b.job.Role.Inputs = []contract.Input{{Name: "backup.y", Time: contract.Static}}
		b.mustRun()
	})
}

// A resource is found by the name that notifications use, and by its own; one that
// a guard holds back has converged.
func TestCompletionOfResources(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		b := newBed(t, solo, web, recipe("package 'x' do\n  only_if { false }\nend\nlog 'waits' do\n  action :nothing\nend\n"))
		b.job.Role.Outputs = []contract.Output{{Name: "declared", Resource: "package[x]"}, {Name: "own", Resource: "apt_package[x]"}, {Name: "never", Resource: "log[waits]"}}
		b.mustRun()
		slices.Sort(b.values.log)
		if got := strings.Join(b.values.log, "\n"); got != "put declared true\nput own true" {
			t.Error(got)
		}
	})
}

// An archive of one cookbook, or of one in a folder of another name, is as good as
// a folder of cookbooks; of two cookbooks of one name the first tree's counts.
func TestCookbooksAsTheyCome(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		for name, files := range map[string]tree{
			"a folder of cookbooks": recipe("node.default['a']['b'] = 'right'"),
			"one cookbook":          {"metadata.rb": "name 'web'\n", "recipes/default.rb": "node.default['a']['b'] = 'right'"},
			"of a release":          {"web-1.2.0/metadata.json": `{"name": "web", "version": "1.2.0"}`, "web-1.2.0/recipes/default.rb": "node.default['a']['b'] = 'right'"},
		} {
			t.Run(name, func(t *testing.T) {
				b := newBed(t, solo, `{"cookbooks": [{"file": "books"}, {"file": "later"}], "run_list": ["web"], "outputs": {"out": ["a", "b"]}}`, files)
				b.files["later"] = recipe("node.default['a']['b'] = 'the other'").archive(t)
				b.job.Role.Outputs = []contract.Output{{Name: "out"}}
				b.mustRun()
				if got := strings.Join(b.values.log, "\n"); got != `put out "right"` {
					t.Error(got)
				}
			})
		}
	})
}

func TestARepositoryOfChefs(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		b := newBed(t, solo, `{"repository": {"file": "books"}, "run_list": ["role[r]"], "outputs": {"out": ["a", "b"]}}`, tree{
			"roles/r.rb": "name 'r'\nrun_list 'web'\n", "cookbooks/web/metadata.rb": "name 'web'", "cookbooks/web/recipes/default.rb": "raise 'the other'",
			"site-cookbooks/web/metadata.rb": "name 'web'", "site-cookbooks/web/recipes/default.rb": "node.default['a']['b'] = 'right'", "README.md": "x"})
		b.job.Role.Outputs = []contract.Output{{Name: "out"}}
		b.mustRun()
		if got := strings.Join(b.values.log, "\n"); got != `put out "right"` {
			t.Error(got)
		}
	})
}

// What berks vendor and its like do is done before, in the cookbooks' folder.
func TestPrepare(t *testing.T) {
	const book = `mkdir -p "$BOOK/recipes"; echo "node.default['a']['b'] = 'from lib'" > "$BOOK/recipes/default.rb"; `
	everyChef(t, func(t *testing.T, solo string) {
		for name, command := range map[string]string{
			"folders of the cookbooks' names": `BOOK=$hotc_cookbooks/lib; ` + book + `echo "name 'lib'" > "$BOOK/metadata.rb"`,
			// as chef export names them, and with metadata as it writes them
			"folders with an identifier": `BOOK=$hotc_cookbooks/lib-3f2a; ` + book + `echo '{"name": "lib", "version": "1.0.0"}' > "$BOOK/metadata.json"`,
			// older versions of Berkshelf refuse one that is there
			"a folder that the tool makes": `rmdir "$hotc_cookbooks"; BOOK=$hotc_cookbooks/lib; ` + book + `echo "name 'lib'" > "$BOOK/metadata.rb"`,
		} {
			t.Run(name, func(t *testing.T) {
				source, _ := json.Marshal(map[string]any{"cookbooks": []any{map[string]any{"file": "books"}}, "run_list": []string{"web", "lib"},
					"prepare": "test -f web/metadata.rb; " + command, "outputs": map[string]any{"out": []string{"a", "b"}}})
				b := newBed(t, solo, string(source), recipe("log 'x'"))
				b.job.Role.Outputs = []contract.Output{{Name: "out"}}
				b.mustRun()
				if got := strings.Join(b.values.log, "\n"); got != `put out "from lib"` {
					t.Error(got)
				}
			})
		}
	})
	nothing := newBed(t, "/bin/false", `{"run_list": ["web"], "prepare": "rmdir $hotc_cookbooks"}`, recipe(""))
	if got := nothing.fails(); got != "the source contains no cookbook: no folder has a metadata.rb or metadata.json" {
		t.Error(got)
	}
	b := newBed(t, "/bin/false", `{"cookbooks": [{"file": "books"}], "run_list": ["web"], "prepare": "echo no Berksfile here >&2; exit 3"}`, recipe(""))
	if got := b.fails(); got != "prepare: exit status 3: no Berksfile here" {
		t.Error(got)
	}
}

// What a run has saved in the node is not there in the next.
func TestNothingIsLeftOfARun(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		b := newBed(t, solo, web, recipe("raise 'left over' if node['a']\nnode.normal['a']['b'] = 1\nlog 'x'"))
		b.mustRun()
		b.mustRun()
	})
}

// Chef leaves nothing of its own among what recipes keep: a stack trace's message may
// hold a secret.
func TestWhatStays(t *testing.T) {
	for _, mode := range []string{"solo", "client"} {
		t.Run(mode, func(t *testing.T) {
			everyChef(t, func(t *testing.T, solo string) {
				b := newBed(t, solo, `{"cookbooks": [{"file": "books"}], "run_list": ["web"], "mode": "`+mode+`"}`,
					recipe("File.write(::File.join(Chef::Config[:file_cache_path], 'kept'), 'x')\nexecute 'fail' do\n  command \"echo s3cret-word; exit 3 # #{node['db']['y']}\"\nend"))
				b.job.Role.Inputs = []contract.Input{{Name: "db.y", Secret: true, Time: contract.Run}}
				b.fails()
				var found []string
				err := filepath.WalkDir(b.job.Work, func(path string, entry os.DirEntry, err error) error {
					if err == nil && !entry.IsDir() {
						found = append(found, strings.TrimPrefix(path, b.job.Work+"/"))
					}
					return err
				})
				if got := strings.Join(found, " "); err != nil || got != "cache/kept" {
					t.Errorf("%s, %v", got, err)
				}
			})
		})
	}
}

// chef-client runs a role in local mode, from beside chef-solo.
func TestClient(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		b := newBed(t, solo, `{"cookbooks": [{"file": "books"}], "run_list": ["web"], "mode": "client", "outputs": {"out": ["a", "b"], "in": ["a", "in"]}}`,
			recipe("node.default['a']['b'] = Chef::Config[:local_mode]\nnode.default['a']['in'] = { **node['db'] }['y']\nlog 'x'"))
		b.job.Role.Inputs = []contract.Input{{Name: "db.y", Time: contract.Run}}
		b.job.Role.Outputs = []contract.Output{{Name: "out"}, {Name: "in"}}
		b.mustRun()
		if got := strings.Join(b.values.log, "\n"); got != "put out true\nget db.y\nput in \"Y\"" {
			t.Error(got)
		}
	})
}

// The user's own lines of configuration count, but not against what must be so.
func TestConfiguration(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		source, _ := json.Marshal(map[string]any{"cookbooks": []any{map[string]any{"file": "books"}}, "run_list": []string{"web"}, "environment": "_default",
			"config": "rest_timeout 7\nfile_cache_path '/nowhere'", "outputs": map[string]any{"out": []string{"a", "b"}}})
		b := newBed(t, solo, string(source), recipe("node.default['a']['b'] = \"#{Chef::Config[:rest_timeout]} #{Chef::Config[:file_cache_path]} #{Chef::Config[:diff_disabled]}\""))
		b.job.Role.Inputs = []contract.Input{{Name: "password", Secret: true}}
		b.job.Role.Outputs = []contract.Output{{Name: "out"}}
		b.mustRun()
		if got, want := strings.Join(b.values.log, "\n"), `put out "7 `+b.job.Work+`/cache true"`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// The cause of a failed role is in Chef's own words, and not in Ruby's.
func TestFailures(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		for _, c := range []struct{ recipe, cause string }{
			{"raise 'the disk is on fire'", "the disk is on fire (web/recipes/default.rb:1)"},
			{"log 'x'\n\nnode['a'].nothing", "undefined method `nothing' for nil:NilClass (web/recipes/default.rb:3)"},
			{"log 'x' do", "web/recipes/default.rb:1: syntax error, unexpected end-of-input"},
			{"log 'x'\nexecute 'create' do\n  command 'echo working; echo disk full >&2; exit 4'\nend",
				"execute[create] (web::default line 2) had an error: Expected process to exit with [0], but received '4': disk full"},
			{"ruby_block 'one' do\n  block { raise ArgumentError, 'no such user' }\nend", "ruby_block[one] (web::default line 1) had an error: no such user"},
			{"template '/etc/x' do\n  source 'page.erb'\nend", "template[/etc/x] (web::default line 1) had an error: undefined method `[]' for nil:NilClass (line 2 of the template)"},
			{"include_recipe 'web::none'", "could not find recipe none for cookbook web"},
			// what failed first, whatever failed then
			{"ruby_block 'one' do\n  block {}\n  notifies :run, 'ruby_block[two]'\nend\nruby_block 'two' do\n  block { raise 'no such host' }\n  action :nothing\nend\n" +
				"execute 'create' do\n  command 'echo no room >&2; exit 3'\nend",
				"execute[create] (web::default line 9) had an error: Expected process to exit with [0], but received '3': no room (and 1 more)"},
			// of resources in each other the outermost and the innermost, if it cannot be all
			{"web_site 'www.example.com with a name that is so long that nothing of it fits'",
				"web_site[www.example.com with a name that is so long that nothing of it fits] (web::default line 1) had an error: … execute[make] ("},
			{"web_site 'www.example.com with a name that is so long that nothing of it fits'",
				" had an error: Expected process to exit with [0], but received '4': no room on device"},
		} {
			files := recipe(c.recipe)
			files["web/resources/site.rb"] = "resource_name :web_site\nprovides :web_site\naction :create do\n  web_page new_resource.name\nend\n"
			files["web/resources/page.rb"] = "resource_name :web_page\nprovides :web_page\naction :create do\n  execute 'make' do\n    command 'echo no room on device >&2; exit 4'\n  end\nend\n"
			files["web/templates/default/page.erb"] = "first line\n<%= node['none']['x'] %>\n"
			b := newBed(t, solo, web, files)
			if got := b.fails(); !strings.Contains(got, c.cause) {
				t.Errorf("%s\n fails with %q\n want %q", c.recipe, got, c.cause)
			}
		}
	})
}

// An input that did not come ends the run at once, whatever a recipe, a template or Chef
// makes of it, and nothing more is published.
func TestAFailedInputEndsTheRun(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		for name, text := range map[string]string{
			"a recipe":     "begin; node['x']['broken']; rescue Exception; end\nGO_ON",
			"a copy":       "begin; {}.merge(node['x']); rescue Exception; end\nGO_ON",
			"a block":      "ruby_block 'one' do\n  block { begin; node['x']['broken']; rescue Exception; end; GO_ON }\nend",
			"ignored":      "ruby_block 'one' do\n  block { node['x']['broken'] }\n  ignore_failure true\nend\nruby_block 'two' do\n  block { GO_ON }\nend",
			"a template":   "template 'MARKER.page' do\n  source 'page.erb'\n  ignore_failure true\nend\nruby_block 'two' do\n  block { GO_ON }\nend",
			"notification": "ruby_block 'one' do\n  block {}\n  notifies :run, 'ruby_block[later]'\nend\nruby_block 'later' do\n  block { GO_ON }\n  action :nothing\nend\nruby_block 'two' do\n  block { node['x']['broken'] }\nend",
		} {
			t.Run(name, func(t *testing.T) {
				marker := filepath.Join(t.TempDir(), "marker")
				goOn := fmt.Sprintf("node.default['out']['a'] = 1; File.write(%q, 'here')", marker)
				files := recipe(strings.NewReplacer("GO_ON", goOn, "MARKER", marker).Replace(text))
				files["web/templates/page.erb"] = "<% begin; node['x']['broken']; rescue Exception; end %>"
				b := newBed(t, solo, `{"cookbooks": [{"file": "books"}], "run_list": ["recipe[web]"], "inputs": {"broken": ["x", "broken"]}, "outputs": {"out": ["out", "a"]}}`, files)
				b.job.Role.Inputs = []contract.Input{{Name: "broken", Time: contract.Run}}
				b.job.Role.Outputs = []contract.Output{{Name: "out"}}
				if got := b.fails(); !strings.HasPrefix(got, "hotc: db.mysql failed: exit status 1") {
					t.Error(got)
				}
				if got := strings.Join(b.values.log, "\n"); got != "get broken" {
					t.Error(got)
				}
				if _, err := os.Stat(marker); err == nil {
					t.Error("the recipe went on")
				}
			})
		}
	})
}

// All that failed is in what the role printed, the first cause last.
func TestSeveralFailures(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		b := newBed(t, solo, web, recipe("%w{two three}.each do |name|\n  ruby_block name do\n    block { raise \"no #{name}\" }\n    action :nothing\n  end\nend\n"+
			"ruby_block 'one' do\n  block {}\n  notifies :run, 'ruby_block[two]'\n  notifies :run, 'ruby_block[three]'\nend\nruby_block 'four' do\n  block { raise 'no four' }\nend"))
		b.fails()
		said := b.printed(b.job.Stderr)
		want := "and then: ruby_block[three] (web::default line 2) had an error: no three\nand then: ruby_block[two] (web::default line 2) had an error: no two\n" +
			"ruby_block[four] (web::default line 12) had an error: no four (and 2 more)\n"
		if !strings.HasSuffix(said, want) {
			t.Errorf("%s\n want %s", said, want)
		}
	})
}

// `**` of a mash waits for its inputs wherever cookbooks hold Ruby.
func TestSplats(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		file := filepath.Join(t.TempDir(), "page")
		b := newBed(t, solo, `{"cookbooks": [{"file": "books"}], "run_list": ["recipe[web]"], "outputs": {"out": ["b", "out"], "lib": ["b", "lib"], "attr": ["b", "attr"], "nested": ["b", "nested"]}}`, tree{
			"web/metadata.rb":           "name 'web'\n",
			"web/libraries/helper.rb":   "# 2 ** 3\ndef said(**o)\n  o.values\nend\n\ndef helper(node)\n  said(\n    **node['lib']\n  ).inspect + \" line #{__LINE__}\"\nend\n",
			"web/attributes/default.rb": "default['b']['attr'] = [{ **node['attr'] }['off'] ? 'on' : 'off', __LINE__]\n",
			"web/resources/thing.rb":    "resource_name :web_thing\nprovides :web_thing\naction :create do\n  ruby_block 'in' do\n    block { node.default['b']['nested'] = { **node['nested'] }['off'] ? 'on' : 'off' }\n  end\nend\n",
			"web/templates/page.erb":    "é\n<%= { 'é' => 1, **node['page'] }['off'] ? 'on' : 'off' %> <%= __LINE__ %>\n",
			"web/recipes/default.rb": "node.default['b']['lib'] = helper(node)\nh = {\n  # ** of the mash é\n  'é' => 1, **node['recipe'], 'x' => <<~TEXT,\n    ** not this\n  TEXT\n}\n" +
				"node.default['b']['out'] = \"#{h['off'] ? 'on' : 'off'} #{h['x'].strip} #{__LINE__}\"\nweb_thing 'x'\ntemplate '" + file + "' do\n  source 'page.erb'\nend\n",
		})
		for _, name := range []string{"lib", "attr", "nested", "page", "recipe"} {
			b.job.Role.Inputs = append(b.job.Role.Inputs, contract.Input{Name: name + ".off", Time: contract.Run})
		}
		b.job.Role.Outputs = []contract.Output{{Name: "out"}, {Name: "lib"}, {Name: "attr"}, {Name: "nested"}}
		b.mustRun()
		text, _ := os.ReadFile(file)
		got := strings.Join(append(b.values.log, string(text)), "\n")
		want := `get attr.off
get lib.off
put lib "[false] line 9"
get recipe.off
put out "off ** not this 8"
put attr ["off",1]
get nested.off
put nested "off"
get page.off
é
off 2
`
		if got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}

// A cookbook that another one needs and that is not there is named.
func TestACookbookThatIsMissing(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		b := newBed(t, solo, web, tree{"web/metadata.rb": "name 'web'\ndepends 'nowhere'\n", "web/recipes/default.rb": "log 'x'"})
		if got := strings.ToLower(b.fails()); !strings.Contains(got, "cookbook") || !strings.Contains(got, "nowhere") {
			t.Error(got)
		}
	})
}

// What is wrong before Chef starts.
func TestWhatCannotRun(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for _, c := range []struct {
		source string
		files  tree
		cause  string
	}{
		{web, tree{"../../../../../../.." + outside: "x", "web/metadata.rb": "name 'web'"}, "leads out"},
		{web, tree{"web/metadata.rb": "name '../../etc'\n"}, `"../../etc" is not a valid cookbook name`},
		{web, tree{"web/metadata.json": "{"}, "the metadata.json of the cookbook web is not valid JSON: unexpected end of JSON input"},
		{web, tree{"web/recipes/default.rb": ""}, "the source contains no cookbook: no folder has a metadata.rb or metadata.json"},
		{web, tree{"web/metadata.rb": "name 'web'", "web-2/metadata.rb": "name 'web'"}, "the folders web-2 and web contain the same cookbook"},
		{`{"cookbooks": [{"file": "books", "path": "none"}], "run_list": ["web"]}`, recipe(""), "the fetched tree has no none"},
		{`{"cookbooks": [{"file": "none"}], "run_list": ["web"]}`, nil, "cookbooks-1: fetch the plan's file: no such file"},
		{`{"cookbooks": [{"file": "books"}], "run_list": ["web"], "mode": "client"}`, recipe(""), "there is no chef-client beside /bin/false: remove `mode: client`"},
		{`{"cookbooks": [{"file": "books"}], "run_list": []}`, recipe(""), "Chef's source in the plan has no run list"},
		{`{"cookbook": []}`, nil, `read the role's source in the plan: json: unknown field "cookbook"`},
	} {
		b := newBed(t, "/bin/false", c.source, c.files)
		if got := b.fails(); !strings.Contains(got, c.cause) {
			t.Errorf("%s with %v\n fails with %q\n want %q", c.source, c.files, got, c.cause)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("an archive has written outside of its folder")
	}
}

// Exit statuses that say why by themselves.
func TestStatusesOfChef(t *testing.T) {
	for status, cause := range map[int]string{35: "reboot", 37: "reboot", 172: "Chef's licence is not accepted"} {
		solo := put(t, t.TempDir(), "chef-solo", fmt.Sprintf("#!/bin/sh\nexit %d\n", status))
		if err := os.Chmod(solo, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := newBed(t, solo, web, recipe("")).fails(); !strings.Contains(got, cause) {
			t.Errorf("%d: %q", status, got)
		}
	}
}

// The licence is accepted with the words of the role, and with none else.
func TestTheLicenceIsTheUsers(t *testing.T) {
	solo := put(t, t.TempDir(), "chef-solo", "#!/bin/sh\necho \"said ${CHEF_LICENSE-nothing}\" >&2\nexit 1\n")
	if err := os.Chmod(solo, 0o700); err != nil {
		t.Fatal(err)
	}
	b := newBed(t, solo, web, recipe(""))
	if got := b.fails(); got != "said nothing" {
		t.Error(got)
	}
	b.job.Role.Install = &contract.Install{Licence: "accept-no-persist"}
	if got := b.fails(); got != "said accept-no-persist" {
		t.Error(got)
	}
	b = newBed(t, solo, `{"cookbooks": [{"file": "books"}], "run_list": ["web"], "prepare": "echo \"said $CHEF_LICENSE\" >&2; exit 1"}`, recipe(""))
	b.job.Role.Install = &contract.Install{Licence: "accept"}
	if got := b.fails(); got != "prepare: exit status 1: said accept" {
		t.Error(got)
	}
}

// Before any role runs, the agent warns of a Chef that is not there and will not be.
func TestCheck(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	d := chef.Driver{}
	for _, c := range []struct {
		install *contract.Install
		wants   string
	}{
		{nil, "chef-solo is not on this server; accept Chef's licence for the gem"},
		{&contract.Install{From: "gem"}, "accept Chef's licence for the gem"},
		{&contract.Install{From: "none"}, "must not be installed (install: {from: none})"},
		{&contract.Install{Licence: "accept"}, ""},
		{&contract.Install{From: "url"}, ""},
	} {
		err := d.Check(t.Context(), contract.Role{Install: c.install})
		if c.wants == "" && err != nil || c.wants != "" && (err == nil || !strings.Contains(err.Error(), c.wants)) {
			t.Errorf("%+v: %v", c.install, err)
		}
	}
	t.Setenv("PATH", filepath.Dir(program(t)))
	if err := d.Check(t.Context(), contract.Role{}); err != nil {
		t.Error(err)
	}
}

// program is some program of the name chef-solo.
func program(t *testing.T) string {
	t.Helper()
	path := put(t, t.TempDir(), "chef-solo", "#!/bin/sh\n")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
