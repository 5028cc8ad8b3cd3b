package yaml

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
)

// A large text that passes by gives the nodes that reading it in one gives, whatever stands in it.
func TestPassing(t *testing.T) {
	filler := strings.Repeat("      # filler\n", 4<<10)
	for name, resource := range map[string]string{
		"plain":             "  %s:\n    type: OS::Heat::Value\n    properties: {value: [1, a]}\n",
		"block scalar":      "  %s:\n    type: T\n    text: |\n      x: y\n    \n      resources:\n",
		"folded":            "  %s:\n    >\n     text\n  # a comment\n",
		"long quotes":       "  %s: \"over\n  lines: that\n  look: like\n  names: here\"\n",
		"long brackets":     "  %s: {a: 1,\n  b: 2,\n  c: [3]}\n",
		"anchors":           "  %s: &a%[1]s\n    x: 1\n  u%[1]s: *a%[1]s\n",
		"explicit keys":     "  ? %s\n  : value\n",
		"quoted names":      "  \"%s\":\n    x: 1\n",
		"doubled":           "  same:\n    x: %s\n",
		"not ASCII":         "  %s:\n    x: [ä, 'ö']   # ü\n    y: ß\n",
		"document's end":    "  %s:\n    x: 1\n...\n",
		"tab":               "  %s:\n\tx: 1\n",
		"wrong indentation": "  %s:\n    x: 1\n   y: 2\n",
	} {
		for _, tail := range []string{"", "outputs:\n  o: {value: 1}\n", "# the end", "resources:\n  again: 1\n"} {
			var b strings.Builder
			b.WriteString("heat_template_version: 2018-08-31\ndescription: |\n  resources:\n    x: 1\nresources:   # all\n\n")
			for i := range 4 {
				fmt.Fprintf(&b, resource, fmt.Sprintf("r%d", i))
				b.WriteString(filler)
			}
			b.WriteString(tail)
			passed := comparePassing(t, name, b.String())
			if alike := name == "plain" || name == "block scalar" || name == "quoted names" || name == "not ASCII"; alike && !passed && !strings.HasPrefix(tail, "resources") {
				t.Errorf("%s with tail %q did not pass", name, tail)
			}
		}
	}
}

// Pieces of templates in any order pass in the same way, too.
func TestPassingAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(seedtest.One(t), 2))
	lines := []string{"  a%d:", "    b: 1", "    c: 'x", "  d'", "    e: {f: 1", "  g: 2}", "    h: |", "      text", "   odd: 1", "# c", "", "    - i",
		"outputs:", "resources:", "  ? k", "  : v", "    t: \"u", "  v\"", "---", "    w: [1, 2]", "    <<: {a: 1}"}
	passed := 0
	texts := seedtest.Cases(300, 50)
	for range texts {
		var b strings.Builder
		b.WriteString("resources:\n  first:\n    x: 1\n")
		for b.Len() < minPieces+pieceSize {
			line := lines[random.IntN(len(lines))]
			if random.IntN(10) > 0 {
				line = lines[random.IntN(2)]
			}
			if strings.Contains(line, "%d") {
				line = fmt.Sprintf(line, b.Len())
				b.WriteString("  p" + line[2:] + "\n    x: " + strings.Repeat("y", random.IntN(40000)) + "\n")
				continue
			}
			b.WriteString(line + "\n")
			b.WriteString(strings.Repeat("    # filler\n", random.IntN(3000)))
		}
		if comparePassing(t, "random", b.String()) {
			passed++
		}
	}
	if passed < texts/100 { // about one in fifteen
		t.Errorf("%d texts passed", passed)
	}
}

// comparePassing compares what passes by with the whole. It says whether the text can be read so.
func comparePassing(t *testing.T, name, text string) bool {
	t.Helper()
	file := source.NewFile("t.yaml", []byte(text))
	if !Passing(file, func(bool, []Entry) bool { return true }) {
		return false // it is left to be read in one
	}
	var diags source.Diagnostics
	whole := parseWhole(file, &diags, false)
	if whole == nil {
		t.Errorf("%s: it passes, and cannot be read in one: %v", name, diags.All()[0])
		return true
	}
	if len(diags.All()) > 0 {
		return false // a key stands twice
	}
	type passing struct {
		inResources bool
		Entry
	}
	var want []passing
	for _, e := range whole.Entries {
		if e.Name != "resources" {
			want = append(want, passing{false, e})
			continue
		}
		for _, r := range e.Value.Entries {
			want = append(want, passing{true, r})
		}
	}
	where := ""
	Passing(file, func(inResources bool, entries []Entry) bool {
		for _, e := range entries {
			if !inResources && e.Name == "resources" {
				continue
			}
			switch {
			case where != "":
			case len(want) == 0 || want[0].inResources != inResources || want[0].Name != e.Name || want[0].Key != e.Key:
				where = fmt.Sprintf("%s at %v should not come now", e.Name, e.Key)
			default:
				where = nodesDiffer(want[0].Value, e.Value, e.Name)
				want = want[1:]
			}
		}
		return true
	})
	if where != "" || len(want) > 0 {
		t.Errorf("%s, passing: %.2000s, %d are missing", name, where, len(want))
	}
	return true
}

func TestWhatIsPlainPasses(t *testing.T) {
	file := source.NewFile("t.yaml", []byte(largeTemplate(1000)))
	pieces, resources := 0, 0
	if !Passing(file, func(inResources bool, entries []Entry) bool {
		if inResources {
			pieces, resources = pieces+1, resources+len(entries)
		}
		return true
	}) {
		t.Error("it did not pass")
	}
	if pieces < 4 || resources != 1000 {
		t.Errorf("%d resources passed in %d pieces", resources, pieces)
	}
}
