package binding_test

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// The servers and stacks that the cases read from, and the files that they use.
const (
	around = `heat_template_version: 2018-08-31
parameters:
  open: {type: string}
  given: {type: string}
  there: {type: boolean}
conditions: {there: {get_param: there}}
resources:
  db:
    type: OS::Nova::Server
    properties: {image: i, flavor: f, networks: [{network: n}]}
    metadata: {hotc: {roles: [{name: r, driver: script, source: 'true', outputs: {url: {}, port: {value: 80}}}]}}
  perhaps:
    type: OS::Nova::Server
    condition: there
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: 'true', outputs: {url: {}}}]}}
  net: {type: OS::Neutron::Net}
  tier: {type: tier.yaml, properties: {word: {get_attr: [db, url]}, other: {get_resource: net}}}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: tier.yaml, properties: {word: w%index%, other: o}}}
  reader:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: 'true', inputs: {in: INPUT}}]}}
`
	tier = `heat_template_version: 2018-08-31
parameters: {word: {type: string}, other: {type: string}}
resources:
  s:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: 'true', inputs: {word: {get_param: word}}, outputs: {x: {}}}]}}
outputs:
  x: {value: {get_attr: [s, x]}}
  word: {value: {get_param: word}}
  other: {value: {get_param: other}}
`
)

func analysed(t *testing.T, input string, options binding.Options) (*program.Program, *binding.Analysis, []*source.Diagnostic) {
	t.Helper()
	files := map[string]string{"main.yaml": strings.ReplaceAll(around, "INPUT", input), "tier.yaml": tier}
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("main.yaml", []byte(files["main.yaml"])), &diags)
	read := func(path string) ([]byte, error) {
		if text, ok := files[filepath.Base(path)]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
	p := program.New(template, &program.Supplied{Parameters: map[string]value.Value{"given": "known"}, ReadFile: read}, roles.FrontEnd([]driver.Driver{script.Driver}))
	nesting.Load(p, nesting.Options{Environment: &environment.Environment{Registry: &environment.Registry{}}, Read: read, MaxDepth: 5, MaxResources: 1000}, &diags)
	p.Lower(&diags)
	return p, binding.Analyse(p, options, &diags), diags.All()
}

