package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// A server that a given parameter switches off is missing as one that Heat switches off: a reader
// that follows it takes its default, and an output of the stack is null.
func TestSwitchedOffByAParameter(t *testing.T) {
	text := `heat_template_version: 2018-08-31
parameters: {cached: {type: boolean, default: DEFAULT}}
conditions: {with_cache: {get_param: cached}}
resources:
  cache:
    type: OS::Nova::Server
    condition: with_cache
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: redis, driver: script, source: "url=redis\n", outputs: {url: {}}}]}}
  web:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: app, driver: script, source: "site=$cache\n", RUNS inputs: {cache: {value: {get_attr: [cache, url]}, watch: true, default: none}}, outputs: {site: {}}}]}}
outputs:
  url: {value: {get_attr: [cache, url]}}
  both: {value: [{get_attr: [cache, url]}, {get_attr: [web, site]}]}
  chosen: {value: {if: [with_cache, {get_attr: [cache, url]}, away]}}
`
	for _, signal := range []contract.Signalling{contract.RelaySignals, contract.AgentsSignal} {
		for _, c := range []struct {
			fallback string
			given    map[string]string
		}{{"false", nil}, {"true", map[string]string{"cached": "false"}}, {"false", map[string]string{"cached": "false"}}} {
			if signal == contract.AgentsSignal && c.given == nil {
				continue // what Heat decides is followed only with a relay
			}
			template := filepath.Join(t.TempDir(), "site.yaml")
			if err := os.WriteFile(template, []byte(strings.NewReplacer("DEFAULT", c.fallback, "RUNS", "idempotent: true,").Replace(text)), 0o600); err != nil {
				t.Fatal(err)
			}
			o := options(template)
			o.Signal, o.Parameters = signal, c.given
			r, found := compile(t, o)
			if r == nil {
				t.Errorf("%s, default %s, given %v: %s", signal, c.fallback, c.given, found)
				continue
			}
			accepted(t, r)
			written := string(r.Folder["stack.yaml"])
			if c.given != nil && (!strings.Contains(written, "url: {value: null}") || !strings.Contains(written, "both: {value: [null, ") || !strings.Contains(written, "chosen: {value: {if: [with_cache, {get_attr: [cache, url]}, away]}}")) {
				t.Errorf("%s, default %s, given %v:\n%s", signal, c.fallback, c.given, written)
			}
		}
	}
	// a role that nothing would bring up to date stays refused
	template := filepath.Join(t.TempDir(), "site.yaml")
	if err := os.WriteFile(template, []byte(strings.NewReplacer("DEFAULT", "true", "RUNS", "").Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(template)
	o.Signal, o.Parameters = contract.RelaySignals, map[string]string{"cached": "false"}
	if r, found := compile(t, o); r != nil || !strings.Contains(found, "H321") {
		t.Error(found)
	}
}
