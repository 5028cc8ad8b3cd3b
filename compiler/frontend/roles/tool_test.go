package roles_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// tool is a driver of a tool with resources, from packages or a URL.
var tool = driver.Driver{Name: "tool", InstallsFrom: []string{"packages", "url"},
	Lower: func(r driver.Role, diags *source.Diagnostics) *program.Meaning {
		if o := r.Origin(r.Source, diags); o != nil {
			return &program.Meaning{Source: o.Value, Files: o.Files}
		}
		return nil
	},
	CheckResource: func(name string) error {
		if !strings.Contains(name, "[") {
			return errors.New("a resource is written type[title]")
		}
		return nil
	}}

// bare is a driver of a tool without any of that.
var bare = driver.Driver{Name: "bare", Lower: tool.Lower}

// given are not files, and folders with one.
func given() *program.Supplied {
	return &program.Supplied{
		ReadFile: func(name string) ([]byte, error) { return nil, fs.ErrNotExist },
		OpenFolder: func(name string) (fs.FS, error) {
			if name == "none" {
				return nil, &source.Diagnostic{Code: source.CannotRead, Message: "cannot read none: no such file or directory"}
			}
			return fstest.MapFS{"site.pp": {Data: []byte("notice('x')")}}, nil
		}}
}

// lower reads the roles of a server.
func lower(t *testing.T, block string) (*program.Server, *source.Diagnostics) {
	t.Helper()
	text := "heat_template_version: 2018-08-31\nresources:\n  s:\n    type: OS::Nova::Server\n    metadata:\n      hotc: " + block + "\n"
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("x.yaml", []byte(text)), &diags)
	if diags.Failed() {
		t.Fatal(diags.All()[0])
	}
	p := program.New(template, given(), roles.FrontEnd([]driver.Driver{tool, bare}))
	p.Lower(&diags)
	return p.Server("s"), &diags
}

func TestInstallAndResources(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	fromURL := `url: "https://x.org/t.deb", sha256: ` + sum
	for _, c := range []struct{ role, want string }{
		{`install: {version: 7, proxy: "http://p:3128"}`, `{7    http://p:3128 }`},
		{`install: {version: "7.10", from: packages}`, `{7.10 packages    }`},
		{`install: {version: ">=7.2", ` + fromURL + `}`, `{>=7.2 url https://x.org/t.deb ` + sum + `  }`},
		{`install: {from: none}`, `{ none    }`},
		{`install: {licence: accept}`, `{     accept}`},
		{`outputs: {up: {resource: "service[x]"}}`, `{     } up=service[x]:boolean`},
		{`outputs: {up: {resource: "service[x]", type: boolean}}`, `{     } up=service[x]:boolean`},

		{`install: {version: 7.10}`, `a version with a dot must be quoted`},
		{`install: {version: "x"}`, `"x" is not a valid version`},
		{`install: {version: "7 --force"}`, `"7 --force" is not a valid version`},
		{`install: {from: gem}`, `the tool driver's tool cannot be installed from "gem"`},
		{`install: {from: url}`, `installing a tool from a URL requires url and sha256`},
		{`install: {url: "https://x.org/t.deb"}`, `installing a tool from a URL requires url and sha256`},
		{`install: {from: packages, ` + fromURL + `}`, "url and sha256 require `from: url`"},
		{`install: {url: "file:///t.deb", sha256: ` + sum + `}`, `"file:///t.deb" is not a URL`},
		{`install: {proxy: "p:3128"}`, `the proxy: "p:3128" is not a URL`},
		{`driver: bare, install: {version: 7}`, `the bare driver has no tool to install`},
		{`outputs: {up: {resource: x}}`, `output "up": a resource is written type[title]`},
		{`outputs: {up: {resource: "x[y]", value: 1}}`, `output "up" cannot have both a value and a resource`},
		{`outputs: {up: {resource: "x[y]", type: number}}`, `output "up" is a resource's completion, which is a boolean`},
		{`driver: bare, outputs: {up: {resource: "x[y]"}}`, `output "up" cannot be a resource's completion: the bare driver has no resources`},
	} {
		s, diags := lower(t, `{defaults: {driver: tool, source: x}, roles: [{name: r, `+c.role+`}]}`)
		got := ""
		if diags.Failed() {
			got = diags.All()[0].Message
		} else {
			got = fmt.Sprint(s.Roles[0].Install)
			for _, o := range s.Roles[0].Outputs {
				got += " " + o.Name + "=" + o.Resource + ":" + string(o.Type)
			}
		}
		if got != c.want && !(diags.Failed() && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s\n got %s\nwant %s", c.role, got, c.want)
		}
	}
}

func TestDefaultsOfAnInstallation(t *testing.T) {
	s, diags := lower(t, `{defaults: {driver: tool, source: x, install: {version: 7}}, roles: [a, {name: b, install: {version: 8}}, {name: c, driver: bare}]}`)
	if diags.Failed() {
		t.Fatal(diags.All()[0])
	}
	var got []string
	for _, r := range s.Roles {
		got = append(got, r.Name+r.Install.Version)
	}
	if all := strings.Join(got, " "); all != "a7 b8 c" {
		t.Error(all)
	}
}

func TestASourceThatCannotBeRead(t *testing.T) {
	_, diags := lower(t, `{roles: [{name: r, driver: tool, source: none}]}`)
	if !diags.Failed() || !strings.Contains(diags.All()[0].Error(), "x.yaml:6:54: error[H101]: cannot read none: no such file or directory") {
		t.Error(diags.All())
	}
}
