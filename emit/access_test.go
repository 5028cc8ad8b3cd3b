package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hotc-dev/hotc/emit"
)

// around is a template with what it names, in and out of its folder.
func around(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"secret.sh": "#!/bin/sh\necho secret\n", "books/recipe.rb": "1\n", "in/inner.sh": "#!/bin/sh\necho inner\n", "in/env.yaml": "parameters: {}\n",
		"env.yaml": "resource_registry: {A::B: types/b.yaml}\n", "types/b.yaml": "heat_template_version: 2018-08-31\n", "in/books/a/recipes/default.rb": "1\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"in/out.sh": "../secret.sh", "in/within.sh": "inner.sh", "in/outside": "../books", "in/linked.yaml": "../env.yaml", "in/books/a/recipes/far.rb": "/proc/self/environ"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "in/pipe.sh"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// role is a template with a server whose role has a source.
func role(source string) string {
	return `heat_template_version: 2018-08-31
resources:
  db:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata:
      hotc:
        roles:
          - {name: r, ` + source + `}
`
}

// What is not stored in a file is never read: it would end in the plan, or never end.
func TestReadsOnlyWhatIsStored(t *testing.T) {
	dir := around(t)
	for _, name := range []string{"/proc/self/environ", "/sys/kernel/mm/transparent_hugepage/enabled", "/dev/zero", "/dev/null", "pipe.sh", "books"} {
		o := options(filepath.Join(dir, "in/site.yaml"))
		for _, text := range []string{role(`driver: script, source: {get_file: "` + name + `"}`),
			"heat_template_version: 2018-08-31\nresources: {a: {type: OS::Heat::Value, properties: {value: {get_file: '" + name + "'}}}}\n"} {
			o.Text = []byte(text)
			if r, found := compile(t, o); r != nil || !strings.Contains(found, "error[H101]") {
				t.Errorf("%s: %s", name, found)
			}
		}
	}
	o := options(filepath.Join(dir, "in/site.yaml"))
	o.Text = []byte(role("driver: chef, source: {cookbooks: /proc/self, run_list: [net]}"))
	if r, found := compile(t, o); r != nil || !strings.Contains(found, "error[") {
		t.Error(found)
	}
}

// Of a stranger's template nothing is read that lies elsewhere, by whatever way it is
// named.
func TestConfined(t *testing.T) {
	dir := around(t)
	template := filepath.Join(dir, "in/site.yaml")
	registry := func(name string) string {
		return "heat_template_version: 2018-08-31\nresources: {a: {type: " + name + "}}\n"
	}
	for _, c := range []struct{ text, env, want string }{
		{text: role("driver: script, source: {get_file: ../secret.sh}"), want: "outside the template's folder"},
		{text: role("driver: script, source: {get_file: 'file://" + dir + "/secret.sh'}"), want: "outside the template's folder"},
		{text: role("driver: script, source: {get_file: " + dir + "/secret.sh}"), want: "outside the template's folder"},
		{text: role("driver: script, source: {get_file: books/../../secret.sh}"), want: "outside the template's folder"},
		{text: role("driver: script, source: {get_file: out.sh}"), want: "a link leads out of the folder"},
		{text: role("driver: chef, source: {cookbooks: ../books, run_list: [recipe]}"), want: "outside the template's folder"},
		{text: role("driver: chef, source: {cookbooks: outside, run_list: [recipe]}"), want: "a link leads out of the folder"},
		{text: role("driver: chef, source: {cookbooks: books, run_list: [a]}"), want: "outside the folder"},
		{text: role("driver: script, source: {get_file: inner.sh}, files: {/a: {get_file: ../secret.sh}}"), want: "outside the template's folder"},
		{text: registry("../types/b.yaml"), want: "outside the template's folder"},
		{text: registry("A::B"), env: filepath.Join(dir, "env.yaml"), want: "outside the template's folder"},
		{text: registry("A::B"), env: filepath.Join(dir, "in/linked.yaml"), want: "a link leads out of the folder"},
		{text: "heat_template_version: 2018-08-31\nresources: {a: {type: OS::Heat::Value, properties: {value: {get_file: out.sh}}}}\n", want: "a link leads out of the folder"},
		{text: role("driver: script, source: {get_file: within.sh}"), env: filepath.Join(dir, "in/env.yaml")},
	} {
		o := options(template)
		o.Text = []byte(c.text)
		if c.env != "" {
			o.Environments = []string{c.env}
		}
		access, err := emit.Confine(template, o.Environments)
		if err != nil {
			t.Fatal(err)
		}
		o.Access = access
		switch r, found := compile(t, o); {
		case c.want == "" && r == nil:
			t.Errorf("%s: %s", c.text, found)
		case c.want != "" && (r != nil || !strings.Contains(found, c.want)):
			t.Errorf("%s: not %q: %s", c.text, c.want, found)
		}
	}
	if err := os.Symlink("../secret.sh", template); err != nil {
		t.Fatal(err)
	}
	o := options(template)
	o.Access, _ = emit.Confine(template, nil)
	if r, found := compile(t, o); r != nil || !strings.Contains(found, "a link leads out of the folder") {
		t.Errorf("the template itself: %s", found)
	}
	t.Chdir(dir)
	if err := os.Symlink("/etc", "in/etc"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"in/etc", "./in/etc", filepath.Join(dir, "in/etc"), dir + "/in/../in/etc/", filepath.Join("..", filepath.Base(dir), "in/etc")} {
		if _, err := emit.Confine(name+"/site.yaml", nil); err == nil {
			t.Errorf("the template's folder %s is a link that leads away from the working directory", name)
		}
		if _, err := emit.ConfineTo(name, nil); err == nil {
			t.Errorf("the folder %s is a link that leads away from the working directory", name)
		}
	}
	t.Chdir(t.TempDir())
	if _, err := emit.ConfineTo(dir+"/in/etc/", nil); err == nil || !strings.Contains(err.Error(), "name the folder that it leads to") {
		t.Errorf("the folder is a link elsewhere: %v", err)
	}
	if _, err := emit.ConfineTo(filepath.Join(dir, "in"), nil); err != nil {
		t.Errorf("a folder elsewhere: %v", err)
	}
}

// A stranger's template has no more read than so much.
func TestConfinedReadsSoMuch(t *testing.T) {
	dir := around(t)
	if err := os.Truncate(filepath.Join(dir, "in/inner.sh"), 20<<20); err != nil {
		t.Fatal(err)
	}
	o := options(filepath.Join(dir, "in/site.yaml"))
	o.Access, _ = emit.Confine(o.Template, nil)
	o.Text = []byte(role("driver: script, source: {get_file: inner.sh}"))
	for _, name := range []string{"a", "b", "c"} {
		o.Text = append(o.Text, "          - {name: "+name+", driver: script, source: {get_file: inner.sh}}\n"...)
	}
	if r, found := compile(t, o); r != nil || !strings.Contains(found, "more than 64 MiB would be read") {
		t.Error(found)
	}
}
