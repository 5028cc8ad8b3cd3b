package resourcetype

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/source"
)

func own(text string) ([]*Type, []*source.Diagnostic) {
	var diags source.Diagnostics
	types := Own(source.NewFile("cloud.json", []byte(text)), &diags)
	return types, diags.All()
}

// What Heat's API shows of its own types is what the table has of them, but for what the API
// does not show.
func TestOwnIsWhatHeatShows(t *testing.T) {
	hottest.Skip(t)
	var said bytes.Buffer
	cmd := exec.Command("/usr/bin/python3", "schemas.py", "show")
	cmd.Stderr = &said
	shown, err := cmd.Output()
	if err != nil {
		t.Fatalf("stock Heat is needed (apt-get install python3-heat, or %s=1): %v\n%s", hottest.SkipVariable, err, said.String())
	}
	lines := strings.Split(strings.TrimSpace(string(shown)), "\n")
	types, diags := own("[" + strings.Join(lines, ",") + "]")
	if len(diags) > 0 || len(types) < 150 {
		t.Fatal(len(types), diags)
	}
	cloud := (*Catalogue)(nil).With(types)
	for _, shown := range types {
		got, want := cloud.Lookup(shown.Name), (*Catalogue)(nil).Lookup(shown.Name)
		if got.Own != "cloud.json" || cloud.Says(got) != "cloud.json" || cloud.Says(want) == "cloud.json" {
			t.Fatalf("%s is told by %q", got.Name, got.Own)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Type{}, "Own"), cmpopts.IgnoreUnexported(Property{}), cmpopts.EquateEmpty(),
			cmp.FilterPath(shownAnyway, cmp.Ignore()), cmp.Comparer(sameWords)); diff != "" {
			t.Errorf("%s (-table +API):\n%s", got.Name, diff)
		}
	}
}

// shownAnyway is what the API shows though Heat takes it away before it looks.
func shownAnyway(p cmp.Path) bool {
	at := p.GoString()
	return strings.Contains(at, ".Limits") && (strings.Contains(at, `"subnet_id"`) || strings.Contains(at, `"network_id"`))
}

// sameWords compares texts without regard to white space.
func sameWords(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// A cloud's own type is known beside Heat's, and nothing of Heat's is changed by it.
func TestOwn(t *testing.T) {
	text := `resource_type: Vendor::Switch
properties:
  ports: {type: integer, required: true, update_allowed: false, immutable: false, constraints: [{range: {min: 1, max: 48}}]}
  names: {type: list, required: false, update_allowed: true, schema: {"*": {type: string, constraints: [{allowed_pattern: "[a-z]+"}, {length: {max: 8}}]}}}
  mode: {type: string, default: fast, constraints: [{allowed_values: [fast, slow]}], immutable: true, update_allowed: true}
  step: {type: number, constraints: [{modulo: {step: 2, offset: 1}}]}
attributes: {uplink: {type: string}, show: {type: map}, raw: {description: anything}}
support_status: {status: DEPRECATED, message: use a router, version: 1, previous_status: {status: SUPPORTED}}
`
	types, diags := own(text)
	if len(diags) > 0 || len(types) != 1 {
		t.Fatal(types, diags)
	}
	cloud := (*Catalogue)(nil).With(types)
	s := cloud.Lookup("Vendor::Switch")
	if s == nil || (*Catalogue)(nil).Lookup("Vendor::Switch") != nil || len(cloud.Names()) != len((*Catalogue)(nil).Names())+1 {
		t.Fatal("it is not there, or everywhere")
	}
	p := s.Properties
	if !p["ports"].Required || !p["ports"].Replaces || p["ports"].Violation(int64(49)) == nil || p["ports"].Violation(int64(48)) != nil {
		t.Errorf("ports: %+v", p["ports"])
	}
	if each := p["names"].Each; p["names"].Replaces || each == nil || each.Violation("ABC") == nil || each.Violation("abcdefghi") == nil || each.Violation("abc") != nil {
		t.Errorf("names: %+v", p["names"])
	}
	if m := p["mode"]; !m.Fixed || m.Replaces || m.Default != "fast" || m.Violation("other") == nil {
		t.Errorf("mode: %+v", m)
	}
	if p["step"].Violation(int64(4)) == nil || p["step"].Violation(int64(5)) != nil {
		t.Errorf("step: %+v", p["step"])
	}
	if s.Deprecated == nil || *s.Deprecated != "use a router" || s.Hidden || s.Attributes["uplink"] != String || !s.HasAttribute("raw") || s.HasAttribute("x") {
		t.Errorf("%+v", s)
	}
}

// Whatever a file says, it is understood or refused, and what is understood can be asked.
func TestOwnHostile(t *testing.T) {
	for name, text := range map[string]string{
		"no type":         `{"properties": {}}`,
		"a text":          `hello`,
		"a number":        `[1]`,
		"types":           `{"resource_type": "A", "properties": []}`,
		"kinds":           `{"resource_type": "A", "properties": {"x": {"type": ["list"]}}}`,
		"not YAML":        "{",
		"bounds":          `{"resource_type": "A", "properties": {"x": {"type": "string", "constraints": {"length": 3}}}}`,
		"a text as bound": `{"resource_type": "A", "properties": {"x": {"constraints": [{"range": {"min": "a"}}]}}}`,
		"resource_types":  `{"resource_type": 3}`,
		"many":            "[" + strings.Repeat("{},", mostOwn) + "{}]",
	} {
		if types, diags := own(text); len(types) > 0 || len(diags) == 0 {
			t.Errorf("%s: %v, %v", name, types, diags)
		}
	}
	types, diags := own(`{"resource_type": "A", "properties": {"x": null, "y": {"type": "nonsense", "schema": {"*": null}, "constraints": [{}, {"range": {}},
  {"allowed_pattern": "(((("}, {"length": {"min": null}}, {"modulo": {"step": 0, "offset": 1e300}}, {"allowed_values": [{}, [1]]}]},
  "z": {"type": "list", "schema": {"x": {}}}, "n": {"type": "integer", "constraints": [{"range": {"min": 1e308, "max": -1.5}}, {"modulo": {}}]}, "m": {"type": "map", "schema": {"*": null}, "default": 3}},
  "attributes": {"a": {"type": "nonsense"}}, "support_status": {"status": "HIDDEN", "previous_status": {"status": "HIDDEN"}}}`)
	if len(types) != 1 {
		t.Fatal(diags)
	}
	for name, p := range types[0].Properties {
		for _, v := range []any{nil, "text", int64(3), 1.5, true} {
			_, _ = p.Kind.Takes(v), p.Violation(v)
		}
		_ = p.Nothing()
		_ = name
	}
	deep := `{"resource_type": "A", "properties": {"x": ` + strings.Repeat(`{"type": "map", "schema": {"x": `, 20000) + `{}` + strings.Repeat("}}", 20000) + "}}"
	if _, diags := own(deep); len(diags) == 0 {
		t.Error("a file that is too deep is taken")
	}
}
