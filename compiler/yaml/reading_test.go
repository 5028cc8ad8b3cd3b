package yaml

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

var _ = flag.Bool("update", false, "with -short, ask stock Heat and record its answers in testdata/heat")

func oneOf(g *rand.Rand, of ...string) string { return of[g.IntN(len(of))] }

// readAs gives our reading of a text as JSON, or an error.
func readAs(text string) (string, error) {
	var diags source.Diagnostics
	root := Parse(source.NewFile("t.yaml", []byte(text)), &diags)
	switch {
	case root == nil:
		for _, d := range diags.All() {
			if d.Severity == source.Error {
				return "", d
			}
		}
		return "", errors.New("refused without a reason")
	case root.IsNull() && strings.TrimSpace(text) == "null": // JSON
		return "", errors.New("the template is null")
	case root.IsNull():
		return "{}", nil
	case root.Kind != Map:
		return "", fmt.Errorf("the template is %s", root.Kind)
	}
	return string(value.EncodeJSON(root.Data())), nil
}

func compareReading(t *testing.T, oracle *hottest.Oracle, text string) bool {
	t.Helper()
	heat := oracle.Read(t, text)
	got, err := readAs(text)
	if err != nil && heat.Error == "" && refusedOnPurpose(text, err, heat) {
		return true
	}
	want := ""
	if heat.Error == "" {
		v, err := DecodeJSON([]byte(heat.Value))
		if err != nil {
			t.Fatal(err)
		}
		want = string(value.EncodeJSON(v))
	}
	if (err == nil) != (heat.Error == "") || got != want {
		t.Errorf("%q\nhotc: %s %v\nHeat: %s%s", text, got, err, want, heat.Error)
		return false
	}
	return true
}

// refusedOnPurpose are the texts that Heat reads and hotc refuses, see "What hotc
// does not read" in docs/language.md.
func refusedOnPurpose(text string, err error, heat hottest.Verdict) bool {
	return heat.SecondTry || strings.Contains(text, "!,") || strings.Contains(text, "?") && strings.Contains(err.Error(), "did not find expected") || strings.LastIndex(text, "\ufeff") > 0 ||
		strings.Contains(err.Error(), "refuses the tag") || strings.Contains(err.Error(), "contains itself")
}

// Texts of all kinds are to hotc what they are to PyYAML as Heat uses it.
func TestReadsAsHeat(t *testing.T) {
	oracle := hottest.Start(t)
	for _, scalar := range trickyScalars {
		for _, form := range []string{"a: %s\n", "a: [%s, b]\n", "%s: a\n", "a:\n  - %s\n", "a: {b: %s}\n", "a: !!str %s\n", "a: !!int %s\n",
			"a: !!float %s\n", "a: !!bool %s\n", "a: !!null %s\n", "a: '%s'\n", "? %s\n: b\n", "a: ! %s\n"} {
			compareReading(t, oracle, strings.ReplaceAll(form, "%s", scalar))
		}
	}
	for _, text := range trickyTexts {
		compareReading(t, oracle, text)
		compareReading(t, oracle, strings.ReplaceAll(text, "\n", "\r\n"))
	}
}

