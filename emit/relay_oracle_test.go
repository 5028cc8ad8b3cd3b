package emit_test

import (
	"os"
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

// A relay cannot open what is sealed for servers: Heat is not to read it.
func TestRelayNoSecrets(t *testing.T) {
	template := filepath.Join(t.TempDir(), "site.yaml")
	text := `heat_template_version: 2018-08-31
resources:
  db:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: 'key=x', outputs: {key: {secret: true}}}]}}
outputs:
  key: {value: {get_attr: [db, key]}}
`
	if err := os.WriteFile(template, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(template)
	o.Signal = contract.RelaySignals
	if r, found := compile(t, o); r != nil || !strings.Contains(found, "H404") || !strings.Contains(found, "db.key here, which is secret") {
		t.Errorf("%v: %s", r != nil, found)
	}
	o.Signal = contract.AgentsSignal
	if r, found := compile(t, o); r == nil {
		t.Error(found)
	}
}
