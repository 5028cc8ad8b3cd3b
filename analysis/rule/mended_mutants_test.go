package rule_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
	"github.com/hotc-dev/hotc/emit/lint"
)

// mendedMutant is a mutant before and after its fixes, and how many places they may change.
type mendedMutant struct {
	Before, After string
	Changes       int
	Name          string
}

// Templates are changed at random and fixed by `hotc lint --fix` and `--fix=unsafe`: Heat still
// accepts what it accepted, and reads the fixed text like the original except in as many
// places as there are edits. SEEDS, SEED and DURATION are as in TestMutants.
func TestMendedMutants(t *testing.T) {
	seeds := newSeeds(t)
	var all []mendedMutant
	saved := 0
	for seed := range seedtest.Each(t, 150) {
		m := seeds.mutant(seed)
		if m == nil {
			continue
		}
		edits := 0
		for _, d := range m.lint() {
			if d.Fix != nil {
				edits += len(d.Fix.Edits)
			}
		}
		if edits == 0 {
			continue
		}
		in := m.chunk().write(t).with(m.parameters)
		before := stockHeat.Oracle(t).Validate(t, in)
		if strings.HasPrefix(before.Error, "UserParameterMissing") || cloudOnly.MatchString(before.Error) {
			continue
		}
		for _, unsafe := range []bool{false, true} {
			asText := map[string]string{}
			for name, v := range m.parameters {
				if text, is := v.(string); is {
					asText[name] = text
				} else {
					encoded, _ := json.Marshal(v)
					asText[name] = string(encoded)
				}
			}
			o := lint.Options{Compile: emit.Options{Parameters: asText, Signal: "heat", Limits: emit.DefaultLimits, Drivers: []driver.Driver{script.Driver}, Version: "test"}}
			changes, _, err := lint.Fix(t.Context(), []lint.Target{{Path: in.Template}}, o, unsafe)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				if c.Path != in.Template {
					continue
				}
				all = append(all, mendedMutant{string(c.Before), string(c.After), edits, m.String()})
				mended := m.chunk()
				mended.files["main.yaml"] = string(c.After)
				after := stockHeat.Oracle(t).Validate(t, heattest.Input{Template: mended.write(t).Template, Parameters: stillDeclared(c.After, m.parameters)})
				switch {
				case before.Accepted && !after.Accepted:
					t.Errorf("%s\nmended (unsafe: %v), Heat refuses what it took: %s\n%s\n%s", m, unsafe, after.Error, c.After, seedtest.Replay(t, seed))
				case after.Accepted && !before.Accepted:
					saved++
				}
			}
		}
	}
	if len(all) == 0 {
		t.Skip("NO MUTANT HAD A FIX")
	}
	t.Logf("%d mended, of which Heat refused and now takes %d", len(all), saved)
	sameButForEdits(t, all)
}

// differences prints in how many places two texts differ, as stock Heat reads them: keys that
// are removed or added, values that changed.
const differences = `
import json, sys
from heat.common import template_format

def differ(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return sum(differ(a[k], b[k]) if k in a and k in b else 1 for k in set(a) | set(b))
    if isinstance(a, list) and isinstance(b, list):
        return sum(map(differ, a, b)) + abs(len(a) - len(b))
    return int(a != b or type(a) != type(b))

for x in json.load(sys.stdin):
    n = differ(template_format.simple_parse(x['Before']), template_format.simple_parse(x['After']))
    if not 0 < n <= 2 * x['Changes']:
        print('%s: %d places differ, after %d edits\n%s' % (x['Name'], n, x['Changes'], x['After']))
`

// sameButForEdits compares as Heat reads: an edit changes a value, or a key, which counts as
// one removed and one added.
func sameButForEdits(t *testing.T, all []mendedMutant) {
	t.Helper()
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", "-c", differences)
	cmd.Stdin = bytes.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
