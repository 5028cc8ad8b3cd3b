package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/seedtest"
)

// stackOf plays a Heat with one stack, and a deployment of it whose roles are done and that needs
// a relay, which is not there.
func stackOf(t *testing.T, answer http.HandlerFunc) *desk {
	t.Helper()
	playHeat(t, answer)
	d, dir := newDesk(t), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/site")); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "plan.json")
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	p["signal"] = "relay"
	if text, err = json.Marshal(p); err == nil {
		err = os.WriteFile(plan, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.on(t, newApplyCommand, dir); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(scenes, func(s scene) bool { return s.name == "all-done" })
	scenes[i].arrange(t, d)
	return d
}

// hasStack answers with a stack in a state.
func hasStack(state, reason, more string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"stack":{"stack_name":"site","id":"1","stack_status":%q,"stack_status_reason":%q,"creation_time":"2026-03-01T09:00:00Z","updated_time":"2026-03-01T11:00:00Z","parameters":{"hotc_secret":"******"%s}}}`, state, reason, more)
	}
}

// Roles that are done say nothing of an update that Heat is at: status and why ask Heat, and say
// so if they cannot, without failing because of it.
func TestStatusAsksHeat(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	none := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"type":"EntityNotFound","message":"The Stack (site) could not be found."}}`))
	}
	for name, c := range map[string]struct {
		heat     http.HandlerFunc
		without  bool // credentials
		text     string
		relay    bool // one is asked for
		done     bool // why says that nothing is waiting
		state    string
		reason   string
		unknown  string
		finished bool
	}{
		"in progress":          {heat: hasStack("UPDATE_IN_PROGRESS", "Stack UPDATE started", ""), text: "Heat: UPDATE_IN_PROGRESS, begun at 2026-03-01 11:00:00", relay: true, state: "UPDATE_IN_PROGRESS"},
		"complete":             {heat: hasStack("UPDATE_COMPLETE", "Stack UPDATE completed successfully", ""), text: "Heat: UPDATE_COMPLETE, begun at 2026-03-01 11:00:00", relay: true, done: true, state: "UPDATE_COMPLETE", finished: true},
		"failed":               {heat: hasStack("UPDATE_FAILED", "Resource db: "+testSecret+" is\nbad", ""), text: ": Resource db: <hidden> is bad\n", relay: true, done: true, state: "UPDATE_FAILED", reason: "Resource db: <hidden> is bad", finished: true},
		"failed, with secrets": {heat: hasStack("UPDATE_FAILED", "Sup3r is bad", `,"pw":"******"`), text: "it may quote the hidden parameter pw: openstack stack show", relay: true, done: true, state: "UPDATE_FAILED", reason: "not shown, since it may quote the hidden parameter pw: openstack stack show -c stack_status_reason site", finished: true},
		"no such stack":        {heat: none, text: "The stack's state in Heat is unknown: the project has no stack site\n", relay: true, done: true, unknown: "the project has no stack site", finished: true},
		"silent":               {heat: silent, text: "The stack's state in Heat is unknown: no answer within 2s\n", relay: true, done: true, unknown: "no answer within 2s", finished: true},
		"nobody to ask":        {heat: none, without: true, text: "Heat was not asked how the stack is: set $OS_CLOUD", relay: true, done: true, unknown: "no cloud is selected", finished: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "silent" {
				seedtest.SkipShort(t) // it is waited for four times
			}
			d := stackOf(t, c.heat)
			if c.without {
				t.Setenv("OS_AUTH_URL", "")
			}
			status, err := d.on(t, newStatusCommand)
			if err != nil || !strings.Contains(status, c.text) || strings.Contains(status, "hotc relay site") != c.relay || strings.Contains(status, "Sup3r") {
				t.Errorf("status: %v\n%s", err, status)
			}
			why, err := d.on(t, newWhyCommand)
			if err != nil || !strings.Contains(why, c.text) || strings.Contains(why, "hotc relay site") != c.relay || strings.Contains(why, "Nothing is waiting") != c.done {
				t.Errorf("why: %v\n%s", err, why)
			}
			type said struct{ State, Reason, Unknown, Since string }
			want := said{c.state, c.reason, c.unknown, ""}
			if c.state != "" {
				want.Since = "2026-03-01T11:00:00Z"
			}
			var report struct {
				Finished bool
				Heat     said
			}
			text, err := d.on(t, newStatusCommand, "--json")
			if err != nil || json.Unmarshal([]byte(text), &report) != nil || report.Heat != want || report.Finished != c.finished {
				t.Errorf("status: %v\n%s", err, text)
			}
			text, err = d.on(t, newWhyCommand, "--json")
			if report.Heat = (said{}); err != nil || json.Unmarshal([]byte(text), &report) != nil || report.Heat != want {
				t.Errorf("why: %v\n%s", err, text)
			}
		})
	}
}

// A watch goes on while Heat is at work, and ends with it.
func TestWatchGoesOnWithHeat(t *testing.T) {
	asked := 0
	d := stackOf(t, func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked > 1 {
			hasStack("UPDATE_COMPLETE", "", "")(w, r)
			return
		}
		hasStack("UPDATE_IN_PROGRESS", "", "")(w, r)
	})
	text, err := d.on(t, newStatusCommand, "--json", "--watch")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err != nil || asked != 2 || !strings.Contains(lines[0], `"finished":false`) || !strings.Contains(lines[len(lines)-1], `"state":"UPDATE_COMPLETE"`) {
		t.Errorf("%v, asked %d times:\n%s", err, asked, text)
	}
}
