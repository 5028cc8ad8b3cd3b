package onap_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/analysis/rule/pack/onap"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// folder is a template with its nested templates.
type folder map[string]string

// Read implements emit.Access.
func (f folder) Read(name string) ([]byte, error) {
	if text, is := f[name]; is {
		return []byte(text), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Open implements emit.Access.
func (f folder) Open(name string) (fs.FS, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// found are the pack's findings: CODE LINE.
func found(t *testing.T, files folder) []string {
	t.Helper()
	var diags source.Diagnostics
	emit.Lint(emit.Options{Template: "main.yaml", Access: files, Parameters: map[string]string{}, Limits: emit.DefaultLimits, Packs: onap.Pack.Rules, Version: "test"}, &diags)
	out := []string{}
	for _, d := range diags.All() {
		if d.Severity == source.Error {
			t.Errorf("%v", d)
		}
		if strings.HasPrefix(string(d.Code), "ONAP-") {
			line, _ := d.At.File.Position(d.At.Span.Start)
			out = append(out, fmt.Sprintf("%s %s:%d", d.Code, d.At.File.Name, line))
		}
	}
	slices.Sort(out)
	return out
}

const parameters = `heat_template_version: 2018-08-31
parameters:
  fw_image_name: {type: string, description: d}
  fw_flavor_name: {type: string, description: d}
  fw_names: {type: comma_delimited_list, description: d}
  vnf_id: {type: string, description: d}
  vnf_name: {type: string, description: d}
  vf_module_id: {type: string, description: d}
  x: {type: json, description: d}
resources:
`

// What each rule finds and what it ignores, beyond the examples of its page.
func TestPack(t *testing.T) {
	for name, c := range map[string]struct {
		files folder
		want  []string
	}{
		"a server of a list of names, and internal ports": {folder{"main.yaml": parameters + `
  fw_1_int_pktmirror_port_0: {type: OS::Neutron::Port, properties: {network: n}}
  spare: {type: OS::Neutron::Port, properties: {network: n}}
  fw_server_1:
    type: OS::Nova::Server
    properties:
      image: {get_param: fw_image_name}
      flavor: {get_param: fw_flavor_name}
      name: {get_param: [fw_names, 1]}
      networks: [{port: {get_resource: fw_1_int_pktmirror_port_0}}, {network: other}]
      metadata: {vnf_id: {get_param: vnf_id}, vnf_name: {get_param: vnf_name}, vf_module_id: {get_param: vf_module_id}}
`}, []string{}},
		"metadata that is computed, names that say no type": {folder{"main.yaml": parameters + `
  other:
    type: OS::Nova::Server
    properties: {image: {get_param: fw_image_name}, flavor: {get_param: fw_flavor_name}, name: {get_param: fw_names}, metadata: {get_param: x}}
`}, []string{"ONAP-29751 main.yaml:12"}},
		"no properties that can be missing": {folder{"main.yaml": parameters + `
  fw_server_0: {type: OS::Nova::Server, properties: {image: i, flavor: {get_param: x}}}
`}, []string{"ONAP-37437 main.yaml:12", "ONAP-37437 main.yaml:12", "ONAP-37437 main.yaml:12", "ONAP-45188 main.yaml:12", "ONAP-58670 main.yaml:12"}},
		"a nested template's zone is its own, its servers are not": {folder{"main.yaml": parameters + `
  fw_nested: {type: nested.yaml, properties: {zone: z}}
`, "nested.yaml": `heat_template_version: 2018-08-31
parameters: {zone: {type: string, default: y}, fw_image_name: {type: string, description: d, default: i}}
resources:
  fw_server_0:
    type: OS::Nova::Server
    properties: {image: {get_param: fw_image_name}, flavor: f, availability_zone: {get_param: zone}, metadata: {get_param: fw_image_name}}
`}, []string{"ONAP-44001 nested.yaml:2", "ONAP-45188 nested.yaml:6", "ONAP-90526 nested.yaml:2", "ONAP-90526 nested.yaml:2"}},
		"indexes that begin anywhere, and one gap": {folder{"main.yaml": parameters + `
  fw_server_2: {type: OS::Nova::Server, properties: {image: {get_param: fw_image_name}, flavor: {get_param: fw_flavor_name}, name: {get_param: fw_names}, metadata: {get_param: x}}}
  fw_server_03: {type: OS::Nova::Server, properties: {image: {get_param: fw_image_name}, flavor: {get_param: fw_flavor_name}, name: {get_param: fw_names}, metadata: {get_param: x}}}
  fw_server_5: {type: OS::Nova::Server, properties: {image: {get_param: fw_image_name}, flavor: {get_param: fw_flavor_name}, name: {get_param: fw_names}, metadata: {get_param: x}}}
`}, []string{"ONAP-11690 main.yaml:14"}},
		"members of a group have no names": {folder{"main.yaml": parameters + `
  group: {type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: OS::Nova::Server, properties: {image: i, flavor: f}}}}
`}, []string{}},
		"other types and forms": {folder{"main.yaml": `heat_template_version: 2018-08-31
resources:
  fw_server_0: {type: OS::Nova::Server, properties: {image: {get_param: OS::stack_name}, flavor: f, networks: auto, metadata: {vnf_id: 3}}}
`}, []string{"ONAP-37437 main.yaml:3", "ONAP-37437 main.yaml:3", "ONAP-37437 main.yaml:3", "ONAP-45188 main.yaml:3", "ONAP-58670 main.yaml:3"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(t, c.files)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
