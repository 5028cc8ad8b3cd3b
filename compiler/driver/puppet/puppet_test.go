package puppet_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/puppet"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// beside reads from a folder.
type beside string

func (b beside) File(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(b), name))
}

func (b beside) Folder(name string) (fs.FS, error) {
	return os.DirFS(filepath.Join(string(b), name)), nil
}

// lower is a source, as YAML, with inputs and outputs: names, or names of outputs and
// their resources.
func lower(t *testing.T, text string, inputs, outputs []string) (*program.Meaning, *source.Diagnostics) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"modules/app/manifests/init.pp", "hiera/hiera.yaml", "data/common.yaml", "manifests/site.pp"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var diags source.Diagnostics
	role := driver.Role{Name: "app", Reader: beside(dir), Locate: func(...string) source.Place { return source.Place{} }, FileOf: func(...string) string { return "" }}
	if text != "" {
		role.Source = yaml.Parse(source.NewFile("x.yaml", []byte(text)), &diags).Data()
	}
	for _, name := range inputs {
		role.Inputs = append(role.Inputs, &program.Input{Name: name})
	}
	for _, name := range outputs {
		name, resource, _ := strings.Cut(name, "=")
		role.Outputs = append(role.Outputs, &program.Output{Name: name, Resource: resource})
	}
	return puppet.Driver.Lower(role, &diags), &diags
}

