package emit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// bootValues answers what a server's plan leaves open: deploy-time values from its
// boot file, and the one role's output.
type bootValues struct{ deploy map[string]json.RawMessage }

func (b bootValues) Cell(contract.CellName) (json.RawMessage, error) {
	return json.RawMessage(`"u"`), nil
}
func (b bootValues) Deploy(key string) (json.RawMessage, error) { return b.deploy[key], nil }

// A branch that Heat decides is not looked at if it is not taken, though the other one
// needs what a role writes: neither what is not there nor what the version has lost.
func TestOpenBranches(t *testing.T) {
	const template = "testdata/edits/open-branches.yaml"
	r, found := compile(t, options(template))
	if r == nil {
		t.Fatal(found)
	}
	dir := folderOf(t, r)
	for _, c := range []struct {
		tls  bool
		x    string
		want map[string]string
	}{
		{true, "a", map[string]string{"there": `"founda"`, "removed": `"u"`, "both": `[null,"u"]`}},
		{false, "a", map[string]string{"there": `"u"`, "removed": `"u"`, "both": `"u"`}},
		{true, "b", map[string]string{"there": `"foundb"`, "removed": `"u"`, "both": `"b"`}},
	} {
		in := heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret, "tls": c.tls, "x": c.x}}
		var boot struct{ Deploy map[string]json.RawMessage }
		for _, s := range stockHeat.Oracle(t).Create(t, "site", in).Servers(t, 2) {
			if s.Path == "web" {
				if err := json.Unmarshal([]byte(bootFile(t, s.NovaUserData)), &boot); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, in := range serverOf(t, r.Built.Plan, "web").Roles[0].Inputs {
			if got := evaluated(t, in, bootValues{boot.Deploy}); got != c.want[in.Name] {
				t.Errorf("tls=%v x=%s: %s is %s, want %s", c.tls, c.x, in.Name, got, c.want[in.Name])
			}
		}
	}
}

func serverOf(t *testing.T, p *contract.Plan, path contract.ServerPath) contract.Server {
	t.Helper()
	i := slices.IndexFunc(p.Servers, func(s contract.Server) bool { return s.Path == path })
	if i < 0 {
		t.Fatalf("no server %s", path)
	}
	return p.Servers[i]
}

func evaluated(t *testing.T, in contract.Input, from hot.Resolver) string {
	t.Helper()
	e, err := hot.ParseResidual(in.Expr, in.At)
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Eval(from)
	if err != nil {
		t.Errorf("%s: %v", in.Name, err)
	}
	return string(v)
}

// An `if` without an else gets one where hotc emits it: Heat before 23.0.0 fails on a
// resource in which it leaves something out.
func TestIfWithoutElse(t *testing.T) {
	const template = "testdata/edits/without-else.yaml"
	dir := written(t, template)
	r, _ := compile(t, options(template))
	for tls, want := range map[bool]map[string]string{
		true:  {"item": `["a","t","c"]`, "entry": `{"a":1,"c":3,"t":"b"}`, "whole": `"x"`, "joined": `"a,t,u"`},
		false: {"item": `["a","c"]`, "entry": `{"a":1,"c":3}`, "whole": `null`, "joined": `"a,u"`},
	} {
		in := heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret, "tls": tls}}
		for _, s := range stockHeat.Oracle(t).Create(t, "site", in).Servers(t, 2) {
			var boot struct{ Deploy map[string]json.RawMessage }
			if err := json.Unmarshal([]byte(bootFile(t, s.NovaUserData)), &boot); err != nil {
				t.Fatal(err)
			}
			for _, in := range serverOf(t, r.Built.Plan, contract.ServerPath(strings.TrimSuffix(s.Path, "/server"))).Roles[0].Inputs {
				if got := evaluated(t, in, bootValues{boot.Deploy}); got != want[in.Name] {
					t.Errorf("tls=%v: %s of %s is %s, want %s", tls, in.Name, s.Path, got, want[in.Name])
				}
			}
		}
	}
}

