package emit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/emit"
)

// nested puts a text into another one, at %, so many times.
func nested(times int, around, inner string) string {
	for range times {
		inner = strings.ReplaceAll(around, "%", inner)
	}
	return inner
}

// laughs is a map whose aliases stand for ten times as much each.
func laughs(levels int) string {
	var b strings.Builder
	b.WriteString("{a: &a0 [x, x, x, x, x, x, x, x, x, x]")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, ", b%d: &a%d [%s]", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d , ", i-1), 10), ", "))
	}
	return b.String() + "}"
}

// many is a server with so many roles; % in one is its number.
func many(count int, role string) string {
	text := strings.Builder{}
	text.WriteString("heat_template_version: 2018-08-31\nresources:\n  db:\n    type: OS::Nova::Server\n    properties: {image: i, flavor: f}\n    metadata:\n      hotc:\n        roles:\n")
	for i := range count {
		text.WriteString("        - " + strings.ReplaceAll(role, "%", fmt.Sprint(i)) + "\n")
	}
	return text.String()
}

// What few words, or many, make of each other has bounds: nothing takes the machine's
// memory. (How long it takes is measured by make fuzz and make bench.)
func TestLargeInputs(t *testing.T) {
	seedtest.SkipShort(t)
	if testing.Short() {
		t.Skip("NOT COMPILED: large inputs, with -short")
	}
	ones := strings.Repeat("a", 10)
	expressions := map[string]string{
		"replacements in a template": nested(10, "{str_replace: {template: %, params: {a: "+ones+"}}}", ones),
		"replacements in a param":    nested(10, "{str_replace: {template: "+ones+", params: {a: %}}}", ones),
		"joined texts":               nested(12, "{list_join: [%, ["+strings.Repeat("x, ", 20)+"y]]}", "x"),
		"repeated texts":             nested(8, "{repeat: {template: [%], for_each: {x: ["+strings.Repeat("yx, ", 20)+"y]}}}", "x"),
		"aliases":                    laughs(6),
		"fewer aliases":              laughs(4),
	}
	for name, e := range expressions {
		for where, text := range map[string]string{
			"an output": "heat_template_version: 2018-08-31\noutputs: {o: {value: " + e + "}}\n",
			"an input":  many(1, "{name: r, driver: script, source: 'echo $a', inputs: {a: "+e+"}}"),
			"a default": "heat_template_version: 2018-08-31\nparameters: {p: {type: json, default: {x: " + e + "}}}\n",
		} {
			t.Run(name+" in "+where, func(t *testing.T) { withinBounds(t, text) })
		}
	}
	half := "{str_replace: {template: " + strings.Repeat("a", 500) + ", params: {a: {str_replace: {template: " + strings.Repeat("b", 100) + ", params: {b: " + strings.Repeat("c", 200) + "}}}}}}"
	for name, text := range map[string]string{
		"many roles":                        many(10_000, "{name: r%, driver: script, source: 'echo %'}"),
		"many roles in a row":               many(10_000, "{name: r%, driver: script, source: 'echo $a', inputs: {a: x}}"),
		"many inputs that grow":             many(50, "{name: r%, driver: script, source: 'echo $a', inputs: {a: "+half+"}}"),
		"many wrong names":                  many(3_000, "{name: r%, driver: script, source: 'echo', depends_on: [db.x%]}"),
		"long names":                        "heat_template_version: 2018-08-31\nparameters: {" + strings.Repeat("x", 1_000) + ": {type: string}}\noutputs: {o: {value: {get_param: " + strings.Repeat("y", 1_000) + "}}}\n",
		"conditions that name others twice": conditions(30, 0),
		"many uses of a large condition":    conditions(3, 500),
	} {
		t.Run(name, func(t *testing.T) { withinBounds(t, text) })
	}
}

// conditions is a template whose every condition names the one before it four times, and so many
// resources with the last one.
func conditions(levels, resources int) string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2018-08-31\nparameters: {p: {type: string}}\nconditions:\n  c0: {equals: [{get_param: p}, a]}\n")
	for i := range levels {
		fmt.Fprintf(&b, "  c%d: {and: [{or: [c%d, {not: c%d}]}, {or: [{not: c%d}, c%d]}]}\n", i+1, i, i, i, i)
	}
	b.WriteString("resources:\n  v: {type: OS::Heat::Value, properties: {value: a}}\n")
	for i := range resources {
		fmt.Fprintf(&b, "  v%d: {type: OS::Heat::Value, condition: c%d, properties: {value: {if: [c%d, a, b]}}}\n", i, levels, levels)
	}
	fmt.Fprintf(&b, "outputs: {o: {value: {if: [c%d, a, b]}}}\n", levels)
	return b.String()
}

func withinBounds(t *testing.T, text string) {
	m := &mutant{corpus: &corpus{}, files: map[string][]byte{"large.yaml": []byte(text)}, template: "large.yaml", options: func(*emit.Options) {}}
	if o := m.compile(); o.wrong(false) != "" {
		t.Errorf("%s (%d MiB, %v)", o.wrong(false), o.made>>20, o.time)
	} else {
		t.Logf("%d MiB, %v, %v, %.200s", o.made>>20, o.time, o.compiled, o.found)
	}
}
