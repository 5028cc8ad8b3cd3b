package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

var operatorCommands = map[string]func(streams) *cobra.Command{
	"status": newStatusCommand, "why": newWhyCommand, "logs": newLogsCommand,
	"outputs": newOutputsCommand, "destroy": newDestroyCommand,
}

func TestOutputs(t *testing.T) {
	d := newDesk(t)
	d.apply(t)
	app := d.agent(t, "app")
	db := d.agent(t, "db")
	_, err := d.on(t, newOutputsCommand, "url")
	expectCode(t, err, source.OperationFailed, "url has no value yet", "hotc why site app.web")

	put(t, app, "app.web:port", `8080`)
	put(t, db, "db.mysql:endpoint", `"a \"quoted\"\nvalue"`)
	for name, want := range map[string]string{
		"url":               "http://site.example:8080/\n",
		"port":              "8080\n",
		"db.mysql:endpoint": "a \"quoted\"\nvalue\n",
	} {
		if got, err := d.on(t, newOutputsCommand, name); err != nil || got != want {
			t.Errorf("outputs %s: %q (%v), want %q", name, got, err, want)
		}
	}
	all, err := d.on(t, newOutputsCommand)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "outputs.txt", all)
}

func TestFailedOutput(t *testing.T) {
	d := newDesk(t)
	d.apply(t)
	cause := &protocol.Cause{Role: "app.web", Reason: "exit status 7", At: "site.yaml:26:11"}
	report(t, d.agent(t, "app"), map[contract.CellName]*protocol.Cause{"app.web:port": cause}, failure("web", cause, ""))
	_, err := d.on(t, newOutputsCommand, "url")
	expectCode(t, err, source.RoleFailed, "exit status 7 (site.yaml:26:11)")
}

func TestLogs(t *testing.T) {
	d := newDesk(t)
	d.apply(t)
	db := d.agent(t, "db")
	report(t, db, nil, running("mysql"))
	db.WriteLog(t.Context(), "mysql", []byte("one\n"))
	if got, err := d.on(t, newLogsCommand, "db.mysql"); err != nil || got != "one\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := d.on(t, newLogsCommand, "db.mysql", "--json"); err != nil || !json.Valid([]byte(got)) || !strings.Contains(got, `"log": "one\n"`) {
		t.Errorf("%q, %v", got, err)
	}
	followed := make(chan string, 1)
	go func() {
		got, err := d.on(t, newLogsCommand, "db.mysql", "--follow")
		if err != nil {
			t.Error(err)
		}
		followed <- got
	}()
	for _, text := range []string{"one\ntwo\n", "one\ntwo\nthree\n"} {
		db.WriteLog(t.Context(), "mysql", []byte(text))
		time.Sleep(20 * time.Millisecond)
	}
	report(t, db, nil, done("mysql"))
	if got := <-followed; got != "one\ntwo\nthree\n" { // else it follows a role that has ended
		t.Errorf("followed %q", got)
	}
}

func TestDestroyAsks(t *testing.T) {
	d := newDesk(t)
	d.apply(t)
	_, err := d.on(t, newDestroyCommand)
	expectCode(t, err, source.Usage, "--yes")
	for _, want := range []string{"site is destroyed.\n", "Nothing to destroy: there is no deployment site on COORDINATOR.\n"} {
		if got, err := d.on(t, newDestroyCommand, "--yes"); err != nil || d.steady(got) != want {
			t.Errorf("%q (%v), want %q", got, err, want)
		}
	}
	if got, err := d.on(t, newDestroyCommand, "--yes", "--json"); err != nil || !strings.Contains(got, `"destroyed": false`) {
		t.Errorf("%q, %v", got, err)
	}
}

// lockedBuffer is written by a command and read by its test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// --watch says every change, and ends when all has ended.
func TestStatusWatch(t *testing.T) {
	d := newDesk(t)
	d.apply(t)
	var out lockedBuffer
	cmd := newStatusCommand(streams{out: &out, err: &out})
	cmd.SetArgs([]string{"--watch", "--json", "--stack", "site", "--coordinator", d.url, "--secret-file", d.secret})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(t.Context()) }()
	await := func(text string) {
		t.Helper()
		for !strings.Contains(out.String(), text) {
			select {
			case err := <-ended:
				t.Fatalf("it ended (%v):\n%s", err, out.String())
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	await(`"came":false`)
	db, app, lb := d.agent(t, "db"), d.agent(t, "app"), d.agent(t, "lb")
	report(t, db, nil, running("mysql"))
	await(`"status":"running"`)
	report(t, db, nil, done("mysql"))
	report(t, app, nil, done("base"), done("web"))
	report(t, lb, nil, done("proxy"))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if !strings.Contains(lines[len(lines)-1], `"finished":true`) {
		t.Errorf("its last word: %s", lines[len(lines)-1])
	}
}

func TestShellQuote(t *testing.T) {
	for text, want := range map[string]string{
		"": "''", "plain-1.0/x": "plain-1.0/x", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "~": "'~'",
	} {
		if got := shellQuote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 400 * time.Millisecond: "0.4s", 12 * time.Second: "12s", 185 * time.Second: "3m05s",
		130 * time.Minute: "2h10m", 76 * time.Hour: "3d04h",
	} {
		if got := status.Age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
