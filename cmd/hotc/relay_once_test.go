package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// waitingHeat plays a Heat whose stack waits for the server db by a software deployment.
func waitingHeat(t *testing.T, refuses func(r *http.Request) (status int, said string)) {
	var mu sync.Mutex
	wait := map[string]any{"id": "w1", "server_id": "stack-1", "config_id": "c1", "action": "CREATE", "status": "IN_PROGRESS", "status_reason": "Deploy data available",
		"creation_time": "2026-11-22T12:00:00Z", "output_values": nil, "input_values": map[string]any{
			"hotc":    map[string]any{"format": contract.HeatWaitFormat, "deployment": "site", "wait": contract.DoneWait},
			"servers": []any{map[string]any{"server": "db", "id": "i-db"}}}}
	playHeat(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if status, said := refuses(r); status != 0 {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"type": "Forbidden", "message": said}})
			return
		}
		switch path := r.URL.Path; {
		case r.Method == http.MethodPut:
			var end map[string]any
			_ = json.NewDecoder(r.Body).Decode(&end)
			wait["status"], wait["status_reason"] = end["status"], end["status_reason"]
			_ = json.NewEncoder(w).Encode(map[string]any{"software_deployment": wait})
		case strings.HasSuffix(path, "/software_deployments"):
			_ = json.NewEncoder(w).Encode(map[string]any{"software_deployments": []any{wait}})
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"stack": map[string]any{"stack_name": "site", "id": "stack-1",
				"stack_status": "CREATE_" + wait["status"].(string), "stack_status_reason": wait["status_reason"]}})
		}
	})
}

// `hotc apply --wait` and `hotc relay --once` end with the stack: well, with a failure's status, or
// with what Heat refuses them.
func TestRelayUntilTheStackEnds(t *testing.T) {
	const site = `heat_template_version: 2018-08-31
resources:
  db:
    type: OS::Nova::Server
    properties: {image: debian, flavor: small}
    metadata: {hotc: {roles: [{name: mysql, driver: script, source: 'true'}]}}
`
	for name, c := range map[string]struct {
		role    protocol.RoleStatus
		refuses string // the method of requests that Heat refuses
		status  int    // by which
		ends    int
		says    string
	}{
		"done":                   {protocol.RoleDone, "", 0, exitOK, "signalled hotc_done to Heat: COMPLETE: all roles are done"},
		"failed":                 {protocol.RoleFailed, "", 0, exitFailed, "the stack has failed: CREATE_FAILED: db.mysql: exit status 7 (site.yaml:6:31)"},
		"may not signal":         {protocol.RoleDone, http.MethodPut, 403, exitError, "these credentials may not do that (PUT software_deployments/w1)"},
		"credentials that ended": {protocol.RoleDone, http.MethodPut, 401, exitError, "does not accept the credentials"},
	} {
		for _, command := range []string{"relay --once", "apply DIR --wait"} {
			t.Run(name+", "+command, func(t *testing.T) {
				waitingHeat(t, func(r *http.Request) (int, string) {
					if r.Method == c.refuses {
						return c.status, "no role for that"
					}
					return 0, ""
				})
				d := newDesk(t)
				dir := t.TempDir()
				template, out := filepath.Join(dir, "site.yaml"), filepath.Join(dir, "made")
				if err := os.WriteFile(template, []byte(site), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := call(t, newCompileCommand, template, "-o", out, "--signal", "relay", "--coordinator", d.url); err != nil {
					t.Fatal(err)
				}
				if _, err := d.on(t, newApplyCommand, out); err != nil {
					t.Fatal(err)
				}
				role := done("mysql")
				if c.role == protocol.RoleFailed {
					role = failure("mysql", &protocol.Cause{Role: "db.mysql", Reason: "exit status 7", At: "site.yaml:6:31"}, "")
				}
				text, err := os.ReadFile(filepath.Join(out, "plan.json"))
				if err != nil {
					t.Fatal(err)
				}
				p, err := protocol.ParsePlan(text)
				if err != nil {
					t.Fatal(err)
				}
				role.Made = p.Servers[0].Roles[0].Made()
				report(t, d.agent(t, "db"), nil, role)
				args := strings.Fields(strings.Replace(command, "DIR", out, 1))
				var said, errs strings.Builder
				status := run(t.Context(), append(args, "--stack", "site", "--coordinator", d.url, "--secret-file", d.secret), streams{in: strings.NewReader(""), out: &said, err: &errs})
				if all := said.String() + errs.String(); status != c.ends || !strings.Contains(all, c.says) {
					t.Errorf("it ends with %d, want %d, and %q:\n%s", status, c.ends, c.says, all)
				}
			})
		}
	}
}
