package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Heat gets the stack's time-out where one is given. One that was too short is what has failed; with
// a longer one the stack is still the one that was asked for.
func TestTheStacksTimeOut(t *testing.T) {
	var tags string
	var minutes []float64
	state, reason := "", ""
	playHeat(t, func(w http.ResponseWriter, r *http.Request) {
		answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
		if r.Method == http.MethodPost {
			var asked struct {
				Tags    string  `json:"tags"`
				Minutes float64 `json:"timeout_mins"`
			}
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			tags, minutes = asked.Tags, append(minutes, asked.Minutes)
			state, reason = "CREATE_FAILED", "Timed out"
		}
		switch {
		case state == "":
			w.WriteHeader(http.StatusNotFound)
		case strings.HasSuffix(r.URL.Path, "/events"):
			answer(map[string]any{"events": []any{}})
		case strings.HasSuffix(r.URL.Path, "/resources"):
			answer(map[string]any{"resources": []any{}})
		default:
			answer(map[string]any{"stack": map[string]any{"stack_name": "site", "id": "1", "stack_status": state, "stack_status_reason": reason, "tags": strings.Split(tags, ",")}})
		}
	})
	template := filepath.Join(t.TempDir(), "site.yaml")
	if err := os.WriteFile(template, []byte("heat_template_version: 2018-08-31\nresources: {db: {type: OS::Heat::Value, properties: {value: 1}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := func(want int, flags ...string) string {
		t.Helper()
		var out, errs strings.Builder
		args := append([]string{"up", template, "--stack", "site", "--coordinator", "zk://127.0.0.1:1/hotc"}, flags...)
		if status := run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &errs}); status != want {
			t.Errorf("it ends with %d, want %d:\n%s%s", status, want, &out, &errs)
		}
		return out.String() + errs.String()
	}
	if said := up(exitFailed, "--stack-timeout", "5"); !strings.Contains(said, "site is CREATE_FAILED: Timed out") || !strings.Contains(said, "--stack-timeout gives Heat more") || len(minutes) != 1 || minutes[0] != 5 {
		t.Errorf("Heat got %v minutes:\n%s", minutes, said)
	}
	state = "CREATE_COMPLETE"
	if said := up(exitOK, "--stack-timeout", "50"); !strings.Contains(said, "Nothing to change") || len(minutes) != 1 {
		t.Errorf("%v:\n%s", minutes, said)
	}
	if said := up(exitUsage, "--stack-timeout", "-1"); !strings.Contains(said, "whole minutes") {
		t.Error(said)
	}
}
