package yaml_test

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// The fix of a key that stands twice takes the lost entry away and changes nothing that is
// read; where an anchor or the layout forbids it there is none.
func TestWithout(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\nb: 2\na: 3\n", "b: 2\na: 3\n"},
		{"a: # one\n  x: 1\n  y: [1,\n    2]\n\n# about b\nb: 2\na: 3\n", "\n# about b\nb: 2\na: 3\n"},
		{"a: |\n  text\n\n  more\nb: 2\na: >-\n  x\n", "b: 2\na: >-\n  x\n"},
		{"a:\n- 1\n- 2\nb: 2\na:\n- 3\n", "b: 2\na:\n- 3\n"},
		{"{a: 1, b: 2, a: 3}\n", "{b: 2, a: 3}\n"},
		{"{b: 2, \"a\": [1, {c: d}] ,\n  a: 3}\n", "{b: 2, \n  a: 3}\n"},
		{"x:\n  - a: 1\n    a: 2\n", ""},
		{"x: &x\n  a: 1\ny:\n  a: &v 1\n  a: *v\n", ""},
		{"a: 1 \nb: 2\r\na: 3\r\n", "b: 2\r\na: 3\r\n"},
		{"a:\nb: 2\na: 3\n", "b: 2\na: 3\n"},
		{"? a\n: 1\na: 2\n", ""},
		{"a: \"x\n  y\"\na: 2", "a: 2"},
		{"a: x\n  y # c\na: 2\n", "a: 2\n"},
		{"a: !!str 1\na: 2\n", "a: 2\n"},
	} {
		var diags source.Diagnostics
		before := yaml.Parse(source.NewFile("a", []byte(c.text)), &diags)
		if before == nil || len(diags.All()) != 1 {
			t.Errorf("%q: %v", c.text, diags.All())
			continue
		}
		fix := diags.All()[0].Fix
		if fix == nil {
			if c.want != "" {
				t.Errorf("%q: no fix", c.text)
			}
			continue
		}
		text, err := source.Apply([]byte(c.text), fix.Edits)
		if err != nil || string(text) != c.want {
			t.Errorf("%q: %q, %v", c.text, text, err)
		}
		var none source.Diagnostics
		after := yaml.Parse(source.NewFile("a", text), &none)
		if len(none.All()) > 0 || string(value.EncodeJSON(sorted(before))) != string(value.EncodeJSON(sorted(after))) {
			t.Errorf("%q says something else: %v", text, none.All())
		}
	}
}

// sorted is what a map says, whatever the order.
func sorted(n *yaml.Node) value.Value {
	d := value.NewDict()
	for _, name := range []string{"a", "b", "x", "y"} {
		if e := n.Entry(name); e != nil {
			d.Set(name, e.Value.Data())
		}
	}
	return d
}
