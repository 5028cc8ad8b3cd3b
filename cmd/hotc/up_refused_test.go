package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// playHeat plays Keystone, and a Heat for which the environment's credentials are good.
func playHeat(t *testing.T, heat http.HandlerFunc) {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
			heat(w, r)
			return
		}
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{"expires_at": "2099-01-01T00:00:00.000000Z", "catalog": []any{map[string]any{
			"type": "orchestration", "name": "heat", "endpoints": []any{map[string]any{"id": "1", "interface": "public", "region": "R", "region_id": "R", "url": s.URL + "/v1/p"}}}}}})
	}))
	t.Cleanup(s.Close)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OS_") || strings.HasPrefix(name, "HOTC_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("OS_AUTH_URL", s.URL+"/v3")
	t.Setenv("OS_APPLICATION_CREDENTIAL_ID", "id")
	t.Setenv("OS_APPLICATION_CREDENTIAL_SECRET", "s")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
}

// refusingHeat plays a Heat without stacks that refuses one.
func refusingHeat(t *testing.T, status int, body string) {
	t.Helper()
	playHeat(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":404,"error":{"type":"EntityNotFound","message":"The Stack (site) could not be found."}}`))
	})
}

// What Heat refuses is said in its own words, with what to do next and, where it names a
// resource, with its place in the template; a quota that a server has met has one, too.
func TestUpSaysWhatHeatRefuses(t *testing.T) {
	fault := func(kind, message string) string {
		text, _ := json.Marshal(map[string]any{"error": map[string]any{"type": kind, "message": message}, "explanation": "There was a problem."})
		return string(text)
	}
	for name, c := range map[string]struct {
		status int
		body   string
		wants  []string
	}{
		"a quota of stacks": {403, fault("Forbidden", "You have reached the maximum stacks per tenant, 100. Please delete some stacks."),
			[]string{"error[H711]", "Heat refuses: You have reached the maximum stacks per tenant, 100.", "hint: delete what is no longer needed"}},
		"a quota of servers": {400, fault("StackValidationFailed", "Property error: resources.db.properties.value: Quota exceeded for instances: Requested 1, but already used 10 of 10 instances"),
			[]string{"site.yaml:3:3: error[H711]", "Quota exceeded for instances", "  db:", "hint: delete what is no longer needed"}},
		"a name that is taken": {409, fault("StackExists", "The Stack (site) already exists."),
			[]string{"error[H711]", "The Stack (site) already exists.", "hint: take another name"}},
		"a template over the limits": {400, fault("RequestLimitExceeded", "Request limit exceeded: Template size (600000 bytes) exceeds maximum allowed size (524288 bytes)."),
			[]string{"error[H711]", "exceeds maximum allowed size (524288 bytes)", "hint: set the cloud's limits with --limit"}},
		"more resources than the limit": {403, fault("StackResourceLimitExceeded", "Maximum resources per stack exceeded."),
			[]string{"error[H711]", "Maximum resources per stack exceeded", "hint: set the cloud's limits with --limit"}},
		"the policy": {403, `{"explanation":"You are not authorized to use the service."}`,
			[]string{"error[H711]", "You are not authorized to use the service.", "these credentials may not do that (POST stacks)"}},
		"a type that the policy keeps": {403, fault("Forbidden", "You are not authorized to use OS::Nova::Flavor."),
			[]string{"error[H711]", "not authorized to use OS::Nova::Flavor"}},
		"a property": {400, fault("StackValidationFailed", "Property error: resources.db.properties.value: Value must be a string"),
			[]string{"site.yaml:3:3: error[H711]", "Value must be a string", "  db:"}},
	} {
		t.Run(name, func(t *testing.T) {
			refusingHeat(t, c.status, c.body)
			template := filepath.Join(t.TempDir(), "site.yaml")
			if err := os.WriteFile(template, []byte("heat_template_version: 2018-08-31\nresources:\n  db:\n    type: OS::Heat::Value\n    properties: {value: 1}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs strings.Builder
			status := run(t.Context(), []string{"up", template, "--stack", "site", "--coordinator", "zk://127.0.0.1:1/hotc", "--timeout", "100ms"}, streams{in: strings.NewReader(""), out: &out, err: &errs})
			for _, want := range c.wants {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("it lacks %q:\n%s", want, errs.String())
				}
			}
			if status != exitError {
				t.Errorf("it ends with %d", status)
			}
		})
	}
}

// What Heat refuses leaves nothing behind: no deployment, no secret, no folder.
func TestWhatHeatRefusesLeavesNothing(t *testing.T) {
	refusingHeat(t, http.StatusForbidden, `{"error":{"type":"Forbidden","message":"You have reached the maximum stacks per tenant, 100."}}`)
	d, template := newDesk(t), filepath.Join(t.TempDir(), "site.yaml")
	if err := os.WriteFile(template, []byte("heat_template_version: 2018-08-31\nresources:\n  db:\n    type: OS::Nova::Server\n    properties: {image: debian, flavor: small}\n    metadata: {hotc: {roles: [{name: mysql, driver: script, source: 'true'}]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := func() string {
		var all strings.Builder
		run(t.Context(), []string{"up", template, "--stack", "site", "--coordinator", d.url, "--agent-url", "http://127.0.0.1/agent", "--agent-sha256", "amd64=" + strings.Repeat("0", 64), "--agent-sha256", "arm64=" + strings.Repeat("0", 64)},
			streams{in: strings.NewReader(""), out: &all, err: &all})
		return all.String()
	}
	said := up()
	if !strings.Contains(said, "You have reached the maximum stacks") || !strings.Contains(said, "its new deployment is removed again") {
		t.Error(said)
	}
	if _, there, err := d.tree.Open().Stat(t.Context(), "site"); there || err != nil {
		t.Errorf("the deployment is there: %v, %v", there, err)
	}
	state := filepath.Join(os.Getenv("XDG_STATE_HOME"), "hotc")
	if left, err := os.ReadDir(state); len(left) > 0 || err != nil {
		t.Errorf("%s has %v: %v", state, left, err)
	}
	if again := up(); !strings.Contains(again, "You have reached the maximum stacks") { // as if nothing had been
		t.Error(again)
	}
	// A deployment that was there before stays, with its secret.
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(testSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "made")
	for _, args := range [][]string{
		{"compile", template, "-o", made, "--coordinator", d.url, "--signal", "relay", "--agent-url", "http://127.0.0.1/agent", "--agent-sha256", "amd64=" + strings.Repeat("0", 64), "--agent-sha256", "arm64=" + strings.Repeat("0", 64)},
		{"apply", made, "--stack", "site", "--coordinator", d.url, "--secret-file", file},
	} {
		var all strings.Builder
		if status := run(t.Context(), args, streams{in: strings.NewReader(""), out: &all, err: &all}); status != 0 {
			t.Fatal(all.String())
		}
	}
	t.Setenv("HOTC_SECRET_FILE", file)
	up()
	if _, there, err := d.tree.Open().Stat(t.Context(), "site/ready"); !there || err != nil {
		t.Errorf("the deployment is gone: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// Where what is compiled finds no room, it is said which variable names another place.
func TestUpFindsNoRoom(t *testing.T) {
	refusingHeat(t, http.StatusForbidden, "{}")
	if os.Geteuid() != 0 {
		t.Skip("a full file system of its own takes root")
	}
	full := t.TempDir()
	if err := syscall.Mount("none", full, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(full, 0) })
	template := filepath.Join(t.TempDir(), "t.yaml")
	for path, text := range map[string]string{template: "heat_template_version: 2018-08-31\n", filepath.Join(full, "fill"): strings.Repeat("x", 4096)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", full)
	var errs strings.Builder
	status := run(t.Context(), []string{"up", template, "--stack", "s", "--coordinator", "zk://127.0.0.1:1/hotc", "--timeout", "100ms"}, streams{in: strings.NewReader(""), out: &errs, err: &errs})
	if status != exitError || !strings.Contains(errs.String(), "no space left") || !strings.Contains(errs.String(), "$TMPDIR") {
		t.Errorf("it ends with %d: %s", status, errs.String())
	}
}
