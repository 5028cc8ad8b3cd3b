package yaml

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

func parseText(t *testing.T, text string) (*source.File, *Node, []*source.Diagnostic) {
	t.Helper()
	var diags source.Diagnostics
	file := source.NewFile("t.yaml", []byte(text))
	return file, Parse(file, &diags), diags.All()
}

// Every node's span holds exactly the node's own text, whatever its style.
func TestSpans(t *testing.T) {
	text, err := os.ReadFile("testdata/spans.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range []struct{ name, text string }{
		{"as it is", string(text)},
		{"with CRLF", strings.ReplaceAll(string(text), "\n", "\r\n")},
	} {
		t.Run(variant.name, func(t *testing.T) {
			file, root, diags := parseText(t, variant.text)
			if root == nil {
				t.Fatalf("did not parse: %v", diags)
			}
			checkSpans(t, file, root)
		})
	}
}

// A map of one entry may stand in a flow list without braces of its own: the list's
// bracket is not the map's.
func TestSpanOfAPairInAList(t *testing.T) {
	for text, want := range map[string][2]string{
		"a: [b: {c: 5}]":            {"[b: {c: 5}]", "b: {c: 5}"},
		"p: {a: [b: [1], c], d: e}": {"[b: [1], c]", "b: [1]"},
		"a: [b: c, d: e]":           {"[b: c, d: e]", "b: c"},
		"a: [{b: c}, d]":            {"[{b: c}, d]", "{b: c}"},
	} {
		file := source.NewFile("pair.yaml", []byte(text+"\n"))
		var diags source.Diagnostics
		root := Parse(file, &diags)
		if root == nil {
			t.Fatal(diags.All())
		}
		list := root.Get("a")
		if list == nil {
			list = root.Get("p").Get("a")
		}
		if got := [2]string{file.Slice(list.Span), file.Slice(list.Items[0].Span)}; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// checkSpans parses the text of each entry's value again, on its own, and
// compares: a span that is too short or too long says something else.
func checkSpans(t *testing.T, file *source.File, n *Node) {
	t.Helper()
	for _, e := range n.Entries {
		checkValue(t, file, e.Value)
	}
	for _, x := range n.Items {
		checkValue(t, file, x)
	}
}

func checkValue(t *testing.T, file *source.File, n *Node) {
	t.Helper()
	if n.Target() != nil {
		if s := file.Slice(n.Span); s[0] != '*' || strings.ContainsAny(s, " \n,]}") {
			t.Errorf("alias's span is %q", s)
		}
		return
	}
	checkSpans(t, file, n)
	text := file.Slice(n.Span)
	if n.Kind == Scalar {
		text = dedent(file, n)
	} else if n.Style == Block {
		column := int(n.Span.Start - file.LineStart(n.Span.Start))
		text = strings.Repeat(" ", column) + text + "\n"
	}
	if strings.Contains(text, "*base") || n.Kind == Scalar && n.Style == Plain && n.Value == "12" {
		return // an anchor, or a tag, is outside of the span
	}
	_, again, diags := parseText(t, text)
	if again == nil {
		t.Errorf("span %q does not parse: %v", text, diags)
		return
	}
	if n.Style == Literal || n.Style == Folded {
		if got, want := strings.TrimRight(again.Value.(string), "\n"), strings.TrimRight(n.Value.(string), "\n"); got != want {
			t.Errorf("span %q: %q, want %q", text, got, want)
		}
		return
	}
	if diff := cmp.Diff(string(value.EncodeJSON(n.Data())), string(value.EncodeJSON(again.Data()))); diff != "" {
		t.Errorf("span %q: %s", text, diff)
	}
}

// dedent makes a scalar's text stand on its own.
func dedent(file *source.File, n *Node) string {
	if n.Style == Literal || n.Style == Folded {
		return " " + file.Slice(n.Span)
	}
	return file.Slice(n.Span)
}

// Plain scalars are what Heat makes of them, not what the library does.
func TestPlainScalars(t *testing.T) {
	for text, want := range map[string]string{
		"yes": "true", "on": "true", "Off": "false", "y": `"y"`, "~": "null", "": "null", "NULL": "null",
		"0o10": `"0o10"`, "010": "8", "0x1F": "31", "0b11": "3", "1_000": "1000", "08": `"08"`, "0_": "0", "-0x1f": "-31",
		"1e3": `"1e3"`, "1.0e3": `"1.0e3"`, "1.0e+3": "1000.0", "1.": "1.0", ".5": "0.5", "-.5": `"-.5"`, "._5": `"._5"`,
		"12:30:45": "45045", "1:60": `"1:60"`, "190:20:30.15": "685230.15", "-1:30": "-90", "0:30": `"0:30"`,
		"2018-08-31": `"2018-08-31"`, "2018-08-31T10:00:00Z": `"2018-08-31T10:00:00Z"`, ".inf": "Infinity", "-.INF": "-Infinity",
		"123456789012345678901234567890": "123456789012345678901234567890", "+12": "12", "-": `"-"`, "1-2": `"1-2"`, "_1": `"_1"`,
		"0.1": "0.1", "1e16": `"1e16"`, "10000000000000000.0": "1e+16", "0.00001": "1e-05", "true": "true", "tRue": `"tRue"`,
	} {
		v, ok := resolvePlain(text)
		if got := string(value.EncodeJSON(v)); !ok || got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// What cannot be read is refused with its place.
func TestRefused(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	bomb := "a: &a [x, x]\n"
	for c := 'b'; c < 'z'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [*" + p + ", *" + p + "]\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"tab", "a:\n\tb: 1\n", "t.yaml:2:1: error[H103]"},
		{"second document", "a: 1\n---\nb: 2\n", "t.yaml:3:1: error[H104]"},
		{"not YAML", "a: b: c\n", "t.yaml:1:1: error[H102]"},
		{"unclosed", "a: [1, 2\n", "error[H102]"},
		{"deep", deep, "error[H105]"},
		{"deep but not for the library", strings.Repeat("[", 600) + strings.Repeat("]", 600), "error[H105]"},
		{"alias bomb", bomb, "error[H105]"},
		{"an anchor in itself", "a: &a [*a]\n", "t.yaml:1:8: error[H105]"},
		{"NUL", "a: \x00\n", "t.yaml:1:4: error[H107]"},
		{"not UTF-8", "a: \xff\n", "t.yaml:1:4: error[H107]"},
		{"a list as key", "? [a, b]\n: c\n", "error[H108]"},
		{"equals sign", "a: =\n", "t.yaml:1:4: error[H108]"},
		{"foreign tag", "a: !!python/object:os.system x\n", "error[H108]"},
		{"merge of a scalar", "<<: 1\n", "error[H108]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, root, diags := parseText(t, c.text)
			if root != nil || len(diags) == 0 {
				t.Fatalf("was accepted: %v", diags)
			}
			if !strings.Contains(diags[0].Error(), c.want) {
				t.Errorf("%v, want %s", diags[0], c.want)
			}
		})
	}
}

// A key that stands twice is Heat's last one, and a warning shows the lost one.
func TestDuplicateKey(t *testing.T) {
	_, root, diags := parseText(t, "a: 1\nb: 2\na: 3\n")
	if got := string(value.EncodeJSON(root.Data())); got != `{"a":3,"b":2}` {
		t.Error(got)
	}
	if len(diags) != 1 || diags[0].Severity != source.Warning || diags[0].At.String() != "t.yaml:3:1" ||
		diags[0].Notes[0].At.String() != "t.yaml:1:1" {
		t.Errorf("%v", diags)
	}
}

// Merge keys are flattened as PyYAML does.
func TestMerge(t *testing.T) {
	_, root, diags := parseText(t, "x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz:\n  d: 5\n  <<: [*x, *y]\n  a: 6\n")
	if root == nil || len(diags) > 0 {
		t.Fatal(diags)
	}
	if got := string(value.EncodeJSON(root.Get("z").Data())); got != `{"b":2,"c":4,"a":6,"d":5}` {
		t.Error(got)
	}
}

// FuzzParse: no text makes the reader panic or hang, and every span lies in it.
func FuzzParse(f *testing.F) {
	text, _ := os.ReadFile("testdata/spans.yaml")
	f.Add(text)
	for _, s := range []string{"a: |\n  x\n", "{a: [1, 'b', \"c\"]}", "- &a !!str x\n- *a\n", "? a\n: b", "a:\r\n  - b\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var diags source.Diagnostics
		file := source.NewFile("f.yaml", text)
		root := Parse(file, &diags)
		if root == nil {
			if !diags.Failed() {
				t.Fatal("nothing was read and nothing said")
			}
			return
		}
		var check func(*Node)
		check = func(n *Node) {
			if n.Span.End < n.Span.Start || int(n.Span.End) > len(text) {
				t.Fatalf("span %v in %d bytes", n.Span, len(text))
			}
			if n.Target() != nil {
				return
			}
			for _, x := range n.Items {
				check(x)
			}
			for _, e := range n.Entries {
				check(e.Value)
			}
		}
		check(root)
	})
}

