package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// reads is a role that reads a parameter.
const reads = `
resources:
  db:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: mysql, driver: script, source: 'hotc-agent get p > /dev/null', inputs: {p: {get_param: p}}}]}}
`

// Stock Heat takes a stack without a value for a parameter that `hotc apply` gives,
// whatever the parameter's type and constraints; and refuses one with a value, which
// would lie in its database.
func TestSecretParameterNeedsNoValue(t *testing.T) {
	cases := map[string]struct{ declaration, value string }{
		"a block":         {"  p:\n    type: string\n    hidden: true\n    constraints:\n      - length: {min: 8}\n      - allowed_pattern: '[a-z]+'\n        description: letters\n", "abcdefghi"},
		"nothing but it":  {"  p: {type: string, hidden: true}\n", "abcdefghi"},
		"a default":       {"  p: {type: string, hidden: true, default: changeme, constraints: [{length: {min: 8}}]}\n", "changeme"},
		"block, default":  {"  p:\n    constraints:\n    - length: {min: 8}\n    default: changeme\n    type: string\n    hidden: true\n", "changeme"},
		"allowed values":  {"  p: {hidden: true, constraints: [allowed_values: [a, b]], type: string}\n", "a"},
		"a number":        {"  p: {type: number, hidden: true, constraints: [range: {min: 5}]}\n", "7"},
		"a boolean":       {"  p: {type: boolean, hidden: true}\n", "true"},
		"a list":          {"  p: {type: comma_delimited_list, hidden: true, constraints: [{length: {min: 2}}]}\n", ""},
		"json":            {"  p: {type: json, hidden: true}\n", ""},
		"an alias":        {"  other: &secret\n    type: string\n    hidden: true\n    default: elsewhere\n    constraints: [length: {min: 8}]\n  p: *secret\n", "elsewhere"},
		"its anchor":      {"  p: &secret {type: string, hidden: true, default: elsewhere, constraints: [length: {min: 8}]}\n  other: *secret\n", "elsewhere"},
		"a merge key":     {"  other: &secret {type: string, hidden: true, default: elsewhere, constraints: [length: {min: 8}]}\n  p:\n    <<: *secret\n    description: mine\n", "elsewhere"},
		"merge keys only": {"  other: &secret {type: string, hidden: true, default: elsewhere}\n  p: {<<: *secret}\n", "elsewhere"},
		"an anchor in it": {"  p: {type: string, hidden: true, default: elsewhere, constraints: &long [length: {min: 8}]}\n  other: {type: string, default: elsewhere, constraints: *long}\n", "elsewhere"},
		"no constraints":  {"  p: {type: json, hidden: true, default: &none {}, constraints: &some [{length: {min: 0}}]}\n  other: {type: json, default: *none, constraints: *some}\n", ""},
		"json, a default": {"  p:\n    type: json\n    hidden: true\n    default: {user: me}\n", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := compileSecret(t, "heat_template_version: 2018-08-31\nparameters:\n"+c.declaration+reads)
			in := heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret}}
			stockHeat.Oracle(t).Accepts(t, in)
			if strings.Contains(c.declaration, "other:") { // takes what it took
				in.Parameters["other"] = `{"any": "value"}`
				stockHeat.Oracle(t).Accepts(t, in)
				delete(in.Parameters, "other")
			}
			if c.value == "" {
				return
			}
			in.Parameters["p"] = c.value
			if v := stockHeat.Oracle(t).Validate(t, in); v.Accepted || !strings.Contains(v.Error, "hotc apply --secret-param p gives it") {
				t.Errorf("Heat takes a value: %+v", v)
			}
		})
	}
}

