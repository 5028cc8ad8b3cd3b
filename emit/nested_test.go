package emit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// nestedOptions are those of a folder with main.yaml and perhaps environments, in
// the order of their names, and parameters in args (NAME=VALUE, a line each).
func nestedOptions(t *testing.T, dir string) emit.Options {
	t.Helper()
	o := options(filepath.Join(dir, "main.yaml"))
	var err error
	if o.Environments, err = filepath.Glob(filepath.Join(dir, "*.env.yaml")); err != nil {
		t.Fatal(err)
	}
	sort.Strings(o.Environments)
	o.Parameters = map[string]string{}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.FieldsSeq(string(args)) {
		name, value, _ := strings.Cut(line, "=")
		o.Parameters[name] = value
	}
	return o
}

// accepted writes a folder and has stock Heat look at it, with the environments that
// lie in it.
func accepted(t *testing.T, r *emit.Result) {
	t.Helper()
	dir := folderOf(t, r)
	in := heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{}}
	if len(r.Built.Plan.Servers) > 0 {
		in.Parameters["hotc_secret"] = secret
	}
	for _, p := range r.Program.Template.Parameters {
		if p.Hidden && p.Default == nil {
			in.Parameters[p.Name] = "what the folder does not hold"
		}
	}
	for _, name := range r.Environments {
		in.Environments = append(in.Environments, filepath.Join(dir, name))
	}
	stockHeat.Oracle(t).Accepts(t, in)
}

// forHeat are the files of a folder that Heat reads, but for user-data, which has
// tests of its own.
func forHeat(r *emit.Result) []string {
	var names []string
	for name := range r.Folder {
		if !strings.HasPrefix(name, "files/") && !strings.HasPrefix(name, "hotc/user-data") && name != "plan.json" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// What is emitted for programs of several templates stands beside each, in expected;
// stock Heat accepts it without a warning.
func TestNested(t *testing.T) {
	cases, err := filepath.Glob("testdata/nested/*/main.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, main := range cases {
		dir := filepath.Dir(main)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			r, found := compile(t, nestedOptions(t, dir))
			if r == nil {
				t.Fatal(found)
			}
			for _, name := range forHeat(r) {
				golden(t, filepath.Join(dir, "expected", name), r.Folder[name])
			}
			checkNothingElse(t, filepath.Join(dir, "expected"), r)
			for name, text := range r.Folder {
				if strings.Contains(string(text), "s3cret") {
					t.Errorf("%s holds the value of a hidden parameter", name)
				}
			}
			accepted(t, r)
		})
	}
}

// checkNothingElse finds expected files that were not emitted.
func checkNothingElse(t *testing.T, dir string, r *emit.Result) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if r.Folder[filepath.ToSlash(name)] == nil {
			t.Errorf("%s was not emitted", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What is wrong in programs of several templates, as the user sees it.
func TestBadNested(t *testing.T) {
	cases, err := filepath.Glob("testdata/bad-nested/*/main.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, main := range cases {
		dir := filepath.Dir(main)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			r, found := compile(t, nestedOptions(t, dir))
			if r != nil {
				t.Error("was compiled")
			}
			golden(t, filepath.Join(dir, "diagnostics"), []byte(found))
		})
	}
}

// The example with an environment as large deployments have it.
func TestTiers(t *testing.T) {
	t.Chdir("../testdata/tiers")
	o := options("site.yaml")
	o.Environments = []string{"environments/services.yaml", "environments/size.yaml"}
	o.Parameters = map[string]string{"workers": "2"}
	r, found := compile(t, o)
	if r == nil || found != "" {
		t.Fatal(found)
	}
	for _, name := range append(forHeat(r), "plan.json") {
		golden(t, filepath.Join("expected", name), r.Folder[name])
	}
	accepted(t, r)
}

// All resources of the tree are counted: nested ones, members of groups and what hotc adds.
func TestLimitsOfTrees(t *testing.T) {
	o := options("../testdata/tiers/site.yaml")
	o.Environments = []string{"../testdata/tiers/environments/services.yaml"}
	o.Parameters = map[string]string{"workers": "2", "apps": "2"}
	for _, limit := range []int{26, 25} {
		o.Limits.Resources = limit
		r, found := compile(t, o)
		if ok := r != nil; ok != (limit == 26) {
			t.Errorf("limit %d: %v %s", limit, ok, found)
		}
	}
	o.Limits.Resources, o.Limits.Depth = 1000, 2
	if r, found := compile(t, o); r != nil || !strings.Contains(found, "max_nested_stack_depth") {
		t.Errorf("depth: %v %s", r != nil, found)
	}
}