// Which attribute is read may be left to Heat, but not silently where roles write some.
func TestAttributeLeftToHeat(t *testing.T) {
	const text = `heat_template_version: 2018-08-31
parameters: {which: {type: string, default: url}}
resources:
  db:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: echo 1 | hotc-agent put url, outputs: {url: {}}}]}}
  volume:
    type: OS::Cinder::Volume
    properties: {size: 1, name: {get_attr: [db, {get_param: which}]}}
`
	path := filepath.Join(t.TempDir(), "site.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(path)
	if _, found := compile(t, o); !strings.Contains(found, "warning[H307]") || !strings.Contains(found, "what roles write (url)") {
		t.Errorf("open: %s", found)
	}
	o.Parameters = map[string]string{"which": "url"}
	r, found := compile(t, o)
	if r == nil || found != "" || !strings.Contains(string(r.Folder["stack.yaml"]), "{get_attr: [hotc_values_db.r, data, db, url]}") {
		t.Errorf("given: %s", found)
	}
}

// Which condition a parameter's value names is Heat's to look up: a plan has no template.
func TestConditionNamedByAValue(t *testing.T) {
	const template = "testdata/edits/condition-by-value.yaml"
	dir := written(t, template)
	r, _ := compile(t, options(template))
	for which, want := range map[string]map[string]string{
		"small": {"chosen": `"none"`, "both": `"neither"`},
		"large": {"chosen": `"u"`, "both": `"u"`},
	} {
		in := heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret, "which": which}}
		for _, s := range stockHeat.Oracle(t).Create(t, "site", in).Servers(t, 2) {
			var boot struct{ Deploy map[string]json.RawMessage }
			if err := json.Unmarshal([]byte(bootFile(t, s.NovaUserData)), &boot); err != nil {
				t.Fatal(err)
			}
			for _, in := range serverOf(t, r.Built.Plan, contract.ServerPath(s.Path)).Roles[0].Inputs {
				if got := evaluated(t, in, bootValues{boot.Deploy}); got != want[in.Name] {
					t.Errorf("which=%s: %s is %s, want %s", which, in.Name, got, want[in.Name])
				}
			}
		}
	}
}

// Heat takes the arguments of two functions out of a parameter's own list: a resource
// fails, as hotc says, and a list of the call's own works.
func TestListsThatHeatTakesApart(t *testing.T) {
	for call, ok := range map[string]bool{
		"{str_split: {get_param: l}}":                                         false,
		"{str_split: {get_param: [j, split]}}":                                false,
		"{str_split: {if: [yes, {get_param: l}, ['-', a-b]]}}":                false,
		"{map_replace: {get_param: [j, map]}}":                                false,
		"{str_split: [{get_param: [l, 0]}, {get_param: [l, 1]}]}":             true,
		"{map_replace: [{get_param: [j, map, 0]}, {get_param: [j, map, 1]}]}": true,
		"{str_split: ['-', {get_param: [j, split, 1]}]}":                      true,
	} {
		text := `heat_template_version: 2018-08-31
parameters:
  l: {type: comma_delimited_list, default: '-,a-b'}
  j: {type: json, default: {split: ['-', a-b], map: [{a: b}, {keys: {a: c}}]}}
conditions: {yes: true}
resources:
  v: {type: OS::Heat::Value, properties: {value: ` + call + `}}
`
		path := filepath.Join(t.TempDir(), "site.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, found := compile(t, options(path))
		warned := strings.Contains(found, "own list when Heat evaluates it")
		made := stockHeat.Oracle(t).Create(t, "list", heattest.Input{Template: path}).Wait(t).Status == "COMPLETE"
		if r == nil || made != ok || made == warned {
			t.Errorf("%s: made by Heat: %v; hotc says: %s", call, made, found)
		}
	}
}
