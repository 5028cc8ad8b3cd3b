package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// A cycle is an error if stock Heat refuses it for all values of the parameters, a
// warning if it refuses it for some, and nothing if for none.
func TestCyclesUnderConditions(t *testing.T) {
	const (
		a = "  a: {type: 'OS::Heat::RandomString', "
		b = "  b: {type: 'OS::Heat::RandomString', "
	)
	for name, lines := range map[string]string{
		"none":                              a + "depends_on: b}\n" + b + "depends_on: a}",
		"opposite conditions":               a + "condition: want, depends_on: b}\n" + b + "condition: dont, depends_on: a}",
		"one condition":                     a + "condition: want, depends_on: b}\n" + b + "condition: want, depends_on: a}",
		"one of the two":                    a + "condition: want, depends_on: b}\n" + b + "depends_on: a}",
		"two values of one parameter":       a + "condition: small, depends_on: b}\n" + b + "condition: large, depends_on: a}",
		"two parameters":                    a + "condition: small, depends_on: b}\n" + b + "condition: dont, depends_on: a}",
		"neither of the only two":           a + "condition: {not: large}, depends_on: b}\n" + b + "condition: {not: small}, depends_on: a}",
		"neither of two of many":            a + "condition: {not: {equals: [{get_param: name}, x]}}, depends_on: b}\n" + b + "condition: {not: {equals: [{get_param: name}, y]}}, depends_on: a}",
		"in an if, the branch not taken":    a + "metadata: {m: {if: [want, {get_resource: b}, x]}}}\n" + b + "condition: dont, depends_on: a}",
		"in an if, both branches":           a + "metadata: {m: {if: [want, {get_resource: b}, {get_attr: [b, value]}]}}}\n" + b + "depends_on: a}",
		"in an if, taken":                   a + "metadata: {m: {if: [want, {get_resource: b}, x]}}}\n" + b + "condition: want, depends_on: a}",
		"in ifs of both":                    a + "metadata: {m: {if: [want, {get_resource: b}, x]}}}\n" + b + "metadata: {m: {if: [dont, {get_resource: a}, x]}}}",
		"in an if within an if":             a + "metadata: {m: {if: [want, {if: [dont, {get_resource: b}, x]}, x]}}}\n" + b + "depends_on: a}",
		"and, or":                           a + "condition: {and: [want, small]}, depends_on: b}\n" + b + "condition: {or: [dont, large]}, depends_on: a}",
		"two parameters, alike":             a + "condition: {equals: [{get_param: name}, {get_param: other}]}, depends_on: b}\n" + b + "condition: {and: [{equals: [{get_param: name}, x]}, {equals: [{get_param: other}, y]}]}, depends_on: a}",
		"two parameters, not alike":         a + "condition: {not: {equals: [{get_param: name}, {get_param: other}]}}, depends_on: b}\n" + b + "depends_on: a}",
		"a second way that is always there": a + "condition: want, metadata: {m: {if: [dont, {get_resource: b}, x]}}}\n" + b + "depends_on: a, metadata: {m: {get_resource: c}}}\n  c: {type: 'OS::Heat::RandomString', depends_on: b}",
		"an if that an alias stands in":     a + "metadata: {m: {if: [dont, &x {get_resource: b}, x]}, n: {if: [want, *x, x]}}}\n" + b + "condition: want, depends_on: a}",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "main.yaml")
			text := `heat_template_version: 2018-08-31
parameters:
  flag: {type: boolean, default: true}
  size: {type: string, default: s, constraints: [{allowed_values: [s, l]}]}
  name: {type: string, default: x}
  other: {type: string, default: x}
conditions:
  want: {equals: [{get_param: flag}, true]}
  dont: {not: want}
  small: {equals: [{get_param: size}, s]}
  large: {equals: [{get_param: size}, l]}
resources:
` + lines + "\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			refused, asked := 0, 0
			for _, flag := range []bool{true, false} {
				for _, size := range []string{"s", "l"} {
					for _, names := range [][2]string{{"x", "x"}, {"x", "y"}, {"z", "z"}} {
						asked++
						verdict := stockHeat.Oracle(t).Validate(t, heattest.Input{Template: path, Parameters: map[string]any{"flag": flag, "size": size, "name": names[0], "other": names[1]}})
						if strings.Contains(verdict.Error, "Circular") {
							refused++
						}
					}
				}
			}
			_, found := compile(t, options(path))
			want := ""
			switch refused {
			case asked:
				want = "error[H406]"
			case 0:
			default:
				want = "warning[H406]"
			}
			if want == "" && found != "" || want != "" && !strings.Contains(found, want) {
				t.Errorf("Heat refuses it for %d of %d values, hotc says:\n%s", refused, asked, found)
			}
		})
	}
}
