package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/lint"
)

const withUnused = `heat_template_version: 2018-08-31
parameters:
  unused: {type: string}
  mode: {type: string, default: yes}
resources:
  v: {type: OS::Heat::Value, properties: {value: {get_param: mode}}}
`

// Guesses about a parameter are left where another file sets it, which Heat would refuse then or
// read otherwise.
func TestFixKnowsWhoSetsAParameter(t *testing.T) {
	for name, c := range map[string]struct {
		beside          map[string]string
		target          string
		removed, quoted bool
	}{
		"nobody":                      {nil, "site.yaml", true, true},
		"an environment":              {map[string]string{"env.yaml": "parameters: {unused: x}\n"}, "site.yaml", false, true},
		"another folder":              {map[string]string{"envs/prod.yaml": "parameter_defaults:\n  mode: yes\n"}, ".", true, false},
		"an environment of JSON":      {map[string]string{"env.json": `{"parameters": {"unused": "x", "mode": true}}`}, ".", false, false},
		"an environment of something": {map[string]string{"env.yaml": "parameters: {other: x}\n"}, ".", true, true},
		"a parent":                    {map[string]string{"root.yaml": "heat_template_version: 2018-08-31\nresources:\n  a: {type: site.yaml, properties: {unused: x}}\n"}, "site.yaml", false, false},
		"a registry":                  {map[string]string{"env.yaml": "resource_registry:\n  My::Site: site.yaml\n"}, "site.yaml", false, false},
		"a repository":                {map[string]string{".git/HEAD": "", "t/other.yaml": "", "env/all.yaml": "parameters: {unused: x}\n"}, "site.yaml", false, true},
		"a large file":                {map[string]string{"package-lock.json": strings.Repeat(" ", 2<<20)}, "site.yaml", true, true},
		"a large environment":         {map[string]string{"env.yaml": "parameters: {other: x}\n" + strings.Repeat(" ", 2<<20)}, "site.yaml", false, false},
		"a registry elsewhere":        {map[string]string{"env/all.yaml": "resource_registry:\n  My::Site: ../site.yaml\n"}, ".", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			texts := map[string]string{"site.yaml": withUnused}
			for path, text := range c.beside {
				texts[path] = text
			}
			files(t, texts)
			changes, report, err := lint.Fix(t.Context(), targets(t, c.target), wishes(), true)
			if err != nil {
				t.Fatal(err)
			}
			after := withUnused
			for _, x := range changes {
				if strings.HasSuffix(x.Path, "site.yaml") {
					after = string(x.After)
				}
			}
			if removed := !strings.Contains(after, "unused"); removed != c.removed {
				t.Errorf("removed: %v", removed)
			}
			if quoted := strings.Contains(after, "'yes'"); quoted != c.quoted {
				t.Errorf("quoted: %v", quoted)
			}
			for _, f := range report.Findings {
				if f.Fix != nil || !strings.Contains(f.Hint, "not fixed: ") {
					t.Errorf("it is still offered, or nothing says why it was left: %v, %s", f, f.Hint)
				}
			}
		})
	}
}

// spoilt are templates of which each second one has a fix that does harm, before one that does not.
func spoilt(n int) map[string]string {
	texts := map[string]string{}
	for i := range n {
		text := fmt.Sprintf("heat_template_version: 2018-08-31\nparameters:\n  unused%d: {type: string}\nresources:\n", i)
		if i%2 == 0 {
			text += "  a: {type: OS::Nova::Server, properties: {flavor: s, flavour: s, image: i, networks: [{network: n}]}}\n"
		}
		texts[fmt.Sprintf("t%d.yaml", i)] = text + "  b: {type: OS::Nova::Server, properties: {flavour: s, image: i, networks: [{network: n}]}}\n"
	}
	return texts
}

// A fix that does harm is left, and keeps no other from being made.
func TestFixLeavesTheHarmful(t *testing.T) {
	texts := spoilt(20)
	files(t, texts)
	changes, report, err := lint.Fix(t.Context(), targets(t, "."), wishes(), true)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) != len(texts) || len(report.Findings) != len(texts)/2 {
		t.Errorf("%d of %d files are fixed, and %d findings left", len(changes), len(texts), len(report.Findings))
	}
	for _, c := range changes {
		if strings.Count(string(c.After), "flavour") != strings.Count(texts[c.Path], "flavor: s, flavour") {
			t.Errorf("%s:\n%s", c.Path, c.After)
		}
	}
}

// BenchmarkFix is to cost as much for each of many templates as for each of a few.
func BenchmarkFix(b *testing.B) {
	b.Chdir(b.TempDir())
	for _, n := range []int{50, 400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var all []lint.Target
			for name, text := range spoilt(n) {
				all = append(all, lint.Target{Path: name, Text: []byte(text)})
			}
			for b.Loop() {
				if _, _, err := lint.Fix(b.Context(), all, wishes(), true); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/template")
		})
	}
}