var trickyScalars = []string{"yes", "No", "on", "OFF", "y", "N", "true", "True", "tRUE", "~", "null", "Null", "nULL", "", "0", "00", "0_", "_0", "0_7", "08",
	"010", "-010", "+12", "-0", "0x1F", "0xg", "0x_", "0X1", "-0xA_b", "0b11", "0b2", "0b_", "0o17", "1_000", "1__0", "1_", "_1", "123456789012345678901234567890",
	"1.5", "1.", ".5", "-.5", "+.5", "._5", ".5_", "1_0.5_0", "1e3", "1.0e3", "1.0e+3", "1.e+3", ".5e-3", "-1.5E+10", "1.5e+400", ".inf", "-.INF", "+.Inf", ".nan", ".NaN",
	"-.nan", "1:30", "-1:30", "1:60", "0:30", "01:30", "1_0:30", "190:20:30", "190:20:30.15", "1:2:3.", "1:30:", "1.5:30", "12:30:45.", "2018-08-31", "2018-08-31T10:00:00Z",
	"2018-8-1 1:2:3", "=", "<<", "!", "- b", "-b", "?b", "? b", ":b", "b:", "b: c", "b:c", "b #c", "b#c", "#c", "@b", "`b", "%b", "&b", "&b c", "*b", "[b", "]", "{", "}", ",", "b,c",
	"'b'", "'b''c'", "'b", `"b"`, `"b\n"`, `"\x41\u00e9\U0001F600"`, `"\ud83d\ude00"`, `"\q"`, `"\/"`, `"\e\0\a\_\N\L\P"`, "é", "\u2028x", "x\u0085y", "😀", "\ufeffx", "b\tc", "\tb", "|", ">", "|-", "|x", "--- b", "...", "-", "--", "---", "b ", "!!str b", "!foo b", "!<tag:yaml.org,2002:str> 5", "!!binary aGk=", "!!timestamp 2001-01-01", "!!set {a}", "!!seq [1]", "!!map {a: 1}", "!!omap [a: 1]", "!!python/none x", "1 2", "1,2", "0x1F y", "True ", "+", "+.", ".", "..", "0.0", "-0.0", "1e+3", "12e03", "0.1e1", "٣"}

