package puppet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/puppet"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// unused are the inputs that are said to be unread, and the outputs to be unwritten, of
// a source with some files beside it.
func unused(t *testing.T, src, inputs, outputs string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var diags source.Diagnostics
	role := driver.Role{Name: "app", Reader: beside(dir), Locate: func(...string) source.Place { return source.Place{} }, FileOf: func(...string) string { return "" },
		Source: yaml.Parse(source.NewFile("x.yaml", []byte(src)), &diags).Data()}
	for _, name := range strings.Fields(inputs) {
		role.Inputs = append(role.Inputs, &program.Input{Name: name})
	}
	for _, name := range strings.Fields(outputs) {
		name, resource, _ := strings.Cut(name, "=")
		role.Outputs = append(role.Outputs, &program.Output{Name: name, Resource: resource})
	}
	meaning := puppet.Driver.Lower(role, &diags)
	if diags.Failed() {
		t.Fatal(diags.All()[0])
	}
	var found []string
	for _, in := range role.Inputs {
		if meant, is := meaning.Sequence.Unread[in.Name]; is {
			found = append(found, strings.TrimSuffix(in.Name+"="+meant, "="))
		}
	}
	for _, o := range role.Outputs {
		if meant, is := meaning.Sequence.Unwritten[o.Name]; is {
			found = append(found, strings.TrimSuffix(o.Name+"="+meant, "="))
		}
	}
	return strings.Join(found, " ")
}

// What no manifest mentions is unused. Where names are put together nothing is said.
func TestUnused(t *testing.T) {
	for manifest, want := range map[string]string{
		"notice($database)":                            "databse=database prot up web",
		"notice($databse) $prot = 1":                   "up web",
		"$port = lookup('database')":                   "databse=database prot=port up web",
		"class { 'app::web': } class App::Web { }":     "databse prot up",
		"service { $x: ensure => running }":            "databse prot web",
		"create_resources($type, $all)":                "databse prot web",
		"ensure_packages(['x'])":                       "databse prot web",
		"Resource[$type] { 'x': }":                     "databse prot web",
		"notice($facts.dig('os', 'family'))":           "databse prot up web",
		"notice($facts.get($x))":                       "up web",
		"notice($facts['os']['family'])":               "databse prot up web",
		"# a class, class app::web, is in the comment": "databse prot up",
		// names that are put together
		"notice(lookup(\"${x}_url\"))":              "up web",
		"notice(lookup($x))":                        "up web",
		"notice(lookup({'name' => $x}))":            "up web",
		"notice($x.lookup)":                         "up web",
		"notice(Deferred('lookup', [$x]))":          "up web",
		"notice(hiera \"%{x}\")":                    "up web",
		"notice(getvar($x))":                        "up web",
		"$facts.each |$k, $v| { notice($v) }":       "up web",
		"notice($facts[$x])":                        "up web",
		"notice($facts + {})":                       "up web",
		"notice(inline_template('<%= scope[x]%>'))": "up web",
	} {
		src := fmt.Sprintf("{manifest: %q}", manifest)
		if got := unused(t, src, "databse", "prot up=Service[x] web=Class[app::web] file=File[/x] facts.x.y", nil); got != want {
			t.Errorf("%s\n gives %s\n want  %s", manifest, got, want)
		}
	}
}

// Whatever is read on the server counts, too; what the server fetches may hold anything.
func TestUnusedAnywhere(t *testing.T) {
	const src = "{manifest: 'include blog', modulepath: modules, hiera: hiera}"
	files := map[string]string{"modules/blog/manifests/init.pp": "class blog($title) {}", "hiera/hiera.yaml": "version: 5", "hiera/data/common.yaml": "blog::title: x"}
	if got := unused(t, src, "blog::db_url title_of", "blog::site", files); got != "blog::db_url title_of blog::site" {
		t.Fatal(got)
	}
	for name, text := range map[string]string{
		"modules/blog/templates/a.erb":    "<%= @db_url %> site",
		"modules/blog/templates/b.epp":    "<%= $db_url %> site",
		"modules/blog/templates/c.erb":    "<%= scope[name] %>",
		"modules/blog/lib/f.rb":           "call_function('lookup', x)",
		"hiera/data/db_url.yaml":          "site: 1",
		"hiera/data/more.yaml":            "x: '%{db_url} %{site}'",
		"hiera/data/all.yaml":             "x: '%{facts}'",
		"hiera/hiera.yaml":                "version: 5\nhierarchy: [{name: x, datadir: /etc/hiera}]",
		"modules/blog/manifests/vars.pp":  "class blog::vars { $x = getvar(\"blog::${n}\") }",
		"modules/other/manifests/init.pp": "class other($db_url) { $site = 1 }",
	} {
		more := map[string]string{}
		for n, text := range files {
			more[n] = text
		}
		more[name] = text
		if got := unused(t, src, "blog::db_url", "blog::site", more); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, src := range []string{
		"{manifest: 'include blog', modules: {blog: {url: 'https://x.org/blog.tgz', sha256: " + strings.Repeat("ab", 32) + "}}}",
		"{manifest: 'include blog', modulepath: {git: 'https://x.org/a.git', tag: v1}}",
		"{classes: [blog]}",
	} {
		if got := unused(t, src, "db_url", "site", nil); got != "" {
			t.Errorf("%s: %s", src, got)
		}
	}
}
