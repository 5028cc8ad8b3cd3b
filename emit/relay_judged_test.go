package emit_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// With a relay no server gets credentials, Heat waits by software deployments, and
// whatever the program is like stock Heat accepts it without a warning. What comes of a
// few stands beside them, to be read in review.
func TestRelayAccepted(t *testing.T) {
	read := map[string]string{"../testdata/three-tier": "site.yaml", "../testdata/crossing": "", "testdata/nested/groups": "main.yaml", "testdata/nested/scaled": "main.yaml", "testdata/nested/held": "main.yaml"}
	cases, err := filepath.Glob("testdata/nested/*/main.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	more, err := filepath.Glob("../testdata/*/site.yaml")
	if err != nil || len(more) == 0 {
		t.Fatal("no cases", err)
	}
	for _, main := range append(append(cases, more...), "../testdata/slurm/cluster.yaml") {
		t.Run(filepath.ToSlash(main), func(t *testing.T) {
			dir := filepath.Dir(main)
			o := nestedOptions(t, dir)
			if base := filepath.Base(dir); base == "plugins" || base == "secret-params" {
				return // they need flags of their own
			}
			o.Template, o.Signal = main, contract.RelaySignals
			if filepath.Base(dir) == "tiers" {
				o.Environments = []string{filepath.Join(dir, "environments/services.yaml"), filepath.Join(dir, "environments/size.yaml")}
				o.Parameters = map[string]string{"workers": "2"}
			}
			r, found := compile(t, o)
			if r == nil {
				t.Fatal(found)
			}
			if _, compare := read[dir]; compare {
				for _, name := range forHeat(r) {
					golden(t, filepath.Join(dir, "expected-relay", name), r.Folder[name])
				}
				checkNothingElse(t, filepath.Join(dir, "expected-relay"), r)
			}
			for _, name := range forHeat(r) {
				for _, not := range []string{"WaitCondition", "hotc_signal", "\"signal\""} {
					if text := string(r.Folder[name]); strings.Contains(text, not) {
						t.Errorf("%s has %s", name, not)
					}
				}
			}
			accepted(t, r)
		})
	}
}
