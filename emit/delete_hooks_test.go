package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/emit/heat"
)

// Heat waits at each server of a tree whose roles have a delete hook; without a relay, which alone
// lets it go on when a member leaves, only at those of the root, and it is said.
func TestDeleteHooksEnvironment(t *testing.T) {
	dir := t.TempDir()
	server := "{type: OS::Nova::Server, properties: {image: i, flavor: f}, metadata: {hotc: {roles: [{name: r, driver: script, source: 'true', hooks: {delete: 'true'}}]}}}"
	for name, text := range map[string]string{
		"site.yaml": "heat_template_version: 2018-08-31\nresources:\n  db: " + server +
			"\n  web: {type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: " + server + "}}" +
			"\n  app: {type: OS::Heat::AutoScalingGroup, properties: {min_size: 1, max_size: 2, resource: " + server + "}}" +
			"\n  own: {type: OS::Heat::AutoScalingGroup, properties: {min_size: 1, max_size: 2, resource: {type: tier.yaml}}}" +
			"\n  tier: {type: other.yaml}\n",
		"tier.yaml":  "heat_template_version: 2018-08-31\nresources:\n  inner: " + server + "\n",
		"other.yaml": "heat_template_version: 2018-08-31\nresources:\n  inner: " + server + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hook := func(at string) string { return at + "hooks: pre-delete\n" }
	want := map[contract.Signalling]string{
		contract.AgentsSignal: "    db:\n" + hook("      "),
		contract.RelaySignals: "    app:\n      '*':\n        server:\n" + hook("          ") + "    db:\n" + hook("      ") + "    own:\n      '*':\n        inner:\n" + hook("          ") +
			"    tier:\n      inner:\n" + hook("        ") + "    web:\n      \"0\":\n        server:\n" + hook("          ") + "      \"1\":\n        server:\n" + hook("          "),
	}
	for signal, want := range want {
		o := options(filepath.Join(dir, "site.yaml"))
		o.Signal = signal
		r, found := compile(t, o)
		if r == nil {
			t.Fatal(found)
		}
		if got := string(r.Folder[heat.DeleteHooksFile]); !strings.HasSuffix(got, "resource_registry:\n  resources:\n"+want) {
			t.Errorf("%s:\n%s", signal, got)
		}
		if said := strings.Count(found, "without waiting for the delete hook"); (signal == contract.RelaySignals) != (said == 0) {
			t.Errorf("%s: it is said %d times:\n%s", signal, said, found)
		}
	}
}