func TestWhatASourceMeans(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for _, c := range []struct{ text, want string }{
		{`"notify { 'x': }"`, `{"manifest":{"text":"D0","name":"app.pp"}} app.pp`},
		{`{manifest: "include x"}`, `{"manifest":{"text":"D0","name":"app.pp"}} app.pp`},
		{`{manifest: {folder: manifests}}`, `{"manifest":{"file":"D0"}} manifests/`},
		{`{environment: {git: "https://x.org/control.git", tag: v1}}`, `{"environment":{"git":"https://x.org/control.git","tag":"v1"}}`},
		{`{classes: [app], hiera: hiera, modulepath: modules}`, `{"classes":["app"],"hiera":{"file":"D0"},"modulepath":[{"file":"D1"}]} hiera/ modules/`},
		{`{classes: ["app::web"], modules: {app: {url: "https://x.org/a.tgz", sha256: ` + sum + `}}}`,
			`{"classes":["app::web"],"modules":{"app":{"url":"https://x.org/a.tgz","sha256":"` + sum + `"}}}`},
		{`{classes: [app], settings: {strict: error, show_diff: true}}`, `{"classes":["app"],"settings":{"strict":"error","show_diff":true}}`},

		{``, `role "app" has no source: the puppet driver needs a manifest, an environment or classes`},
		{`[a]`, `the source of role "app" must be a manifest's text or a map, not a list`},
		{`" "`, `the manifest of role "app" is empty`},
		{`site.pp`, `the manifest of role "app" is the string "site.pp", a file's name: ` + "write `{get_file: site.pp}` for its content, or `{manifest: {folder: site.pp}}` for a folder of manifests"},
		{`./manifests`, `the manifest of role "app" is the string "./manifests", a file's name: ` + "write `{get_file: ./manifests}` for its content, or `{manifest: {folder: ./manifests}}` for a folder of manifests"},
		{`{modulepath: modules}`, `the source of role "app" has nothing to apply: no manifest, no environment and no classes`},
		{`{manifests: x, classes: [x]}`, `the source of role "app" has a key "manifests", which is unknown to the puppet driver`},
		{`{manifest: [x]}`, `the manifest of role "app" must be a string or an origin of files, not a list`},
		{`{environment: modules, hiera: hiera}`, `hiera and environment exclude each other: an environment has its own hiera.yaml`},
		{`{classes: [app], hiera: data}`, `the hiera folder has no hiera.yaml, which defines where its data are`},
		{`{classes: app}`, `classes must be a list of class names`},
		{`{classes: [App]}`, `"App" is not a valid class name, such as apache or apache::mod::ssl`},
		{`{classes: [app], modules: modules}`, `modules must be a map from a module's name to its origin, not a string; use modulepath for folders of modules`},
		{`{classes: [app], modules: {puppetlabs-app: modules}}`, `"puppetlabs-app" is not a valid module name`},
		{`{classes: [app], modules: {app: {tag: x}}}`, `source.modules.app of role "app": a map needs one of the keys folder, url and git`},
		{`{classes: [app], settings: {vardir: /x}}`, `the agent controls Puppet's setting "vardir": the role's inputs and outputs depend on it`},
		{`{classes: [app], settings: {"a = b": c}}`, `"a = b" is not a valid puppet.conf setting`},
		{`{classes: [app], settings: {certname: "x\n[agent]"}}`, `"certname" is not a valid puppet.conf setting`},
	} {
		m, diags := lower(t, c.text, nil, nil)
		got := ""
		if m == nil {
			got = diags.All()[0].Message
		} else {
			m.Source.(*value.Dict).Set("outputs", nil)
			got = strings.TrimSuffix(string(value.EncodeJSON(m.Source)), `,"outputs":null}`) + "}"
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
		{"db_url app::url app::web::url Odd-key", "endpoint app::port", `{"endpoint":{"variable":"endpoint"},"app::port":{"variable":"app::port"}}`},
		{"", "facts.os.name up=Service['my.sql'] all=Class[app::web]", `{"facts.os.name":{"fact":"os.name"},"up":{"resource":"Service[my.sql]"},"all":{"resource":"Class[app::web]"}}`},
		{"$db_url", "", `input "$db_url" of role "app": write it without $`},
		{"::db_url", "", `input "::db_url" of role "app": write it without ::`},
		{"facts", "", `input "facts" of role "app": Puppet itself sets that variable`},
		{"db.url", "", "input \"db.url\" of role \"app\": a dot selects a part of a Hiera value: declare the whole as `db`, a map"},
		{"", "::endpoint", `output "::endpoint" of role "app": write it without ::`},
		{"", "title", `output "title" of role "app": Puppet itself sets that variable`},
		{"", "End-point", `output "End-point" of role "app": not a valid variable name`},
		{"", "a.b", `output "a.b" of role "app": not a valid variable name`},
	} {
		m, diags := lower(t, "include x", strings.Fields(c.inputs), strings.Fields(c.outputs))
		got := ""
		if m == nil {
			got = diags.All()[0].Message
		} else {
			outputs, _ := m.Source.(*value.Dict).Get("outputs")
			got = string(value.EncodeJSON(outputs))
		}
		if got != c.want {
			t.Errorf("%s; %s\n gives %s\n want  %s", c.inputs, c.outputs, got, c.want)
		}
	}
}

func TestReferences(t *testing.T) {
	for name, want := range map[string]string{
		"Service[mysql]":   "",
		"Class[mysql::x]":  "",
		"Mysql::Db['a b']": "",
		"service[mysql]":   `write the resource "service[mysql]" as "Service[mysql]", as in Puppet`,
		"mysql::db[blog]":  `write the resource "mysql::db[blog]" as "Mysql::Db[blog]", as in Puppet`,
		"mysql":            `"mysql" is not a resource reference, such as "Service[mysql]" or "Class[mysql::server]"`,
		"Service[]":        `"Service[]" is not a resource reference, such as "Service[mysql]" or "Class[mysql::server]"`,
	} {
		got := ""
		if err := puppet.Driver.CheckResource(name); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A catalog is compiled before it is applied.
func TestSequence(t *testing.T) {
	m, diags := lower(t, "{manifest: {git: \"git@x.org:a.git\", tag: v1, ssh_key: {input: key}}}", []string{"url", "key", "app::port"},
		[]string{"up=Service[app]", "endpoint", "facts.os", "app::url"})
	if m == nil {
		t.Fatal(diags.All()[0].Message)
	}
	var got []string
	for _, s := range m.Sequence.Steps {
		switch s.Op {
		case program.AnyOrder:
			var names []string
			for _, inner := range s.Ways[0] {
				names = append(names, inner.Name)
			}
			got = append(got, "{"+strings.Join(names, " ")+"}")
		default:
			got = append(got, s.Name)
		}
	}
	if want := "key {url app::port endpoint app::url} {up} {facts.os}"; strings.Join(got, " ") != want || !m.Sequence.Complete {
		t.Errorf("%s, want %s", got, want)
	}
}
