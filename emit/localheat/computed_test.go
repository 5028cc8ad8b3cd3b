package localheat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// typedValues are values of OS::Heat::Value, and whether a type takes them.
var typedValues = []struct {
	typeName, value string
	taken           bool
}{
	{"", `"7"`, true},
	{"", `null`, true},
	{"", `{"a": [1, {"b": null}]}`, true},
	{"string", `"text"`, true},
	{"string", `7`, true},
	{"string", `true`, true},
	{"string", `null`, true},
	{"string", `1.5`, false},
	{"string", `["a"]`, false},
	{"number", `7`, true},
	{"number", `"7"`, true},
	{"number", `" 7 "`, true},
	{"number", `"7.5"`, true},
	{"number", `null`, true},
	{"number", `true`, true},
	{"number", `"seven"`, false},
	{"boolean", `false`, true},
	{"boolean", `"TRUE"`, true},
	{"boolean", `null`, true},
	{"boolean", `"yes"`, false},
	{"boolean", `1`, false},
	{"json", `{"a": 1}`, true},
	{"json", `null`, true},
	{"json", `"{}"`, false},
	{"json", `[1]`, false},
	{"comma_delimited_list", `["a", 1]`, true},
	{"comma_delimited_list", `null`, true},
	{"comma_delimited_list", `"a,b"`, false},
	{"comma_delimited_list", `{"a": 1}`, false},
}

// The types of OS::Heat::Value take what they take in stock Heat, which gives the value as it
// was written.
func TestTypedValues(t *testing.T) {
	resource := func(typeName, value string) string {
		if typeName != "" {
			typeName = fmt.Sprintf("type: %s, ", typeName)
		}
		return fmt.Sprintf("{type: OS::Heat::Value, properties: {%svalue: %s}}", typeName, value)
	}
	dir := t.TempDir()
	write := func(name, resources, outputs string) heattest.Input {
		path := filepath.Join(dir, name)
		text := "heat_template_version: 2018-08-31\nresources:\n" + resources
		if outputs != "" {
			text += "outputs:\n" + outputs
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return heattest.Input{Template: path}
	}
	j := heattest.Start(t)
	var resources, outputs strings.Builder
	for i, c := range typedValues {
		value, err := yaml.DecodeJSON([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		if got := resourcetype.KindOf(c.typeName).Takes(value); got != c.taken {
			t.Errorf("%s of type %q is taken: %v", c.value, c.typeName, got)
		}
		if !c.taken {
			refused := write(fmt.Sprintf("refused%d.yaml", i), "  v: "+resource(c.typeName, c.value)+"\n", "")
			if _, err := j.TryCreate(fmt.Sprintf("refused%d", i), refused); err == nil {
				t.Errorf("Heat takes %s of type %q", c.value, c.typeName)
			}
			continue
		}
		fmt.Fprintf(&resources, "  v%d: %s\n", i, resource(c.typeName, c.value))
		fmt.Fprintf(&outputs, "  v%d: {value: {get_attr: [v%d, value]}}\n", i, i)
	}
	st := j.Create(t, "values", write("values.yaml", resources.String(), outputs.String()))
	st.Complete(t)
	heats := st.Outputs(t)
	for i, c := range typedValues {
		if !c.taken {
			continue
		}
		want, _ := yaml.DecodeJSON([]byte(c.value))
		got, err := yaml.DecodeJSON(heats[fmt.Sprintf("v%d", i)].Value)
		if err != nil || !value.Equal(got, want) {
			t.Errorf("Heat makes %s of %s of type %q, %v", value.EncodeJSON(got), c.value, c.typeName, err)
		}
	}
}