// compileSecret compiles a template whose parameter p is secret.
func compileSecret(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	template := filepath.Join(dir, "main.yaml")
	if err := os.WriteFile(template, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(template)
	o.SecretParameters = []string{"p"}
	r, said := compile(t, o)
	if r == nil || strings.Contains(said, "H312") {
		t.Fatal(said)
	}
	if secrets := r.Built.Plan.Secrets; len(secrets) != 1 || len(secrets[0].Readers) != 1 {
		t.Errorf("the plan's secrets: %+v", secrets)
	}
	if deploy := r.Built.Deploy["db"]; len(deploy) > 0 {
		t.Errorf("Heat puts %v into user_data", deploy)
	}
	out := filepath.Join(dir, "out")
	if err := r.Folder.Write(out); err != nil {
		t.Fatal(err)
	}
	return out
}

// What Heat needs cannot be kept from it, by whatever way it would get there.
func TestSecretParameterThatHeatNeeds(t *testing.T) {
	head := "heat_template_version: 2018-08-31\nparameters:\n  p: {type: string, hidden: true}\n  q: {type: string}\n"
	const nested = `heat_template_version: 2018-08-31
parameters: {url: {type: string}}
resources:
  r: {type: OS::Heat::Value, properties: {value: {get_param: url}}}
`
	const inner = `heat_template_version: 2018-08-31
parameters: {url: {type: string, constraints: [length: {min: 3}]}}
resources:
  s:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: 'hotc-agent get u > /dev/null', inputs: {u: {get_param: url}}}]}}
`
	cases := map[string]struct{ text, want string }{
		"a property": {head + reads + "  x: {type: OS::Heat::Value, properties: {value: {list_join: ['', [a, {get_param: p}]]}}}\n", `H413]: the resource "x" needs the parameter "p"`},
		"user_data":  {head + strings.Replace(reads, "flavor: f", "flavor: f, user_data: {get_param: p}", 1), `H413]: the resource "db" needs`},
		"metadata":   {head + strings.Replace(reads, "metadata: {", "metadata: {mine: {get_param: p}, ", 1), `H413]: the resource "db" needs`},
		"an output":  {head + reads + "outputs: {o: {value: {get_param: p}}}\n", `H413]: the output "o" needs`},
		"an output's value that is known before": {head + strings.Replace(reads, "inputs:", "outputs: {o: {value: {get_param: p}, secret: true}}, inputs:", 1) +
			"outputs: {o: {value: {get_attr: [db, o]}}}\n", `H413]: the output "o" needs`},
		"a condition":          {head + "conditions: {c: {equals: [{get_param: p}, x]}}\n" + reads, "H413]: a condition needs"},
		"a nested stack":       {head + reads + "  n: {type: nested.yaml, properties: {url: {get_param: p}}}\n", `H413]: the resource "n" needs`},
		"a placeholder":        {head + reads + "  n: {type: inner.yaml, properties: {url: {get_param: p}}}\n", "H402]: this passes on what"},
		"it is not hidden":     {strings.Replace(head, ", hidden: true", "", 1) + reads, "H413]: `--secret-param` names the parameter \"p\", but it is not hidden"},
		"it is not there":      {strings.Replace(head, "p:", "pp:", 1) + strings.ReplaceAll(reads, "get_param: p", "get_param: pp"), "H205]: --secret-param: the template has no parameter \"p\""},
		"nobody reads it":      {head + strings.Replace(reads, "get_param: p", "get_param: q", 1), "H413]: no role reads the parameter \"p\""},
		"bound at deploy time": {head + strings.Replace(reads, "{get_param: p}", "{value: {get_param: p}, bind: deploy}", 1), "H412]: input p cannot be bound at deploy time"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"main.yaml": c.text, "nested.yaml": nested, "inner.yaml": inner} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := options(filepath.Join(dir, "main.yaml"))
			o.SecretParameters = []string{"p"}
			r, said := compile(t, o)
			if !strings.Contains(said, c.want) || (r == nil) != strings.Contains(said, "error[") {
				t.Errorf("it says, and makes %v:\n%swant %s", r != nil, said, c.want)
			}
		})
	}
}
