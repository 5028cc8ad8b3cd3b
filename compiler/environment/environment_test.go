package environment_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// real is what the real client and the real engine make of environment files: the
// parameters, and the type that each of some types stands for.
const real = `
import json, sys, os
from heatclient.common import template_utils
from heat.common import environment_util
from heat.engine import environment
class Schema:
    STRING, MAP, LIST, NUMBER = 'String', 'Json', 'CommaDelimitedList', 'Number'
    def __init__(self, kind): self.type = kind
kinds = {'s': 'String', 'j': 'Json', 'l': 'CommaDelimitedList', 'n': 'Number'}
def one(paths, asked):
    names = []
    files, env = template_utils.process_multiple_environments_and_files(paths, env_list_tracker=names)
    for section in ('parameters', 'parameter_defaults', 'resource_registry'): env.setdefault(section, {})
    environment_util.merge_environments(names, files, env, {k: Schema(v) for k, v in kinds.items()})
    out = {'parameters': env['parameters'], 'defaults': env['parameter_defaults'], 'types': []}
    root = environment.Environment({'resource_registry': {}}, user_env=False)
    for t in ('OS::Nova::Server', 'OS::Heat::None', 'OS::Heat::Value', 'OS::Heat::B', 'OS::Heat::C', 'OS::Heat::D::E', 'OS::Heat::E'): root.registry._register_info([t], environment.ResourceInfo(root.registry, [t], Fake))
    for t, name in asked:
        registry = environment.ResourceRegistry(root.registry, {})
        registry.load(env['resource_registry'])
        try:
            info = registry.get_resource_info(t, resource_name=name)
            out['types'].append(info.value if isinstance(info.value, str) else info.name)
        except Exception as e:
            out['types'].append('?')
    return out
class Fake:
    class support_status:
        status = 'SUPPORTED'
        message = None
answers = []
for case in json.load(sys.stdin):
    try: answers.append(one(case['paths'], case['asked']))
    except Exception as e: answers.append({'error': '%s: %s' % (type(e).__name__, e)})
json.dump(answers, sys.stdout)
`

type testCase struct {
	Paths []string    `json:"paths"`
	Asked [][2]string `json:"asked"`
}

type answer struct {
	Error      string
	Parameters map[string]any
	Defaults   map[string]any
	Types      []string
}

// Environments made at random are merged as the real client and engine merge them,
// and their registries say the same of types.
func TestAsTheRealClient(t *testing.T) {
	hottest.Skip(t)
	if err := exec.Command("/usr/bin/python3", "-c", "import heatclient, heat").Run(); err != nil {
		t.Fatal("stock Heat is needed: apt-get install python3-heat python3-heatclient, or set HOTC_SKIP_HEAT=1")
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(seedtest.One(t), 2))
	var cases []testCase
	for i := range 600 {
		var c testCase
		for j := range 1 + r.IntN(3) {
			path := filepath.Join(dir, fmt.Sprintf("%d-%d.yaml", i, j))
			if err := os.WriteFile(path, []byte(random(r)), 0o644); err != nil {
				t.Fatal(err)
			}
			c.Paths = append(c.Paths, path)
		}
		for _, typeName := range []string{"A::B", "A::C", "A::D::E", "OS::Nova::Server", "X::Y"} {
			c.Asked = append(c.Asked, [2]string{typeName, "one"}, [2]string{typeName, "two"})
		}
		cases = append(cases, c)
	}
	for i, text := range asJSON {
		path := filepath.Join(dir, fmt.Sprintf("%d.json", i))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, testCase{Paths: []string{path}, Asked: [][2]string{{"A::B", "one"}}})
	}
	if err := os.WriteFile(filepath.Join(dir, "t.yaml"), []byte("heat_template_version: 2018-08-31\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	compared, refused := 0, 0
	for i, want := range ask(t, cases) {
		var diags source.Diagnostics
		env := read(t, cases[i].Paths, &diags)
		if (want.Error != "") != diags.Failed() {
			t.Errorf("%s\nthe real ones say %q, hotc %v", texts(t, cases[i]), want.Error, diags.All())
			continue
		}
		if want.Error != "" {
			refused++
			continue
		}
		compared++
		same(t, cases[i], "parameters", want.Parameters, env.Parameters)
		same(t, cases[i], "parameter_defaults", want.Defaults, env.Defaults)
		for k, asked := range cases[i].Asked {
			got := "?"
			if found, err := env.Registry.Resolve(asked[0], asked[1]); err == nil {
				got = found.Name
				if found.File != "" {
					got = "file://" + found.File
				} else if !strings.HasPrefix(got, "OS::") || strings.HasSuffix(got, "*") {
					got = "?" // hotc does not know all types that Heat has
				}
			}
			if got != want.Types[k] {
				t.Errorf("%s\n%s of %q is %s to Heat, %s to hotc", texts(t, cases[i]), asked[0], asked[1], want.Types[k], got)
			}
		}
	}
	if compared < 200 || refused < 20 {
		t.Errorf("%d compared, %d refused by both: the generator has lost its balance", compared, refused)
	}
}

// asJSON are environments in JSON, which the client reads as YAML.
var asJSON = []string{
	`{"parameters": {"s": 1e3, "n": 2.5, "j": {"a": 1E5, "b": [1e-2, -0.5, 3]}}}`,
	`{"parameter_defaults": {"s": "a\u00e9\/b", "other": {"a": true, "b": null}}, "resource_registry": {"A::B": "A::C"}}`,
	"{\n  \"parameters\": {\n    \"s\": \"a\"\n  }\n}\n",
	"{\"parameters\":{\"s\":\"a\",\"l\":[\"x\"]}}",
	"{\n\t\"parameters\": {\"s\": \"a\"}\n}\n",
	`{"parameters": {"s": "a"}, "no_section": {}}`,
}

func ask(t *testing.T, cases []testCase) []answer {
	t.Helper()
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", "-c", real)
	cmd.Stdin = bytes.NewReader(in)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err, errors.String())
	}
	var answers []answer
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

