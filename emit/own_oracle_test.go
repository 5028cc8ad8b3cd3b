package emit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// Facts of a role's own server need nothing of Heat, but for the size of a group that Heat
// decides: stock Heat makes a stack of what is emitted.
func TestOwnFactsJudged(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.yaml": `heat_template_version: 2018-08-31
parameters:
  n: {type: number, default: 2, constraints: [{range: {max: 3}}]}
resources:
  web:
    type: OS::Nova::Server
    properties: {image: i, flavor: f, networks: [{network: front}, {network: back}]}
    metadata:
      hotc: {roles: [{name: r, driver: script, source: 'echo $a $b $c > /run/x', inputs: {a: {fact: [addresses, back, 0]}, b: {fact: name}, c: {fact: id}}}]}
  w:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: n}
      resource_def:
        type: OS::Nova::Server
        properties: {image: i, flavor: f}
        metadata:
          hotc: {roles: [{name: r, driver: script, source: 'echo $a $b $c > /run/x', inputs: {a: {fact: first_address}, b: {fact: index}, c: {fact: group_size}}}]}
  t:
    type: OS::Heat::ResourceGroup
    properties: {count: {get_param: n}, resource_def: {type: inner.yaml}}
`, "inner.yaml": `heat_template_version: 2018-08-31
resources:
  s:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata:
      hotc: {roles: [{name: r, driver: script, source: 'echo $a $b $c > /run/x', inputs: {a: {fact: first_address}, b: {fact: index}, c: {fact: group_size}}}]}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, found := compile(t, options(filepath.Join(dir, "main.yaml")))
	if r == nil || found != "" {
		t.Fatal(found)
	}
	in := inputOf(t, r)
	stockHeat.Oracle(t).Accepts(t, in)
	for _, n := range []int{1, 3} {
		in.Parameters["n"] = n
		servers := stockHeat.Oracle(t).Create(t, "own", heattest.Input{Template: in.Template, Environments: in.Environments, Parameters: in.Parameters}).Servers(t, 1+2*n)
		if len(servers) != 1+2*n {
			t.Errorf("%d servers of %d", len(servers), 1+2*n)
		}
	}
}
