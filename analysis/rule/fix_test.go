package rule_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/lint"
)

// For every template beside the rules: after a safe fix Heat's verdict is unchanged or
// better; so it is after an unsafe one. Fixed findings are gone, no others appear, and a
// second run changes nothing.
func TestFixesHold(t *testing.T) {
	fixed := 0
	for _, file := range chunkFiles(t) {
		for _, c := range readChunks(t, file) {
			if safe, unsafe := fixable(c); safe+unsafe == 0 {
				continue
			}
			fixed++
			t.Run(file+"/"+c.title, func(t *testing.T) {
				in := c.write(t).Input
				before := stockHeat.Oracle(t).Validate(t, in)
				t.Chdir(filepath.Dir(in.Template))
				found := codes(mend(t, c, "", false).Findings)
				for _, how := range []string{"safe", "unsafe"} {
					report := mend(t, c, how, true)
					for _, code := range codes(report.Findings) {
						if i := slices.Index(found, code); i < 0 {
							t.Errorf("%s: %s was not found before", how, code)
						} else {
							found = slices.Delete(found, i, i+1)
						}
					}
					found = codes(report.Findings)
					if after := stockHeat.Oracle(t).Validate(t, in); before.Accepted && !after.Accepted {
						t.Errorf("%s: Heat refuses what it took: %s", how, after.Error)
					}
				}
				if safe, unsafe := mend(t, c, "", false).Fixable(); safe+unsafe > 0 {
					t.Logf("%d fixes were not made: something else would be found", safe+unsafe)
				}
			})
		}
	}
	if fixed == 0 {
		t.Error("no template beside the rules has a fix")
	}
}

// An entry with comments is not removed, and one that may describe the next entry stays.
func TestFixesKeepComments(t *testing.T) {
	const head, rest = "heat_template_version: 2018-08-31\nparameters:\n", "resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: b}}}}\n"
	for text, want := range map[string]string{
		"  # of a\n  # more of a\n  a: {type: string}\n\n  # of b\n  b: {type: string}\n":       "",
		"  b: {type: string}\n\n  # of a\n  a: {type: string}\n":                                "",
		"  a:\n    # a name\n    type: string\n  b: {type: string}\n":                           "",
		"  a:\n    type: string # a name\n  b: {type: string}\n":                                "",
		"  # of both\n  a: {type: string}\n  b: {type: string}\n":                               "  # of both\n  b: {type: string}\n",
		"  a:\n    type: string\n    description: |\n      # no comment\n  b: {type: string}\n": "  b: {type: string}\n",
		"  a: {type: string, description: 'no # comment'}\n\n  b: {type: string}\n":             "\n  b: {type: string}\n",
		"# of all\n  a: {type: string}\n\n  b: {type: string}\n":                                "# of all\n\n  b: {type: string}\n",
	} {
		found := chunk{"", map[string]string{"main.yaml": head + text + rest}}.lint()
		if len(found) != 1 || (found[0].Fix == nil) != (want == "") {
			t.Errorf("%q: %v", text, found)
			continue
		}
		if want == "" {
			continue
		}
		if got, err := source.Apply([]byte(head+text+rest), found[0].Fix.Edits); err != nil || string(got) != head+want+rest {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// fixable counts the fixes of a chunk's findings.
func fixable(c chunk) (safe, unsafe int) {
	r := lint.Report{}
	for _, d := range c.lint() {
		r.Findings = append(r.Findings, lint.Finding{Diagnostic: d})
	}
	return r.Fixable()
}

func codes(found []lint.Finding) (out []string) {
	for _, f := range found {
		out = append(out, string(f.Code))
	}
	return out
}

// mend fixes a chunk's files in the working directory.
func mend(t *testing.T, c chunk, how string, write bool) *lint.Report {
	t.Helper()
	o := lint.Options{Compile: emit.Options{Environments: c.environments(), Parameters: map[string]string{}, Signal: "heat",
		Limits: emit.DefaultLimits, Drivers: []driver.Driver{script.Driver}, Version: "test"}}
	targets := []lint.Target{{Path: "main.yaml"}}
	if how == "" {
		report, err := lint.Run(t.Context(), targets, o)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	changes, report, err := lint.Fix(t.Context(), targets, o, how == "unsafe")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range changes {
		if err := x.Write(); write && err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(x.Path); err != nil || string(now) != string(x.After) {
			t.Errorf("%s: %q, %v", x.Path, now, err)
		}
	}
	if again, _, err := lint.Fix(t.Context(), targets, o, how == "unsafe"); err != nil || len(again) > 0 {
		t.Errorf("mended again: %d, %v", len(again), err)
	}
	return report
}
