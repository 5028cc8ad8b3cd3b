package emit_test

import (
	"fmt"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/frontend/frontendtest"
	"github.com/hotc-dev/hotc/compiler/program"
)

// No package of analysis or emit but one file imports a front-end.
func TestNobodyKnowsAFrontEnd(t *testing.T) {
	for _, root := range []string{"../analysis", "."} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || path == "frontends.go" {
				return err
			}
			file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, x := range file.Imports {
				if strings.Contains(x.Path.Value, "/compiler/frontend/") {
					t.Errorf("%s imports %s: what it asks has to be a value of the program (compiler/program/frontend.go)", path, x.Path.Value)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A front-end that is unlike the metadata block lowers a resource of its own into a role on a server
// that the resource names, and nothing but its own folder knows it.
func TestFrontEndOfOneResourceType(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("tier.yaml", `heat_template_version: 2018-08-31
parameters: {server: {type: string}, word: {type: string}}
resources:
  net: {type: OS::Neutron::Net}
  probe:
    type: Stub::Script
    properties: {server: {get_param: server}, script: echo "$WORD" | hotc-agent put seen, inputs: {WORD: {get_param: word}}, outputs: [seen]}
outputs:
  seen: {value: {get_attr: [probe, seen]}}
`)
	main := write("main.yaml", `heat_template_version: 2018-08-31
resources:
  install: # of the application
    type: Stub::Script
    properties:
      server: {get_resource: app}
      script: printf "http://$PEER" | hotc-agent put url
      inputs: {PEER: {get_attr: [db, first_address]}}
      outputs: [url]
  app: {type: OS::Nova::Server, properties: {image: i, flavor: f}}
  db:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: mysql, depends_on: app.probe, driver: script, source: echo "$site", inputs: {site: {get_attr: [install, url]}}}]}}
  tier: {type: tier.yaml, properties: {server: {get_resource: app}, word: {get_attr: [install, url]}}}
  volume: {type: OS::Cinder::Volume, properties: {size: 1, description: {get_attr: [install, url]}}, depends_on: verify}
  verify:
    type: Stub::Script
    properties: {server: {get_resource: db}, script: echo "$seen", inputs: {seen: {get_attr: [tier, seen]}}}
outputs:
  url: {value: {get_attr: [install, url]}}
`)
	o := options(main)
	o.FrontEnds = []*program.FrontEnd{frontendtest.FrontEnd()}
	r, said := compile(t, o)
	if r == nil {
		t.Fatal(said)
	}
	var got strings.Builder
	for _, s := range r.Built.Plan.Servers {
		fmt.Fprintf(&got, "%s facts %v\n", s.Path, s.Facts)
		for _, role := range s.Roles {
			fmt.Fprintf(&got, "  %s", role.Name)
			for _, in := range role.Inputs {
				fmt.Fprintf(&got, " %s=%s", in.Name, in.Expr)
			}
			for _, d := range role.DependsOn {
				fmt.Fprintf(&got, " after %s", d.Cell)
			}
			got.WriteString("\n")
		}
	}
	for _, name := range []string{"stack.yaml", "tier.yaml"} {
		fmt.Fprintf(&got, "--- %s\n%s", name, r.Folder[name])
	}
	golden(t, "testdata/frontend.out", []byte(got.String()+said))
}

// What cannot be said of such a resource is an error, not a reference to what Heat does not make.
func TestFrontEndRefuses(t *testing.T) {
	const head = `heat_template_version: 2018-08-31
resources:
  app: {type: OS::Nova::Server, properties: {image: i, flavor: f}}
  install: {type: Stub::Script, properties: {server: {get_resource: app}, script: echo 1 | hotc-agent put url, outputs: [url]}}
  net: {type: OS::Neutron::Net, properties: {name: `
	for text, want := range map[string]string{
		"{get_resource: install}": `"install" has no id`, "{get_attr: [install, uri]}": `"install" writes no "uri"`,
	} {
		path := filepath.Join(t.TempDir(), "main.yaml")
		if err := os.WriteFile(path, []byte(head+text+"}}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := options(path)
		o.FrontEnds = []*program.FrontEnd{frontendtest.FrontEnd()}
		if r, said := compile(t, o); r != nil || !strings.Contains(said, want) {
			t.Errorf("%s: %s", text, said)
		}
	}
}
