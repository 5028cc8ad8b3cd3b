package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hotc up shows no value of a hidden parameter: neither in the command that it proposes, which ends
// up in the logs of CI, nor in what Heat says, which quotes the values that its constraints refuse.
func TestUpShowsNoHiddenParameter(t *testing.T) {
	folder := t.TempDir()
	template, environment := filepath.Join(folder, "site.yaml"), filepath.Join(folder, "env.yaml")
	for path, text := range map[string]string{
		template: "heat_template_version: 2018-08-31\nparameters:\n  pw: {type: string, hidden: true}\n  other: {type: string, hidden: true}\n  size: {type: string}\n" +
			"resources: {db: {type: OS::Heat::Value, properties: {value: {list_join: [' ', [{get_param: pw}, {get_param: other}, {get_param: size}]]}}}}\n",
		environment: "parameters: {other: 'Sup3r\"Fromfile'}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	quotes := `"Sup3rSecret" does not match; "Sup3r\"Fromfile" is not allowed`
	up := func(want int) string {
		t.Helper()
		var out, errs strings.Builder
		args := []string{"up", template, "--stack", "site", "--coordinator", "zk://127.0.0.1:1/hotc", "--timeout", "1s", "--parameter", "pw=Sup3rSecret", "-P", "size=large", "-e", environment}
		if status := run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &errs}); status != want {
			t.Errorf("it ends with %d, want %d", status, want)
		}
		return out.String() + errs.String()
	}
	check := func(said string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("it lacks %q", want)
			}
		}
		if strings.Contains(said, "Sup3r") || t.Failed() {
			t.Errorf("it says:\n%s", said)
		}
	}
	again := " --parameter pw=<hidden> --parameter size=large"

	body, err := json.Marshal(map[string]any{"error": map[string]any{"type": "StackValidationFailed", "message": quotes}})
	if err != nil {
		t.Fatal(err)
	}
	refusingHeat(t, http.StatusBadRequest, string(body))
	check(up(exitError), `"<hidden>" does not match; "<hidden>" is not allowed`)

	refusingHeat(t, http.StatusServiceUnavailable, string(body))
	check(up(exitError), "the same command: hotc up", again)

	made := false
	playHeat(t, func(w http.ResponseWriter, r *http.Request) {
		answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
		made = made || r.Method == http.MethodPost
		failed := map[string]any{"resource_name": "db", "resource_type": "OS::Heat::Value", "resource_status": "CREATE_FAILED", "resource_status_reason": quotes, "links": []any{map[string]any{"rel": "stack", "href": fmt.Sprintf("http://%s/v1/p/stacks/site/1", r.Host)}}}
		switch {
		case !made:
			w.WriteHeader(http.StatusNotFound)
		case strings.HasSuffix(r.URL.Path, "/events"):
			failed["id"], failed["event_time"] = "e1", "2026-01-01T00:00:00Z"
			answer(map[string]any{"events": []any{failed}})
		case strings.HasSuffix(r.URL.Path, "/resources"):
			answer(map[string]any{"resources": []any{failed}})
		default:
			answer(map[string]any{"stack": map[string]any{"stack_name": "site", "id": "1", "stack_status": "CREATE_FAILED", "stack_status_reason": quotes}})
		}
	})
	check(up(exitFailed), "run this again", again, "db (OS::Heat::Value): \"<hidden>\" does not", "site is CREATE_FAILED")
}