func read(t *testing.T, paths []string, diags *source.Diagnostics) *environment.Environment {
	t.Helper()
	var files []*source.File
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, source.NewFile(path, text))
	}
	types := map[string]string{"s": "string", "j": "json", "l": "comma_delimited_list", "n": "number"}
	return environment.Read(files, func(name string) string { return types[name] }, diags)
}

func same(t *testing.T, c testCase, what string, want map[string]any, got map[string]environment.Setting) {
	t.Helper()
	plain := map[string]json.RawMessage{}
	for name, s := range got {
		plain[name] = value.EncodeJSON(s.Value)
	}
	text, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	var again map[string]any
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(again)
	if string(a) != string(b) {
		t.Errorf("%s\n%s: %s to Heat, %s to hotc", texts(t, c), what, a, b)
	}
}

func texts(t *testing.T, c testCase) string {
	var b strings.Builder
	for _, path := range c.Paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("--- " + filepath.Base(path) + "\n" + string(text))
	}
	return b.String()
}

// random is an environment, mostly a good one.
func random(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	values := map[string][]string{"s": {"a", "b", "''", "1"}, "j": {"{a: 1}", "{a: {b: 2}, c: [1]}", "{a: {b: x, c: null}}", `'{"a": {"d": 3}}'`, "{c: [2], a: {}}"},
		"l": {"'1,2'", "[x, y]", "''", "[]", "z"}, "n": {"1", "2.5"}, "other": {"{a: 1}", "{b: {c: 1}}", "x", "null", "{a: null}"}}
	sections := []string{}
	for _, section := range []string{"parameters", "parameter_defaults"} {
		var entries []string
		for _, name := range []string{"s", "j", "l", "n", "other"} {
			if r.IntN(3) == 0 {
				entries = append(entries, name+": "+pick(values[name]...))
			}
		}
		if r.IntN(2) == 0 {
			sections = append(sections, section+": {"+strings.Join(entries, ", ")+"}")
		}
	}
	if r.IntN(5) == 0 {
		sections = append(sections, "parameter_merge_strategies: {"+pick("default: merge", "l: merge", "j: deep_merge", "s: merge, j: merge", "l: strange", "default: deep_merge, s: overwrite")+"}")
	}
	if r.IntN(2) == 0 {
		types := func(n int) string {
			var entries []string
			seen := map[string]bool{}
			for range n {
				if name := pick("A::B", "A::C", "'A::*'", "'A::D::*'", "OS::Nova::Server", "X::Y"); !seen[name] {
					seen[name] = true
					entries = append(entries, name+": "+pick("OS::Heat::None", "OS::Heat::Value", "t.yaml", "A::C", "X::Y", "'OS::Heat::*'"))
				}
			}
			return strings.Join(entries, ", ")
		}
		entries := []string{types(r.IntN(4))}
		if r.IntN(2) == 0 {
			entries = append(entries, "resources: {"+pick("one", "two", "'o*'")+": {"+types(1+r.IntN(2))+"}}")
		}
		sections = append(sections, "resource_registry: {"+strings.Trim(strings.Join(entries, ", "), ", ")+"}")
	}
	if r.IntN(25) == 0 {
		sections = append(sections, pick("parameter: {}", "parameters:", "hooks: []"))
	}
	return strings.Join(sections, "\n") + "\n"
}