var trickyTexts = []string{"", "\n", "# only a comment\n", "---\n", "---\na: 1\n", "---\na: 1\n...\n", "a: 1\n---\nb: 2\n", "a: 1\n...\n---\n", "%YAML 1.1\n---\na: 1\n", "%YAML 1.2\n---\na: 1\n",
	"%YAML 2.0\n---\na: 1\n", "%TAG ! tag:yaml.org,2002:\n---\na: !str 5\n", "%FOO x\n---\na: 1\n", "\ufeffa: 1\n", "a\n", "- a\n", "5\n", "null\n", `"a"`, `{"a": 1}`, `{"a": 1e3, "b": "\ud83d\ude00", "c": "\/"}`,
	`{"a": 1, "a": 2}`, `{"a": NaN, "b": -Infinity}`, `{"a": 1,}`, `{a: 1e3}`, `{'a': 1e3}`, " \n{\"a\": 1e3}\n ", "{\"a\": \"x\ty\"}", `{"a": 01}`, `{"a": 1.}`, `{"a": .5}`, `{"a": -0}`, `{"a": 1E400}`, `{"a": "\u00e9\u0000"}`,
	"\ufeff{\"a\": 1e3}", "{\"a\": 1e3} # comment", "{\"a\": 1e3}\n---\n", "{\"a\":1e3,\n\"b\":{\"c\":[1,true,null]}}", "{\"a\": \"\x7f\"}", "{\"a\": true, \"b\": yes}", `{"a": "\x41"}`, `{}`, `[]`, `{"a"}`, `{"a":}`,
	"a: 1\na: 2\n", "1: a\n\"1\": b\n", "1: a\n1.0: b\ntrue: c\n", "null: a\n~: b\n", "yes: a\n", "1.5: a\n", "=: a\n", "2018-08-31: a\n", "? a\n", "? a\n? b\n", "? [a]\n: b\n", "? {a: b}\n: c\n", "? |\n  a\n: b\n", "a:\n- b\n- c\n",
	"a:\n- b\n -c\n", "a: b\n c: d\n", "a: b\n c\n", "a:\n  b\n  c\n", "a: \"b\n  c\n\n  d\"\n", "a: 'b\n  c'\n", "a: |\n  b\n   c\n  d\n", "a: |2\n   b\n  c\n", "a: |-\n  b\n\n", "a: |+\n  b\n\n", "a: >\n  b\n  c\n\n  d\n   e\n  f\n", "a: >-\n\n  b\n\n\n  c\n",
	"a: |\n\n\n  b\n", "a: |\n    \n  b\n", "a: |1\n b\n", "a: | # comment\n  b\n", "a: |#x\n  b\n", "a: |\nb: 1\n", "a: |\n\tb\n", "a: >+\n  b\n", "- |\n a\n- b\n", "a: &x 1\nb: *x\n", "a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n", "a: &x {b: 1}\nc: {<<: *x, b: 2}\n",
	"a: &x {b: 1}\nc: {b: 2, <<: *x}\n", "a: &x {b: 1}\ny: &y {b: 2, c: 3}\nc: {<<: [*x, *y]}\n", "c: {<<: {b: 1}}\n", "c: {<<: 5}\n", "c: {<<: [5]}\n", "c: {<<: []}\n", "c: {\"<<\": {b: 1}}\n", "c: {<<: {b: 1}, <<: {d: 2}}\n", "<<: {a: 1}\nb: 2\n", "a: *x\n", "a: &x *x\n", "a: &x [*x]\n", "a: &x {b: 1, <<: *x, c: 2}\n", "a: &x\n  <<: *x\n  b: 1\n", "a: &x {b: 1, <<: *x}\nc: {<<: *x, d: *x}\n", "a: &x {b: 1, <<: [*x]}\n", "a: &x\n  b: 1\n  <<:\n    - *x\nc: *x\n", "a: &x {<<: [{c: 2, b: 3}, *x], b: 1}\n", "a: &x {b: 1, <<: {c: 2}, <<: [*x]}\n",
	"a: &x {b: 1, <<: *x, <<: {c: 2}}\n", "a: &x {b: 1, <<: &l [*x]}\nc: *l\n",
	"a: &x 1\nb: &x 2\nc: *x\n", "&a a: 1\nb: *a\n", "*a : 1\n", "&a : b\n", "a: & b\n", "a: &\n", "a: * b\n", "a: !\n", "a: !!str\n", "a: !!str\nb: 1\n", "a: !!int\n", "a: !foo\n", "a: !foo [1]\n", "a: !foo {b: 1}\n", "a: !!map\n", "!!map\na: 1\n", "!foo\na: 1\n",
	"a: [1, 2\n", "a: [1, 2]]\n", "a: [1,, 2]\n", "a: [,]\n", "a: [1,]\n", "a: {b}\n", "a: {b, c: d}\n", "a: {b: }\n", "a: {b:c}\n", "a: {b:1,c:2}\n", "a: {\"b\":1}\n", "a: {'b':c}\n", "a: [b: c]\n", "a: [b: c, d]\n", "a: [? b : c]\n", "a: {? b : c}\n", "a: {? b}\n", "a: [\"b\":c]\n", "a: [a:b]\n", "a: [http://x/y]\n", "a: {u: http://x/y}\n",
	"a: {url: \"x\", }\n", "a: [\n1,\n2\n]\n", "a: [\n1,\n# c\n2 # d\n]\n", "a: {\n  b: c\n}\n", "a: {\nb: c\n}\n", "a: [1\n, 2]\n", "a: {b: c\n, d: e}\n", "a: [\"x\"\n\"y\"]\n", "a: {x: 1 y: 2}\n", "a: [[1], [2, [3]]]\n", "a: [-1, -b, - c]\n", "a: [?x, :x]\n", "a: {?x: :y}\n", "a: [a #b\n]\n", "a: [#b\n]\n",
	"a:\tb\n", "a: \tb\n", "\ta: b\n", "a:\n\t- b\n", "a:\n  - b\n\t- c\n", "a: b\t# c\n", "- a\n-\tb\n", "a: 1 \n  \nb: 2\n", "a: 'it''s'\n", "a: \"\\\n  b\"\n", "a: \"b \\\n   c\"\n", "a: \"tab\\tq\\\"\"\n", "a: ''\nb: \"\"\n", "a: ' b '\n", "a: b  c\n", "a: b:\n", "a: b : c\n", "a: :\n", "a::b\n", "a :b\n", "a : b\n", "a:b: c\n", "a\tb: c\n", "\"a\": b\n", "'a' : b\n", "\"a\"b: c\n", "a: \"b\" c\n", "a: 'b' # c\n", "a: 'b'#c\n",
	"a: b\n# c\n  # d\ne: f\n", "a:\n# c\n  b: 1\n", "a:\n  b: 1\n # c\n  d: 2\n", "a:\n  b: 1\n c: 2\n", "a:\n    b: 1\n  c: 2\n", "a:\n  - b: 1\n    c: 2\n  - d\n", "a:\n  - - b\n    - c\n", "a:\n  -\n    b: 1\n", "a:\n  - b: 1\n   c: 2\n", "- - a\n", "-\n", "a: -\n", "a: - b\n", "a: ? b\n", "a: [-]\n", "a: [-\n]\n", "a:\n-\n-\n", "a: |\n  é\n  😀\n", "é: ü\n", "a: \u00a0b\n", "a: b\u2028 c\n", "a: b\u0085c: d\n", "a: \"b\u2028c\"\n", "a: |\n  b\u2028  c\n", "a: x\u0080\n", "a: x\u00ad\n", "a: \ue000\n", "a: \ufffe\n", "a: \x7f\n", "a: \x01\n", "a: \x1b[0m\n", "a: b\rc: d\r", "a:\r\n  - b\r\n", "a: \"b\r\n  c\"\n",
	strings.Repeat("a:\n", 3), "a: " + strings.Repeat("x", 2000) + "\n", strings.Repeat("k", 1100) + ": v\n", "\"" + strings.Repeat("k", 1100) + "\": v\n", "? " + strings.Repeat("k", 1100) + "\n: v\n", "a: {" + strings.Repeat("k", 1100) + ": v}\n", "a: [" + strings.Repeat("k", 1100) + ": v]\n", "a: " + strings.Repeat("9", 5000) + "\n", "a: -" + strings.Repeat("9", 4301) + "\n", "a: 0x" + strings.Repeat("f", 5000) + "\n",
	"a: b\n---\n", "a: b\n--- \n", "a: b\n---c\n", "--- a: b\n", "--- {a: b}\n", "--- # c\na: b\n", "---\n---\na: b\n", "...\na: b\n", "a: b\n...\nc: d\n", "a: b\n... # x\n", "a: b\n...x\n", "---a: b\n", "a: |\n  b\n---\n", "a: |\n  b\n ---\n", "a: \"b\n---\nc\"\n", "a: 'b\n...\nc'\n", "a: b\n %c\n", "%a: b\n", "a:\n  %b: c\n", "a: `b`\n", "a: @b\n", "@a: b\n", "a: b`\n", "a: !!str &x b\nc: *x\n", "a: &x !!str b\nc: *x\n", "a: &x-1 b\nc: *x-1\n", "a: &é b\nc: *é\n", "a: &x, b\n", "a: [&x b, *x]\n", "a: [*x , &x b]\n", "a: {&x b: *x}\n", "a: {*x : b}\n"}