func BenchmarkParse(b *testing.B) {
	text := []byte(largeTemplate(1000))
	b.Run("hot", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var diags source.Diagnostics
			if Parse(source.NewFile("b.yaml", text), &diags) == nil {
				b.Fatal(diags.All())
			}
		}
	})
	b.Run("yaml", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var n yaml.Node
			if err := yaml.Unmarshal(text, &n); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func largeTemplate(servers int) string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2018-08-31\nparameters:\n  image: {type: string}\nresources:\n")
	for i := range servers {
		name, _ := json.Marshal(i)
		b.WriteString("  server" + string(name) + ":\n    type: OS::Nova::Server\n    properties:\n      image: {get_param: image}\n      flavor: m1.small\n    metadata:\n      hotc:\n        roles:\n          - name: app\n            driver: script\n            inputs:\n              a: {get_attr: [server1, first_address]}\n              b:\n                str_replace:\n                  template: http://$x/$y\n                  params: {$x: {get_attr: [server2, url]}, $y: {get_param: image}}\n")
	}
	return b.String()
}

func TestWordsAreTextAsTheirBytesAre(t *testing.T) {
	for at := range 8 {
		for c := range 256 {
			word := []byte("a\n ~b\nz0")
			word[at] = byte(c)
			want := c == '\n' || c >= ' ' && c < 0x7f
			if got := plainWord(binary.LittleEndian.Uint64(word)); got != want {
				t.Errorf("plainWord(%q) = %v", word, got)
			}
		}
	}
}