// What an input is bound to: its time, its residual, and its prerequisites.
func TestInputs(t *testing.T) {
	for _, c := range []struct {
		name, input string
		time        contract.Time
		left        string
		needs       []string
		facts       []contract.Fact // of all servers
	}{
		{"a value", "5", contract.Static, `5`, nil, nil},
		{"a supplied parameter", "{get_param: given}", contract.Static, `"known"`, []string{""}, nil},
		{"an open parameter", "{get_param: open}", contract.Deploy, `{"get_param":"open"}`, []string{"parameter open"}, nil},
		{"bound late", "{value: {get_param: given}, bind: deploy}", contract.Deploy, `{"get_param":"given"}`, []string{"parameter given"}, nil},
		{"a role's output", "{get_attr: [db, url]}", contract.Run, `{"$cell":"db.r:url"}`, []string{"role db.r"}, nil},
		{"a part of it", "{get_attr: [db, url, k, 0]}", contract.Run, `{"$cell":["db.r:url","k",0]}`, []string{"role db.r"}, nil},
		{"one with a value", "{get_attr: [db, port]}", contract.Static, `80`, []string{""}, nil},
		{"a fact", "{get_attr: [db, first_address]}", contract.Run, `{"$cell":"db:first_address"}`, []string{"server db"}, []contract.Fact{"first_address"}},
		{"an attribute of Heat's", "{get_attr: [db, tags]}", contract.Deploy, `{"get_attr":["db","tags"]}`, []string{"resource db"}, nil},
		{"an attribute that is computed", "{get_attr: [net, {get_param: open}]}", contract.Deploy, `{"get_attr":["net",{"get_param":"open"}]}`, []string{"parameter open", "resource net"}, nil},
		{"a server that may not exist", "{get_attr: [perhaps, url]}", contract.Run, `{"if":[{"get_param":"there"},{"$cell":"perhaps.r:url"},{"$absent":"this value does not exist: the condition \"there\" of \"perhaps\" is false"}]}`,
			[]string{"role perhaps.r", ""}, nil},
		{"an output of a nested stack", "{get_attr: [tier, x]}", contract.Run, `{"$cell":"tier/s.r:x"}`, []string{"role tier/s.r"}, nil},
		{"its argument", "{get_attr: [tier, word]}", contract.Run, `{"$cell":"db.r:url"}`, []string{"role db.r"}, nil},
		{"an argument that Heat knows", "{get_attr: [tier, other]}", contract.Deploy, `{"get_attr":["tier","other"]}`, []string{"resource tier"}, nil},
		{"the members of a group", "{get_attr: [group, x]}", contract.Run, `[{"$cell":"group/0/s.r:x"},{"$cell":"group/1/s.r:x"}]`, []string{"role group/0/s.r", "role group/1/s.r"}, nil},
		{"by name", "{get_attr: [group, attributes, x]}", contract.Run, `{"0":{"$cell":"group/0/s.r:x"},"1":{"$cell":"group/1/s.r:x"}}`, []string{"role group/0/s.r", "role group/1/s.r"}, nil},
		{"one of them", "{get_attr: [group, resource.1.x]}", contract.Run, `{"$cell":"group/1/s.r:x"}`, []string{"role group/1/s.r"}, nil},
		{"the members' arguments", "{get_attr: [group, word]}", contract.Static, `["w0","w1"]`, []string{"", ""}, nil},
		{"a group's own", "{get_attr: [group, refs]}", contract.Deploy, `{"get_attr":["group","refs"]}`, []string{"resource group"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, a, said := analysed(t, c.input, binding.Options{})
			if len(said) > 0 {
				t.Fatal(said)
			}
			bound := a.Inputs[p.Server("reader").Roles[0].Inputs[0]]
			var needs []string
			for _, r := range bound.References {
				needs = append(needs, r.Needs)
			}
			if left := string(value.EncodeJSON(binding.Written(bound.Expr))); bound.Time != c.time || left != c.left {
				t.Errorf("%s: %s, want %s: %s", bound.Time, left, c.time, c.left)
			}
			if diff := cmp.Diff(c.needs, needs); diff != "" {
				t.Errorf("what it needs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.facts, slices.Concat(slices.Collect(maps.Values(a.Facts))...)); diff != "" {
				t.Errorf("facts that are published (-want +got):\n%s", diff)
			}
		})
	}
}

// Facts come from Heat if the user asks for it, and then none is published.
func TestFactsFromHeat(t *testing.T) {
	p, a, _ := analysed(t, "{get_attr: [db, first_address]}", binding.Options{Facts: binding.FactsFromHeat})
	if bound := a.Inputs[p.Server("reader").Roles[0].Inputs[0]]; bound.Time != contract.Deploy || len(a.Facts) > 0 {
		t.Errorf("%s, facts %v", bound.Time, a.Facts)
	}
}

// A dry run has no effects: a parameter whose value decides nothing is not
// pinned, one that an input holds is.
func TestOnlyWhatIsUsedIsPinned(t *testing.T) {
	for input, want := range map[string]bool{"{get_param: given}": true, "{value: {get_param: given}, bind: deploy}": false, "{get_param: open}": false} {
		p, _, _ := analysed(t, input, binding.Options{})
		if got := p.Supplied.Used("given"); got != want {
			t.Errorf("%s: pinned %v, want %v", input, got, want)
		}
	}
}

// Unknown names are reported once, at their place.
func TestNamesThatLeadNowhere(t *testing.T) {
	for input, want := range map[string]string{
		"{get_attr: [db, ulr]}":                        `no role of server "db" declares an output "ulr", and it is not an attribute of a server`,
		"{get_attr: [bd, url]}":                        `there is no resource "bd"`,
		"{get_param: opne}":                            `there is no parameter "opne"`,
		"{get_attr: [tier, y]}":                        `the nested template tier.yaml has no output "y"`,
		"{get_attr: [group, resource.2.x]}":            `the group "group" has no member "2"`,
		"{value: {get_attr: [db, url]}, bind: deploy}": "input in cannot be bound at deploy time: it needs a value that is known only at run time",
	} {
		_, _, said := analysed(t, input, binding.Options{})
		if len(said) != 1 || said[0].Message != want || said[0].At.File.Name != "main.yaml" {
			t.Errorf("%s: %v, want %s", input, said, want)
		}
	}
}
