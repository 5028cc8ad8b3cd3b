package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/plugin"
)

// world has the values of a role. The input "never" does not come, "broken" fails.
type world struct {
	program string
	value   json.RawMessage // of every input; nil: {"is": NAME}
	waits   func()          // for "never"
	mu      sync.Mutex
	wrote   map[string]string
}

func (w *world) Read(ctx context.Context, name string) (json.RawMessage, error) {
	switch name {
	case "never":
		if w.waits != nil {
			w.waits()
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case "broken":
		return nil, errors.New("blocked on db.mysql:x")
	}
	if w.value != nil {
		return w.value, nil
	}
	return json.Marshal(map[string]any{"is": name})
}

func (w *world) Write(_ context.Context, name string, value json.RawMessage) error {
	if name == "undeclared" {
		return errors.New("the role declares no output undeclared")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote[name] = string(value)
	return nil
}

func (w *world) WriteText(ctx context.Context, name string, text []byte) error {
	value, _ := json.Marshal(string(text))
	return w.Write(ctx, name, value)
}

func (w *world) File(context.Context, string) ([]byte, error) { return []byte(w.program), nil }

// run runs a program as the plug-in "x". It returns how that ended, and what was
// published and printed.
func run(t *testing.T, ctx context.Context, program string, patience time.Duration) (end string, wrote map[string]string, prints string) {
	t.Helper()
	return (&world{program: program, wrote: map[string]string{}}).run(t, ctx, patience)
}

func (w *world) run(t *testing.T, ctx context.Context, patience time.Duration) (end string, wrote map[string]string, prints string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	source, _ := json.Marshal(map[string]any{"name": "x", "executable": "0", "source": map[string]any{"a": []int{1}}})
	job := &driver.Job{
		Grace: 8 * time.Second,
		Role: contract.Role{Name: "r", Source: source, Inputs: []contract.Input{{Name: "url"}, {Name: "key", Secret: true, Optional: true}},
			Outputs: []contract.Output{{Name: "o", Type: contract.String}}},
		Folder: t.TempDir(), Work: t.TempDir(), Values: w, Files: w, Stdout: out, Stderr: out,
		Started: func(context.Context) error { return nil }, Environment: os.Environ(),
	}
	d := plugin.Driver{Patience: patience}
	if err := d.Prepare(ctx, job); err != nil {
		t.Fatal(err)
	}
	exit, err := d.Run(ctx, job)
	end = exit.String()
	if err != nil {
		end = err.Error()
	}
	text, _ := os.ReadFile(out.Name())
	w.mu.Lock()
	defer w.mu.Unlock()
	return end, w.wrote, string(text)
}

const hello = "#!/bin/sh\nread start\necho '{\"protocol\": 1}'\n"

func TestConversations(t *testing.T) {
	for _, c := range []struct{ name, program, end, wrote, prints string }{
		{"reads and writes", hello + `echo '{"get": "url"}'; read answer; echo "$answer" >&2; echo '{"put": "o", "value": [1]}'; read answer; echo "$answer" >&2; echo '{"done": true}'`,
			"exit status 0", `map[o:[1]]`, `{"value":{"is":"url"}}` + "\n{}\n"},
		{"gives its questions a name", hello + `echo '{"get": "url", "id": [7]}'; read answer; echo "$answer" >&2; echo '{"done": true}'`, "exit status 0", "map[]", `{"id":[7],"value":{"is":"url"}}` + "\n"},
		{"goes on while it waits", hello + `echo '{"get": "never", "id": 1}'; echo '{"put": "o", "text": "x", "id": 2}'; read answer; echo "$answer" >&2; echo '{"done": true}'`, "exit status 0", `map[o:"x"]`, `{"id":2}` + "\n"},
		{"does not wait for its last answer", hello + `echo '{"put": "o", "value": 1}'; echo '{"done": true}'`, "exit status 0", "map[o:1]", ""},
		{"logs", hello + `printf '%s\n' '{"log": "one\ntwo"}'; echo '{"done": true}'`, "exit status 0", "map[]", "one\ntwo\n"},
		{"is told what is wrong", hello + `echo '{"get": "broken"}'; read answer; echo "$answer" >&2; exit 1`, "exit status 1", "map[]", `{"error":"blocked on db.mysql:x"}` + "\n"},
		{"writes what is not declared", hello + `echo '{"put": "undeclared", "value": 1}'; read answer; echo "$answer" >&2; exit 1`, "exit status 1", "map[]", `{"error":"the role declares no output undeclared"}` + "\n"},
		{"has environment and files", hello + `echo "$HOTC_INPUTS/$HOTC_OUTPUTS/$(cat "$HOTC_SOURCE")" >&2; echo '{"done": true}'`, "exit status 0", "map[]", "url\nkey/o/{\"a\":[1]}\n"},
		{"leaves a daemon that holds its output", hello + `echo '{"put": "o", "value": 1}'; sleep 60 & echo '{"done": true}'`, "exit status 0", "map[o:1]", ""},

		{"says that it failed", hello + `echo '{"failed": "no space left"}'; exit 1`, "plug-in hotc-driver-x: no space left", "map[]", ""},
		{"dies", hello + `echo 'no such table' >&2; exit 3`, "exit status 3", "map[]", "no such table\n"},
		{"is killed", hello + `kill -9 $$`, "killed by a signal (killed)", "map[]", ""},
		{"ends before it is done", hello + `exit 0`, "plug-in hotc-driver-x ended without reporting that it is done", "map[]", ""},
		{"prints garbage", hello + `echo hello; sleep 60`, `plug-in hotc-driver-x: it printed an invalid line (invalid character 'h' looking for beginning of value): "hello"`, "map[]", ""},
		{"prints other JSON", hello + `echo '{"got": "url"}'; sleep 60`, `plug-in hotc-driver-x: it printed an invalid line (json: unknown field "got"): "{\"got\": \"url\"}"`, "map[]", ""},
		{"prints two things in one", hello + `echo '{"get": "url", "put": "o"}'; sleep 60`, `plug-in hotc-driver-x: it printed an invalid line: "{\"get\": \"url\", \"put\": \"o\"}"`, "map[]", ""},
		{"prints two lines in one", hello + `echo '{"get": "url"} {"get": "url"}'; sleep 60`, `plug-in hotc-driver-x: it printed an invalid line (more than one value): "{\"get\": \"url\"} {\"get\": \"url\"}"`, "map[]", ""},
		{"prints bytes", hello + `printf '\377\376\n'; sleep 60`, `plug-in hotc-driver-x: it printed an invalid line (invalid character 'ÿ' looking for beginning of value): "?"`, "map[]", ""},
		{"does not greet", "#!/bin/sh\n" + `echo '{"get": "url"}'; sleep 60`, `plug-in hotc-driver-x: its first line is not {"protocol": 1}`, "map[]", ""},
		{"speaks another version", "#!/bin/sh\n" + `echo '{"protocol": 2}'; sleep 60`, `plug-in hotc-driver-x: it uses version 2 of the protocol, this agent version 1`, "map[]", ""},
		{"goes on after it is done", hello + `echo '{"done": true}'; echo '{"get": "url"}'; sleep 60`, `plug-in hotc-driver-x: it sent a line after {"done": true}`, "map[]", ""},
		{"floods with a line", hello + `yes | tr -d '\n'`, `plug-in hotc-driver-x: it printed a line longer than 16777216 bytes`, "map[]", ""},
		{"floods with questions, and hears no answer", hello + `yes '{"get": "never"}'`, `plug-in hotc-driver-x: it has more than 256 concurrent requests`, "map[]", ""},
		{"floods with garbage", hello + `yes`, `plug-in hotc-driver-x: it printed an invalid line (invalid character 'y' looking for beginning of value): "y"`, "map[]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			end, wrote, prints := run(t, t.Context(), c.program, time.Minute)
			if end != c.end || fmt.Sprint(wrote) != c.wrote || prints != c.prints {
				t.Errorf("\n ends with %s\n want      %s\n wrote %v, want %s\n prints %q, want %q", end, c.end, wrote, c.wrote, prints, c.prints)
			}
		})
	}
}

// A plug-in that hangs is ended where it must say something, and not where it works.
// One that is to say something in time has time enough on a machine that is busy.
func TestOneThatHangs(t *testing.T) {
	for name, c := range map[string]struct {
		patience      time.Duration
		program, want string
	}{
		"says nothing": {500 * time.Millisecond, "#!/bin/sh\nsleep 60",
			`plug-in hotc-driver-x: it printed nothing within 500ms; its first line must be {"protocol": 1}`},
		"says nothing, and will not end": {500 * time.Millisecond, "#!/bin/sh\ntrap '' TERM\nsleep 60 <&- >&- 2>&- & wait; wait",
			`plug-in hotc-driver-x: it printed nothing within 500ms; its first line must be {"protocol": 1}`},
		"is done, and goes on": {8 * time.Second, hello + `echo '{"done": true}'; sleep 60`,
			`plug-in hotc-driver-x: it reported that it is done, but did not end within 8s`},
		"works": {8 * time.Second, hello + `sleep 10; echo '{"done": true}'`, `exit status 0`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if end, _, _ := run(t, t.Context(), c.program, c.patience); end != c.want {
				t.Errorf("%s\n ends with %s\n want %s", c.program, end, c.want)
			}
		})
	}
}

