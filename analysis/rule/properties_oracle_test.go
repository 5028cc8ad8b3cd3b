package rule_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// heat is a process with stock Heat in it.
type heat struct {
	in  io.Writer
	out *bufio.Reader
}

// verdict contains Heat's errors for a resource's properties by their types, for the whole
// resource, and for an attribute; "" is none.
type verdict struct{ Properties, Whole, Attribute string }

// byTypes are the rules that follow from the types of properties alone.
var byTypes = []source.Code{source.UnknownProperty, source.MissingProperty, source.PropertyType, source.PropertyLimit}

func startHeat(t *testing.T) *heat {
	t.Helper()
	hottest.Skip(t)
	cmd := exec.Command("/usr/bin/python3", "../../compiler/resourcetype/schemas.py", "oracle")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("stock Heat is needed (apt-get install python3-heat, or %s=1): %v", hottest.SkipVariable, err)
	}
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	return &heat{in, bufio.NewReaderSize(out, 1<<20)}
}

func (h *heat) oracle(t *testing.T, kind string, props map[string]any, attribute string) verdict {
	t.Helper()
	line, err := json.Marshal(map[string]any{"type": kind, "properties": props, "attribute": attribute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	answer, err := h.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var v verdict
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return v
}

// found are hotc's findings about a resource.
func found(t *testing.T, kind string, props map[string]any) []*source.Diagnostic {
	t.Helper()
	text, err := json.Marshal(map[string]any{"heat_template_version": "2013-05-23",
		"resources": map[string]any{"r": map[string]any{"type": kind, "properties": props}}})
	if err != nil {
		t.Fatal(err)
	}
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("r.json", text), &diags)
	if template == nil || diags.Failed() {
		t.Fatal(diags.All())
	}
	rule.Check(program.New(template, &program.Supplied{}), nil, rule.Options{}, &diags)
	return diags.All()
}

// laterRefused says that Heat finds something only when it creates the resource (heat:
// senlin/cluster.py, which validates nothing; aws/iam/user.py, _validate_policies).
func laterRefused(kind string, d *source.Diagnostic) bool {
	return kind == "OS::Senlin::Cluster" || kind == "AWS::IAM::User" && d.Code == source.WrongKind
}

// What new seeds once found.
func TestAgreedWithHeatSince(t *testing.T) {
	h := startHeat(t)
	for _, c := range []struct {
		kind, props string
		refused     bool
	}{
		{"OS::Neutron::Router", `{"l3_agent_id": "a", "l3_agent_ids": ["b"]}`, true},
		{"OS::Neutron::Router", `{"l3_agent_id": "a", "distributed": true}`, true},
		{"OS::Neutron::Port", `{"network": "n", "fixed_ips": [{}], "no_fixed_ips": "False"}`, false},
		{"OS::Neutron::Port", `{"network": "n", "fixed_ips": [{}], "no_fixed_ips": "True"}`, true},
		{"OS::Neutron::Subnet", `{"network": "n", "cidr": "10.0.0.0/24", "gateway_ip": 5}`, false},
		{"OS::Neutron::Subnet", `{"network": "n", "cidr": "10.0.0.0/24", "gateway_ip": "no"}`, true},
		{"OS::Mistral::Workflow", `{"type": "direct", "tasks": [{"name": "a", "action": "b", "policies": 1}]}`, false},
		{"OS::Heat::ResourceGroup", `{"count": -0.5, "resource_def": {"type": "OS::Heat::None"}}`, false},
		{"OS::Heat::ResourceGroup", `{"count": -1.5, "resource_def": {"type": "OS::Heat::None"}}`, true},
	} {
		var props map[string]any
		if err := json.Unmarshal([]byte(c.props), &props); err != nil {
			t.Fatal(err)
		}
		heats, ours := h.oracle(t, c.kind, props, "").Whole, found(t, c.kind, props)
		if (heats != "") != c.refused || (len(ours) > 0) != c.refused {
			t.Errorf("%s %s: Heat says %q, hotc says %v", c.kind, c.props, heats, ours)
		}
	}
}

// hotc and Heat agree on a resource's properties: neither objects to valid ones, and both
// find a single mistake.
func TestAgreesWithHeat(t *testing.T) {
	h := startHeat(t)
	seed := seedtest.One(t)
	g := &generator{rand.New(rand.NewPCG(seed, 0))}
	names := types.Names()
	fine, accepted := 0, 0
	for i := range 3000 {
		kind := types.Lookup(names[g.IntN(len(names))])
		props := g.valid(kind.Properties)
		mistake := ""
		if i%3 > 0 {
			mistake = g.spoil(kind.Properties, props)
		}
		heats := h.oracle(t, kind.Name, props, "")
		all := found(t, kind.Name, props)
		if d := lists.Find(all, func(d *source.Diagnostic) bool { return d.Refused }); d != nil && heats.Whole == "" {
			t.Errorf("seed %d, case %d: %s %v: Heat takes it, hotc is certain that it does not: %v", seed, i, kind.Name, props, d)
		}
		refused := slices.DeleteFunc(slices.Clone(all), func(d *source.Diagnostic) bool { return laterRefused(kind.Name, d) })
		if len(refused) > 0 && heats.Whole == "" {
			t.Errorf("seed %d, case %d: %s %v: Heat takes it, hotc says: %v", seed, i, kind.Name, props, refused[0])
		}
		ours := slices.DeleteFunc(all, func(d *source.Diagnostic) bool { return !slices.Contains(byTypes, d.Code) })
		shown, _ := json.Marshal(props)
		switch {
		case mistake == "" && len(ours) > 0:
			t.Errorf("seed %d, case %d: %s %s has no mistake, and yet: %v", seed, i, kind.Name, shown, ours[0])
		case mistake != "" && len(ours) == 0:
			t.Errorf("seed %d, case %d: %s %s: not found: %s (Heat: %s)", seed, i, kind.Name, shown, mistake, heats.Properties)
		case len(ours) > 0 && heats.Properties == "":
			t.Errorf("seed %d, case %d: %s %s: Heat takes it, hotc says: %v", seed, i, kind.Name, shown, ours[0])
		case mistake == "":
			fine++
			if heats.Properties == "" {
				accepted++
			}
		}
	}
	// Heat has rules of its own for some types: properties that exclude each other
	if accepted*10 < fine*8 {
		t.Errorf("seed %d: Heat takes only %d of %d resources without a mistake", seed, accepted, fine)
	}
}

// The attributes of every type, and some unknown ones.
func TestAttributesAgreeWithHeat(t *testing.T) {
	h := startHeat(t)
	for _, name := range types.Names() {
		kind := types.Lookup(name)
		for _, attribute := range slices.AppendSeq([]string{"nowhere", "show", "fixed_ips"}, maps.Keys(kind.Attributes)) {
			ours := kind.HasAttribute(attribute)
			if heats := h.oracle(t, name, map[string]any{}, attribute).Attribute; ours != (heats == "") && kind.Attributes != nil {
				t.Errorf("%s: %s: hotc says %v, Heat %q", name, attribute, ours, heats)
			}
		}
	}
}

// generator generates properties.
type generator struct{ *rand.Rand }

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// valid are properties that a type accepts.
func (g *generator) valid(known map[string]*resourcetype.Property) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if p := known[name]; p.Required {
			if p.Instead != "" && g.IntN(2) == 0 {
				name = p.Instead
			}
			out[name] = g.value(p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if p := known[name]; !p.Required && g.IntN(8) == 0 && !isInstead(known, name) {
			out[name] = g.value(p)
		}
	}
	return out
}

func isInstead(known map[string]*resourcetype.Property, name string) bool {
	for _, p := range known {
		if p.Instead == name {
			return true
		}
	}
	return false
}

func (g *generator) value(p *resourcetype.Property) any {
	for range 2000 { // few strings match a pattern
		if v := g.anyValue(p); p.Violation(asHOT(v)) == nil {
			return v
		}
	}
	return g.anyValue(p)
}

// asHOT is a value as hotc reads it.
func asHOT(v any) value.Value {
	switch v := v.(type) {
	case int:
		return int64(v)
	case []any:
		list := make([]value.Value, len(v))
		for i, x := range v {
			list[i] = asHOT(x)
		}
		return list
	case map[string]any:
		return value.NewDict()
	}
	return v
}

func (g *generator) anyValue(p *resourcetype.Property) any {
	if len(p.Values) > 0 {
		v := p.Values[g.IntN(len(p.Values))]
		if p.Kind == resourcetype.List {
			return []any{v}
		}
		return v
	}
	for kind, text := range map[string]any{"net_cidr": "10.0.0.0/24", "ip_addr": "10.0.0.1", "ip_or_cidr": "10.0.0.1", "mac_addr": "fa:16:3e:00:00:01", "dns_domain": "example.org.", "rel_dns_name": "web",
		"cron_expression": "0 0 * * *", "timezone": "UTC", "expiration": "", "dns_name": "web"} {
		if p.Custom == kind {
			return text
		}
	}
	switch p.Kind {
	case resourcetype.String:
		return pick[any](g, "x", "10.0.0.1", "", 5, true, "0x0000000000000001", "/dev/vdb", "2018-08-31 10:00", "01234567-0123-0123-0123-0123456789ab", "abcde", strings.Repeat("ab", 18))
	case resourcetype.Integer:
		return pick[any](g, 5, "5", " 7 ", true, -3, 1.5, -0.5, 1, 60, 700, 9000)
	case resourcetype.Number:
		return pick[any](g, 5, "5", "1.5", 1.5, "1e3", false)
	case resourcetype.Boolean:
		return pick[any](g, true, false, "true", "False")
	case resourcetype.List:
		list := []any{}
		for range 1 + g.IntN(2) {
			if p.Each != nil {
				list = append(list, g.value(p.Each))
			} else {
				list = append(list, pick[any](g, "x", 5))
			}
		}
		return list
	case resourcetype.Map:
		if p.Properties != nil {
			return g.valid(p.Properties)
		}
		return map[string]any{"k": "v", "type": "OS::Heat::None"} // a group requires a type
	case resourcetype.Any:
	}
	return "x"
}

// spoil makes one mistake, and describes it.
func (g *generator) spoil(known map[string]*resourcetype.Property, props map[string]any) string {
	given := slices.Sorted(maps.Keys(props))
	switch what := g.IntN(5); {
	case what == 0 && len(given) > 0: // deeper
		name := given[g.IntN(len(given))]
		if p := known[name]; p != nil {
			below, isMap := props[name].(map[string]any)
			if list, isList := props[name].([]any); isList && p.Each != nil {
				p = p.Each
				below, isMap = list[g.IntN(len(list))].(map[string]any)
			}
			if isMap && p.Properties != nil {
				return name + ": " + g.spoil(p.Properties, below)
			}
		}
	case what == 1:
		for _, name := range given {
			if p := known[name]; p != nil && p.Required {
				delete(props, name)
				return "without " + name
			}
		}
	case what == 3:
		for _, i := range g.Perm(len(given)) {
			p := known[given[i]]
			if p == nil {
				continue
			}
			for _, v := range []any{-7, 99999999, "no such thing", "", strings.Repeat("x", 300)} {
				if p.Kind.Takes(asHOT(v)) && p.Violation(asHOT(v)) != nil {
					props[given[i]] = v
					return fmt.Sprintf("%s is %v", given[i], v)
				}
			}
		}
	case what == 2:
		for _, i := range g.Perm(len(given)) {
			p := known[given[i]]
			if p == nil || p.Kind == resourcetype.Any {
				continue
			}
			props[given[i]] = g.wrong(p.Kind)
			return fmt.Sprintf("%s is %v", given[i], props[given[i]])
		}
	}
	props["nowhere"] = "x"
	return "nowhere"
}

func (g *generator) wrong(k resourcetype.Kind) any {
	list, dict := []any{"x"}, map[string]any{"k": "v"}
	switch k {
	case resourcetype.String:
		return pick[any](g, 1.5, list, dict)
	case resourcetype.Integer:
		return pick[any](g, "four", "1.5", "", list, dict)
	case resourcetype.Number:
		return pick[any](g, "four", "", list, dict)
	case resourcetype.Boolean:
		return pick[any](g, "yes", 1, 1.5, "", list, dict)
	case resourcetype.Map:
		return pick[any](g, "x", 1, true, list)
	case resourcetype.List, resourcetype.Any:
	}
	return pick[any](g, "x", 1, true, dict)
}

// A misspelt name is one finding: the intended property is not reported as missing, too.
func TestMisspeltPropertyIsOneFinding(t *testing.T) {
	for spelt, want := range map[string][]source.Code{
		"flavor": nil, "flavour": {source.UnknownProperty}, "size": {source.MissingProperty, source.UnknownProperty},
	} {
		var got []source.Code
		for _, d := range found(t, "OS::Nova::Server", map[string]any{spelt: "m1.small", "image": "debian-12"}) {
			got = append(got, d.Code)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", spelt, got, want)
		}
	}
}