// Random texts, and texts with random mistakes.
func TestReadsRandomTextsAsHeat(t *testing.T) {
	oracle := hottest.Start(t)
	failed := 0
	for s := range seedtest.Each(t, 3000, 3081053510, 43034958, 263793989) { // question marks within brackets
		g := rand.New(rand.NewPCG(s, 7))
		text := randomText(g)
		if s%2 == 0 {
			text = withMistakes(g, text)
		}
		if !compareReading(t, oracle, text) {
			t.Log(seedtest.Replay(t, s))
			if failed++; failed == 10 {
				break
			}
		}
	}
}

func randomText(g *rand.Rand) string {
	var b strings.Builder
	writeBlock(g, &b, "", 3)
	return b.String()
}

// writeBlock writes a map in block style.
func writeBlock(g *rand.Rand, b *strings.Builder, indent string, depth int) {
	for range 1 + g.IntN(4) {
		if g.IntN(10) == 0 {
			b.WriteString(indent + oneOf(g, "# comment\n", "\n", "   # c\n"))
		}
		key := oneOf(g, "a", "b", "key", "'q'", `"d"`, "1", "yes", "~", "x y", "<<", "é")
		b.WriteString(indent + key + ":")
		writeValue(g, b, indent, depth)
	}
}

func writeValue(g *rand.Rand, b *strings.Builder, indent string, depth int) {
	deeper := indent + strings.Repeat(" ", 1+g.IntN(3))
	switch n := g.IntN(9); {
	case n == 0 && depth > 0:
		b.WriteString(oneOf(g, "", " &m", " # c", " !!map") + "\n")
		writeBlock(g, b, deeper, depth-1)
	case n == 1 && depth > 0:
		b.WriteString("\n")
		for range 1 + g.IntN(3) {
			b.WriteString(deeper + "-")
			writeValue(g, b, deeper, depth-1)
		}
	case n == 2:
		b.WriteString(" " + oneOf(g, "|", ">", "|-", ">-", "|+", ">+", "|2", "| # c") + "\n")
		for range 1 + g.IntN(4) {
			b.WriteString(deeper + oneOf(g, "text", "more text", "  indented", "", "# no comment", "- x", "k: v", "é\u2028x") + oneOf(g, "\n", "\n", "\n\n", " \n"))
		}
	case n == 3:
		b.WriteString(" " + flow(g, 2) + "\n")
	case n == 4:
		b.WriteString(" " + oneOf(g, "'one\n"+deeper+"two'", "\"one\n\n"+deeper+"two\\\n"+deeper+"three\"", "plain\n"+deeper+"goes on", "*m", "&m x", "!!str 5") + "\n")
	default:
		b.WriteString(" " + scalarText(g) + oneOf(g, "\n", "\n", "  \n", " # c\n", "\r\n"))
	}
}