// When the role is ended, so is a plug-in that waits.
func TestARoleThatIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &world{program: hello + `echo '{"get": "never"}'; read answer; echo '{"done": true}'`, waits: cancel, wrote: map[string]string{}}
	if end, _, _ := w.run(t, ctx, time.Minute); !strings.Contains(end, "terminated") {
		t.Error(end)
	}
}

// The first line says all that a plug-in needs to know.
func TestTheFirstLine(t *testing.T) {
	_, _, prints := run(t, t.Context(), "#!/bin/sh\nread -r start\necho \"$start\" >&2\necho '{\"protocol\": 1}'\necho '{\"done\": true}'", time.Minute)
	var line map[string]any
	if err := json.Unmarshal([]byte(prints), &line); err != nil {
		t.Fatal(err, prints)
	}
	for _, key := range []string{"folder", "work"} {
		if path, _ := line[key].(string); !filepath.IsAbs(path) {
			t.Errorf("%s: %v", key, line[key])
		}
		delete(line, key)
	}
	got, _ := json.Marshal(line)
	want := `{"inputs":[{"name":"url"},{"name":"key","optional":true,"secret":true}],"outputs":[{"name":"o","type":"string"}],"protocol":1,"role":"r","source":{"a":[1]},"trees":{}}`
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	for source, says := range map[string]string{
		`{"name": "../x", "source": 1}`:                        `names the plug-in "../x"`,
		`{"name": "x", "more": 1}`:                             `unknown field "more"`,
		`{"name": "x", "trees": {"../../etc": {"file": "0"}}}`: `has a tree "../../etc"`,
	} {
		job := &driver.Job{Role: contract.Role{Source: json.RawMessage(source)}, Folder: t.TempDir()}
		if err := (plugin.Driver{}).Prepare(t.Context(), job); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// A plug-in that did not come with the plan is a tool of the server's.
func TestOneOfTheServers(t *testing.T) {
	d := plugin.Driver{}
	role := contract.Role{Source: json.RawMessage(`{"name": "hotc-none", "source": 1}`)}
	tool, needed := driver.ToolFor(d, role)
	if !needed || tool.Program != "hotc-driver-hotc-none" || tool.From != "none" {
		t.Errorf("%v %+v", needed, tool)
	}
	if err := d.Check(t.Context(), role); err == nil || !strings.Contains(err.Error(), "is not on this server") {
		t.Error(err)
	}
	role.Install = &contract.Install{From: "url"}
	if err := d.Check(t.Context(), role); err != nil {
		t.Error(err)
	}
	if _, needed := driver.ToolFor(d, contract.Role{Source: json.RawMessage(`{"name": "x", "executable": "0", "source": 1}`)}); needed {
		t.Error("one that came with the plan is looked for")
	}
}

// The examples pass the checks that authors are offered, and what is wrong is found.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name, program string
		fails         []string
	}{
		{"hotc-driver-good", hello2 + `echo '{"get": "url"}'; read answer; case $answer in *error*) exit 1 ;; esac; echo '{"put": "o", "text": "x"}'; read answer; echo '{"done": true}'`, nil},
		{"hotc-driver-goes-on", hello2 + `echo '{"get": "url"}'; read answer; echo '{"put": "o", "text": "x"}'; read answer; echo '{"done": true}'`,
			[]string{"run: it fails when an input fails: it reported success, but could not read url"}},
		{"hotc-driver-forgets", hello2 + `echo '{"done": true}'`, []string{"run: it succeeds, and publishes every output: it does not publish o"}},
		{"hotc-driver-guesses", hello2 + `echo '{"get": "uri"}'; read answer; exit 1`, []string{"run: it succeeds, and publishes every output: it reads \"uri\", which is not an input"}},
		{"hotc-driver-stubborn", hello2 + `trap '' TERM; echo '{"get": "url"}'; read answer; case $answer in *error*) exit 1 ;; esac; echo '{"put": "o", "text": "x"}'; echo '{"done": true}'`,
			[]string{"run: it ends on SIGTERM: it had to be killed: it did not end within 1s after SIGTERM"}},
		{"hotc-driver-hangs", hello2 + `echo '{"get": "url"}'; read answer; case $answer in *error*) sleep 60 ;; esac; exit 1`,
			[]string{"run: it fails when an input fails: it did not end within 8s after an input's failure"}},
		{"hotc-driver-mute", "#!/bin/sh\nexit 0", []string{"compile: it answers with one line: its output is not a valid answer (EOF): \"\""}},
		{"other", "#!/bin/sh\n", []string{"it is an executable with a valid name: its name must be hotc-driver-NAME, with a NAME of lower-case letters, digits, - and _"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trial := plugin.NewTrial(filepath.Join(t.TempDir(), c.name))
			if err := os.WriteFile(trial.Path, []byte(c.program), 0o755); err != nil {
				t.Fatal(err)
			}
			var failed []string
			try(t, trial, func(check string, err error) {
				if skipped := new(plugin.ErrSkipped); err != nil && !errors.As(err, &skipped) {
					failed = append(failed, check+": "+err.Error())
				}
			})
			if len(c.fails) == 0 && len(failed) > 0 {
				t.Errorf("%q", failed)
			}
			for _, want := range c.fails {
				if !slices.Contains(failed, want) {
					t.Errorf("%q is not among %q", want, failed)
				}
			}
		})
	}
}

// hello2 answers compile, too.
const hello2 = "#!/bin/sh\nread start\necho '{\"protocol\": 1}'\n[ \"$1\" = run ] || exit 0\n"

func try(t *testing.T, trial *plugin.Trial, report plugin.Report) {
	t.Helper()
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	trial.Source, trial.Said, trial.Folder, trial.Environment = json.RawMessage(`"text"`), said, t.TempDir(), os.Environ()
	trial.Agent, trial.Grace = "/bin/true", time.Minute
	switch {
	case strings.HasSuffix(trial.Path, "stubborn"):
		trial.Grace = time.Second
	case strings.HasSuffix(trial.Path, "hangs"):
		trial.Patience = 8 * time.Second
	}
	trial.Inputs = []plugin.TrialInput{{Name: "url", Value: json.RawMessage(`"x"`)}}
	trial.Outputs = []contract.Output{{Name: "o", Type: contract.String}}
	trial.Run(t.Context(), report)
}
