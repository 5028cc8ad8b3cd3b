package emit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// A hidden parameter is said to reach an output if the value that stock Heat gives the
// output has it: by attribute paths, through nested stacks, groups and values.
func TestSecretsThatOutputsShow(t *testing.T) {
	const secret = "hunter-two"
	outputs := []string{
		"{get_param: pw}",
		"{get_attr: [child, data]}",
		"{get_attr: [child, data, service_name]}",
		"{get_attr: [child, data, config]}",
		"{get_attr: [child, data, config, p]}",
		"{get_attr: [child, data, config, q]}",
		"{get_attr: [child, data, list, 0]}",
		"{get_attr: [child, data, list, 1]}",
		"{get_attr: [child, whole]}",
		"{get_attr: [child, given]}",
		"{get_attr: [child, given_name]}",
		"{get_attr: [v, value]}",
		"{get_attr: [v, value, a]}",
		"{get_attr: [v, value, b]}",
		"{get_attr: [v, value, merged, x]}",
		"{get_attr: [v, value, merged, y]}",
		"{get_attr: [w, value]}",
		"{get_attr: [w, value, p]}",
		"{if: [{equals: [{get_param: pw}, '']}, none, some]}",
		"{if: [none, some, {get_param: pw}]}",
		"{get_attr: [group, data]}",
		"{get_attr: [group, data, 0, service_name]}",
		"{get_attr: [group, data, 1, config, p]}",
		"{get_attr: [group, resource.0.data, service_name]}",
		"{get_attr: [group, resource.1, data, config, p]}",
		"{get_attr: [group, attributes, data]}",
		"{str_replace: {template: x is y, params: {y: {get_attr: [v, value, a]}}}}",
		"{str_replace: {template: x is y, params: {y: {get_attr: [v, value, b]}}}}",
		"{digest: [sha256, {get_param: pw}]}",
	}
	root := `heat_template_version: 2018-08-31
parameters:
  pw: {type: string, hidden: true}
conditions:
  none: {equals: [{get_param: pw}, '']}
resources:
  v:
    type: OS::Heat::Value
    properties: {value: {a: plain, b: {get_param: pw}, merged: {map_merge: [{x: plain}, {y: {get_param: pw}}]}}}
  w:
    type: OS::Heat::Value
    properties: {value: {get_attr: [child, data, config]}}
  child: {type: child.yaml, properties: {pw: {get_param: pw}, pair: {name: n, secret: {get_param: pw}}}}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: member.yaml, properties: {pw: {get_param: pw}, pair: {}}}}
outputs:
`
	for i, o := range outputs {
		root += fmt.Sprintf("  o%d: {value: %s}\n", i, o)
	}
	child := `heat_template_version: 2018-08-31
parameters:
  pw: {type: string}
  pair: {type: json}
resources: {}
outputs:
  data: {value: {service_name: rabbit, config: {p: {get_param: pw}, q: q}, list: [{get_param: pw}, b]}}
  whole: {value: {get_param: pair}}
  given: {value: {get_param: [pair, secret]}}
  given_name: {value: {get_param: [pair, name]}}
`
	dir := t.TempDir()
	member := strings.Replace(child, "resources: {}", `resources:
  s:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: 'true'}]}}`, 1)
	for name, text := range map[string]string{"main.yaml": root, "child.yaml": child, "member.yaml": member} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "main.yaml")
	st := stockHeat.Oracle(t).Create(t, "secrets", heattest.Input{Template: path, Parameters: map[string]any{"pw": secret}})
	if status := st.Wait(t); status.Status != "COMPLETE" {
		t.Fatal(status)
	}
	made := st.Outputs(t)
	_, found := compile(t, options(path))
	for i, o := range outputs {
		name := fmt.Sprintf("o%d", i)
		shows := strings.Contains(string(made[name].Value), secret)
		if says := strings.Contains(found, fmt.Sprintf("reaches the stack's output %q", name)); says != shows {
			t.Errorf("%s: Heat's output is %s, hotc says that the secret reaches it: %v", o, made[name].Value, says)
		}
	}
}