func scalarText(g *rand.Rand) string { return oneOf(g, trickyScalars...) }

func flow(g *rand.Rand, depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		return scalarText(g)
	}
	var parts []string
	isMap := g.IntN(2) == 0
	for range g.IntN(4) {
		item := flow(g, depth-1)
		if isMap {
			item = oneOf(g, "a", "'b'", `"c"`, "1", "x y", "<<") + oneOf(g, ": ", ":", " : ") + item
		}
		parts = append(parts, item)
	}
	text := strings.Join(parts, oneOf(g, ", ", ",", ",\n    "))
	if isMap {
		return "{" + text + "}"
	}
	return "[" + text + oneOf(g, "", "", ",") + "]"
}

// withMistakes changes a few characters.
func withMistakes(g *rand.Rand, text string) string {
	runes := []rune(text)
	for range 1 + g.IntN(3) {
		i := g.IntN(len(runes))
		switch g.IntN(3) {
		case 0:
			runes = append(runes[:i:i], runes[min(i+1+g.IntN(3), len(runes)):]...)
		case 1:
			runes = append(runes[:i:i], append([]rune(oneOf(g, " ", "\t", "\n", ":", "-", "#", "'", `"`, "[", "]", "{", "}", ",", "|", ">", "&", "*", "!", "%", "?", "\\", "  ", ": ", "- ")), runes[i:]...)...)
		case 2:
			runes[i] = []rune(oneOf(g, " ", "\n", ":", "x", "'", `"`))[0]
		}
		if len(runes) == 0 {
			return ""
		}
	}
	return string(runes)
}

// FuzzJSON: the JSON reader takes any text.
func FuzzJSON(f *testing.F) {
	for _, s := range trickyTexts {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := parseJSON(text)
		if err != nil {
			return
		}
		again, err := DecodeJSON(value.EncodeJSON(n.Data()))
		if err != nil || string(value.EncodeJSON(again)) != string(value.EncodeJSON(n.Data())) {
			t.Fatalf("%q: %s is then %s, %v", text, value.EncodeJSON(n.Data()), value.EncodeJSON(again), err)
		}
	})
}
