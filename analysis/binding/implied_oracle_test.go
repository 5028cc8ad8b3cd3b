package binding_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
)

// What resources depend on is what stock Heat says before it creates any, what it adds by itself
// included.
func TestDependenciesAreHeats(t *testing.T) {
	hottest.Skip(t)
	random := rand.New(rand.NewPCG(seedtest.One(t), 0))
	var texts []string
	for range 200 {
		texts = append(texts, networks(random))
	}
	var said bytes.Buffer
	cmd := exec.Command("/usr/bin/python3", "../../compiler/resourcetype/schemas.py", "dependencies")
	cmd.Stdin, cmd.Stderr = strings.NewReader(strings.Join(texts, "\n")), &said
	answers, err := cmd.Output()
	if err != nil {
		t.Fatalf("stock Heat is needed (apt-get install python3-heat, or %s=1): %v\n%s", hottest.SkipVariable, err, said.String())
	}
	implied := 0
	for i, line := range strings.Split(strings.TrimSpace(string(answers)), "\n") {
		want := map[string][]string{}
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		got, added := dependenciesOf(texts[i])
		implied += added
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n(-Heat +hotc):\n%s", texts[i], diff)
		}
	}
	if implied < 500 {
		t.Errorf("only %d dependencies were implied: this compares nothing", implied)
	}
}

func dependenciesOf(text string) (needs map[string][]string, implied int) {
	var diags source.Diagnostics
	p := program.New(hot.ParseTemplate(source.NewFile("t.yaml", []byte(text)), &diags), &program.Supplied{})
	a := binding.Analyse(p, binding.Options{}, &diags)
	needs = map[string][]string{}
	for _, r := range p.Template.Resources {
		on := []string{}
		for _, e := range a.Edges[p.Root.PathOf(r.Name)] {
			on = append(on, string(e.On))
			if e.Implied != "" {
				implied++
			}
		}
		slices.Sort(on)
		needs[r.Name] = slices.Compact(on)
	}
	return needs, implied
}

// networks is a random template, in JSON, of resources that depend on each other without being told.
func networks(random *rand.Rand) string {
	pick := func(from ...any) any { return from[random.IntN(len(from))] }
	call := func(name string, argument ...any) map[string]any {
		if len(argument) == 1 {
			return map[string]any{name: argument[0]}
		}
		return map[string]any{name: argument}
	}
	one := func(of string, number int) any {
		return pick(call("get_resource", fmt.Sprintf("%s%d", of, random.IntN(number))), call("get_resource", fmt.Sprintf("%s%d", of, random.IntN(number))),
			"public", call("get_param", pick("p", "q")), call("get_attr", "value", "value"), call("str_replace", map[string]any{"template": "a$x", "params": map[string]any{"$x": call("get_param", "p")}}))
	}
	// some properties have an old name, some are not given
	set := func(props map[string]any, value any, names ...any) map[string]any {
		if name := pick(names...); name != "" {
			props[name.(string)] = value
		}
		return props
	}
	made := map[string]any{"value": map[string]any{"type": "OS::Heat::Value", "properties": map[string]any{"value": 1}}}
	add := func(name string, number int, kind string, properties func() map[string]any) {
		for i := range number {
			r := map[string]any{"type": kind, "properties": properties()}
			made[fmt.Sprintf("%s%d", name, i)] = r
		}
	}
	const few = 2
	add("net", few, "OS::Neutron::Net", func() map[string]any { return map[string]any{} })
	add("subnet", few+1, "OS::Neutron::Subnet", func() map[string]any {
		return set(map[string]any{"cidr": "10.0.0.0/24"}, one("net", few), "network", "network_id")
	})
	add("port", few+1, "OS::Neutron::Port", func() map[string]any {
		fixed := []any{}
		for range random.IntN(3) {
			fixed = append(fixed, set(map[string]any{"ip_address": "10.0.0.7"}, one("subnet", few+1), "subnet", "subnet", "subnet_id", ""))
		}
		return set(set(map[string]any{}, one("net", few), "network", "network_id"), fixed, "fixed_ips", "fixed_ips", "")
	})
	add("server", few+1, "OS::Nova::Server", func() map[string]any {
		nets := []any{}
		for range random.IntN(3) {
			nets = append(nets, set(set(map[string]any{}, one("net", few), "network", "network", "network", "uuid", ""), one("port", few+1), "port", "", ""))
		}
		return set(map[string]any{"image": "i", "flavor": "f"}, nets, "networks", "networks", "networks", "")
	})
	add("router", few, "OS::Neutron::Router", func() map[string]any {
		return set(map[string]any{}, set(map[string]any{"enable_snat": true}, one("net", few), "network"), "external_gateway_info", "")
	})
	add("interface", few, "OS::Neutron::RouterInterface", func() map[string]any {
		return set(set(map[string]any{}, one("router", few), "router", "router_id"), one("subnet", few+1), "subnet", "subnet", "subnet_id", "")
	})
	add("gateway", 1, "OS::Neutron::RouterGateway", func() map[string]any {
		return set(map[string]any{"router_id": one("router", few)}, one("net", few), "network", "network_id")
	})
	add("address", few, "OS::Neutron::FloatingIP", func() map[string]any {
		return set(set(map[string]any{}, one("net", few), "floating_network", "floating_network_id"), one("port", few+1), "port_id", "port_id", "")
	})
	add("association", few, "OS::Neutron::FloatingIPAssociation", func() map[string]any {
		return set(map[string]any{"floatingip_id": one("address", few)}, one("port", few+1), "port_id")
	})
	add("routes", few, "OS::Neutron::ExtraRouteSet", func() map[string]any { return map[string]any{"router": one("router", few)} })
	for name, r := range made {
		if on := fmt.Sprintf("port%d", random.IntN(few+1)); random.IntN(8) == 0 && on != name {
			r.(map[string]any)["depends_on"] = on
		}
	}
	text, err := json.Marshal(map[string]any{"heat_template_version": "2018-08-31", "resources": made,
		"parameters": map[string]any{"p": map[string]any{"type": "string", "default": "pp"}, "q": map[string]any{"type": "string", "default": "qq"}}})
	if err != nil {
		panic(err)
	}
	return string(text)
}