// Of how many members a group is compiled for, where only Heat knows how many there are:
// null, and a branch that is not said, are Heat's default.
func TestBounds(t *testing.T) {
	for count, want := range map[string]int{
		"{if: [{get_param: c}, null, 0]}":               1,
		"{if: [{get_param: c}, 0]}":                     1,
		"{if: [{get_param: c}, 3]}":                     3,
		"{if: [{get_param: c}, '2', null]}":             2,
		"{if: [{get_param: c}, {if: [true, null]}, 0]}": 1,
		"{if: [true, null, 7]}":                         1, // known
		"{if: [{get_param: c}, {get_param: n}, 2]}":     4,
		"{if: [{get_param: c}, {get_param: any}, 2]}":   0,
		"{get_attr: [v, value]}":                        0,
		"{if: [{get_param: c}, '2.5', 0]}":              0, // Heat refuses it
		"{if: [{get_param: c}, 2.5, true]}":             2, // Python's int(2.5)
	} {
		text := `heat_template_version: 2021-04-16
parameters:
  c: {type: boolean, default: true}
  n: {type: number, default: 1, constraints: [{range: {max: 4}}]}
  any: {type: number, default: 1}
resources:
  v: {type: OS::Heat::Value, properties: {value: 1}}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: ` + count + `
      resource_def:
        type: OS::Nova::Server
        properties: {image: i, flavor: f}
        metadata: {hotc: {roles: [{name: r, driver: script, source: 'true'}]}}
`
		path := filepath.Join(t.TempDir(), "site.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, found := compile(t, options(path))
		got := 0
		if r != nil {
			got = r.Program.Root.StackResourceOf("group").Most()
		} else if !strings.Contains(found, "[H318]") {
			t.Errorf("%s: %s", count, found)
		}
		if got != want {
			t.Errorf("%s: compiled for %d members, want %d\n%s", count, got, want, found)
		}
	}
}

// Templates that use others twice, level by level, are not followed for ever: stacks by
// themselves begin a tree of their own, which Heat's limit of levels does not end, and
// chains are looked at to find roles.
func TestTooManyStacks(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	registry := "resource_registry:\n"
	const levels = 30
	for i := range levels {
		resources := "  s: {type: OS::Nova::Server, properties: {image: i, flavor: f}, metadata: {hotc: {roles: [{name: r, driver: script, source: 'true'}]}}}\n"
		if i < levels-1 {
			resources = fmt.Sprintf("  row: {type: OS::Heat::ResourceChain, properties: {resources: [T::L%d, T::L%d]}}\n", i+1, i+1)
			if i%2 == 1 {
				resources = fmt.Sprintf("  far: {type: OS::Heat::Stack, properties: {template: {get_file: l%d.yaml}}}\n", i+1)
			}
		}
		name := fmt.Sprintf("l%d.yaml", i)
		files[filepath.Join(dir, name)] = "heat_template_version: 2018-08-31\nresources:\n" + resources
		registry += fmt.Sprintf("  T::L%d: %s\n", i, name)
	}
	files[filepath.Join(dir, "types.yaml")] = registry
	writeAll(t, files)
	o := options(filepath.Join(dir, "l0.yaml"))
	o.Environments, o.Limits.Resources = []string{filepath.Join(dir, "types.yaml")}, 50
	r, found := compile(t, o)
	if r != nil || !strings.Contains(found, `error[H309]: the chain "row" contains servers with roles`) {
		t.Errorf("compiled: %v\n%s", r != nil, found)
	}
}

// Members of groups are counted, too, be they plain servers.
func TestTooManyMembers(t *testing.T) {
	dir := t.TempDir()
	tiers := "heat_template_version: 2018-08-31\nresources:\n"
	for i := range 40 {
		tiers += fmt.Sprintf("  tier%d: {type: tier.yaml}\n", i)
	}
	writeAll(t, map[string]string{filepath.Join(dir, "main.yaml"): tiers, filepath.Join(dir, "tier.yaml"): `heat_template_version: 2018-08-31
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 40
      resource_def: {type: OS::Nova::Server, properties: {image: i, flavor: f}, metadata: {hotc: {roles: [{name: r, driver: script, source: 'true'}]}}}
`})
	o := options(filepath.Join(dir, "main.yaml"))
	o.Limits.Resources = 50
	r, found := compile(t, o)
	if r != nil || strings.Count(found, "has more than 1000 nested stacks") != 1 || !strings.Contains(found, "tier.yaml:6:") {
		t.Errorf("compiled: %v\n%s", r != nil, found)
	}
}

func writeAll(t *testing.T, files map[string]string) {
	t.Helper()
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
