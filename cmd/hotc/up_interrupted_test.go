package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ctrl-C ends the relay of hotc up, too: that Heat will wait is said, and what else tells it. Before
// there was anything to relay nothing of that is so.
func TestUpIsInterrupted(t *testing.T) {
	for at, want := range map[string]string{
		"/software_deployments": "interrupted: Heat and the servers go on, but nothing reports to Heat how the roles end",
		"/stacks/site":          "interrupted: what has started goes on without hotc",
	} {
		t.Run(at, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			made := false
			playHeat(t, func(w http.ResponseWriter, r *http.Request) {
				answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
				if made = made || r.Method == http.MethodPost; strings.HasSuffix(r.URL.Path, at) {
					interrupt()
				}
				switch {
				case strings.HasSuffix(r.URL.Path, "/events"):
					answer(map[string]any{"events": []any{}})
				case strings.HasSuffix(r.URL.Path, "/software_deployments"):
					answer(map[string]any{"software_deployments": []any{}})
				case !made:
					w.WriteHeader(http.StatusNotFound)
				default:
					answer(map[string]any{"stack": map[string]any{"stack_name": "site", "id": "1", "stack_status": "CREATE_IN_PROGRESS"}})
				}
			})
			d, template := newDesk(t), filepath.Join(t.TempDir(), "site.yaml")
			if err := os.WriteFile(template, []byte("heat_template_version: 2018-08-31\nresources:\n  db:\n    type: OS::Nova::Server\n    properties: {image: debian, flavor: small}\n    metadata: {hotc: {roles: [{name: mysql, driver: script, source: 'true'}]}}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs strings.Builder
			status := run(ctx, []string{"up", template, "--stack", "site", "--coordinator", d.url, "--agent-url", "http://127.0.0.1/agent", "--agent-sha256", "amd64=" + strings.Repeat("0", 64), "--agent-sha256", "arm64=" + strings.Repeat("0", 64)},
				streams{in: strings.NewReader(""), out: &out, err: &errs})
			if all := out.String() + errs.String(); status != exitError || !strings.Contains(all, want) || !strings.Contains(all, "return to it with the same command: hotc up ") {
				t.Errorf("it ends with %d, want %q:\n%s", status, want, all)
			}
		})
	}
}
