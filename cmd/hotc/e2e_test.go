package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// The whole way, as a user goes it: compile, move the folder, let stock Heat make
// the stack, apply, and for each server run the real agent from the user-data that
// Heat resolved, on a real ZooKeeper. What is played is only the hypervisor.

var (
	stockHeat heattest.Shared
	binaries  struct {
		once sync.Once
		dir  string
		err  error
	}
)

// binary builds hotc and hotc-agent once and returns one of them.
func binary(t testing.TB, name string) string {
	t.Helper()
	binaries.once.Do(func() {
		binaries.dir, binaries.err = os.MkdirTemp("", "hotc-e2e-")
		if binaries.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", binaries.dir+string(filepath.Separator), "github.com/hotc-dev/hotc/cmd/hotc", "github.com/hotc-dev/hotc/cmd/hotc-agent")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			binaries.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if binaries.err != nil {
		t.Fatal(binaries.err)
	}
	return filepath.Join(binaries.dir, name)
}

// world is a ZooKeeper, a secret and a compiled folder.
type world struct {
	t      *testing.T
	url    string
	secret string
	dir    string
}

func newWorld(t *testing.T, template string, flags ...string) *world {
	t.Helper()
	w := &world{t: t, url: zktest.Start(t).URL("hotc"), secret: filepath.Join(t.TempDir(), "secret")}
	w.hotc("secret", "new", w.secret)
	made := filepath.Join(t.TempDir(), "made")
	w.hotc(append([]string{"compile", template, "-o", made, "--coordinator", w.url}, flags...)...)
	w.dir = filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(made, w.dir); err != nil {
		t.Fatal(err)
	}
	return w
}

// hotc runs a command that must succeed and returns what it printed.
func (w *world) hotc(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	failed, is := errors.AsType[*exec.ExitError](err)
	if err != nil && (!is || failed.ExitCode() != exitFailed) { // status and why answer, too, where a role has failed
		w.t.Fatalf("hotc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) try(args ...string) (string, error) {
	cmd := exec.Command(binary(w.t, "hotc"), args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// on adds the flags that name a deployment.
func (w *world) on(stack string, args ...string) []string {
	return append(args, "--stack", stack, "--coordinator", w.url, "--secret-file", w.secret)
}

// input is what Heat gets, with parameters beside the secret.
func (w *world) input(parameters map[string]any) heattest.Input {
	return heattest.Input{Template: filepath.Join(w.dir, "stack.yaml"), Environments: []string{w.secret + ".env.yaml"}, Parameters: parameters}
}

// create lets stock Heat start on the stack.
func (w *world) create(stack string) *heattest.Stack {
	return stockHeat.Oracle(w.t).Create(w.t, stack, w.input(nil))
}

var bootLine = regexp.MustCompile(`(?m)^\{.*"deployment".*\}$`)

// boot runs a server's agent from its user-data. The machine's own facts are the
// stack's: on the test's machine all servers would have the same.
func (w *world) boot(s heattest.Server) *exec.Cmd {
	w.t.Helper()
	line := bootLine.FindString(s.UserData)
	var b contract.Boot
	if err := json.Unmarshal([]byte(line), &b); err != nil {
		w.t.Fatalf("no boot file in the user-data of %s: %v\n%s", s.Name, err, s.UserData)
	}
	address := ""
	for _, list := range s.Addresses {
		address = list[0]
	}
	b.Facts = map[contract.Fact]json.RawMessage{contract.FactID: quoted(s.ID), contract.FactName: quoted(s.PhysicalName), contract.FactFirstAddress: quoted(address)}
	dir := w.t.TempDir()
	text, err := json.Marshal(b)
	if err != nil {
		w.t.Fatal(err)
	}
	file := filepath.Join(dir, "boot.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(binary(w.t, "hotc-agent"), "run", "--boot", file, "--state", filepath.Join(dir, "state"), "--work", filepath.Join(dir, "work"), "--once")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var log lockedBuffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if w.t.Failed() {
			w.t.Logf("agent of %s:\n%s", s.Name, log.String())
		}
	})
	return cmd
}

func quoted(text string) json.RawMessage {
	out, _ := json.Marshal(text)
	return out
}

func (w *world) bootAll(st *heattest.Stack, n int) {
	for _, s := range st.Servers(w.t, n) {
		w.boot(s)
	}
}

func outputsOf(t *testing.T, st *heattest.Stack) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, o := range st.Outputs(t) {
		if o.Error != "" {
			t.Errorf("output %s: %s", name, o.Error)
		}
		out[name] = string(o.Value)
	}
	return out
}

func TestThreeTierSite(t *testing.T) {
	w := newWorld(t, "../../testdata/three-tier/site.yaml")
	st := w.create("site")
	w.bootAll(st, 4)
	if out := w.hotc(w.on("site", "apply", w.dir)...); !strings.Contains(out, "openstack stack create") {
		t.Errorf("apply does not say what comes next: %s", out)
	}
	st.Complete(t)
	got := outputsOf(t, st)
	if !regexp.MustCompile(`^"http://[0-9.]+/"$`).MatchString(got["site"]) || got["database_port"] != "3306" {
		t.Errorf("outputs: %v", got)
	}
	var backends []struct {
		Address string
		Port    int
	}
	if err := json.Unmarshal([]byte(got["backends"]), &backends); err != nil || len(backends) != 2 || backends[1].Port != 8080 {
		t.Errorf("backends: %s", got["backends"])
	}
	if w := st.Warnings(t); len(w) > 0 {
		t.Errorf("Heat warned: %v", w)
	}
	if shown := w.hotc(w.on("site", "outputs", "site")...); strings.TrimSpace(shown) != strings.Trim(got["site"], `"`) {
		t.Errorf("hotc outputs says %s, Heat %s", shown, got["site"])
	}
}

// The cluster's servers need each other: a cycle that Heat's references could not
// express. One folder is deployed twice at the same time on one coordinator.
func TestSlurmTwice(t *testing.T) {
	w := newWorld(t, "../../testdata/slurm/cluster.yaml")
	var stacks []*heattest.Stack
	for _, name := range []string{"blue", "green"} {
		w.hotc(w.on(name, "apply", w.dir)...)
		stacks = append(stacks, w.create(name))
	}
	for _, st := range stacks {
		w.bootAll(st, 3)
	}
	for _, st := range stacks {
		st.Complete(t)
		got := outputsOf(t, st)
		if got["ready"] != "true" || got["members"] != `["node1", "node2"]` && got["members"] != `["node1","node2"]` {
			t.Errorf("%s: %v", st.Name, got)
		}
	}
}

// Every value arrives as it was written.
func TestValuesCrossExactly(t *testing.T) {
	w := newWorld(t, "../../testdata/values/values.yaml")
	w.hotc(w.on("values", "apply", w.dir)...)
	st := w.create("values")
	w.bootAll(st, 2)
	st.Complete(t)
	want := map[string]any{
		"quotes": `it's "quoted" \ and $escaped ` + "`here`", "lines": "one\ntwo\n\n  three\n", "unicode": "Zürich € 漢字 😀", "empty": "",
		"list": []any{1, "two", []any{3.5, nil}, map[string]any{"k": false}},
		"map":  map[string]any{"a": []any{"x", "the inner one"}, "ü": map[string]any{"n": nil}, "get_attr": []any{"not", "a call"}},
		"no":   false, "nothing": nil, "number": json.Number("12345678901234567890"), "large": strings.Repeat("x", 200000), "inner": "the inner one",
		"joined": `it's "quoted" \ and $escaped ` + "`here`" + " and Zürich € 漢字 😀",
	}
	want["seen"] = map[string]any{"large": 200000, "inner": "the inner one", "all": []any{want["quotes"], want["lines"], want["unicode"], "",
		want["list"], want["map"], false, nil, want["number"]}}
	for name, got := range outputsOf(t, st) {
		expected, _ := json.Marshal(want[name])
		if compact(t, got) != compact(t, string(expected)) {
			t.Errorf("%s: %.300s, want %.300s", name, got, expected)
		}
	}
}

// compact is a JSON text with its numbers as they are written, keys sorted.
func compact(t *testing.T, text string) string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%.100s: %v", text, err)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// A role that fails makes the stack fail with its reason, and ends who waits for it.
func TestFailureReachesHeat(t *testing.T) {
	w := newWorld(t, "testdata/failing.yaml")
	w.hotc(w.on("bad", "apply", w.dir)...)
	st := w.create("bad")
	agents := []*exec.Cmd{}
	for _, s := range st.Servers(t, 2) {
		agents = append(agents, w.boot(s))
	}
	s := st.Wait(t)
	if s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, "first.breaks") || !strings.Contains(s.Reason, "the disk is on fire") {
		t.Errorf("%s: %s", s, s.Reason)
	}
	for _, a := range agents {
		if err := a.Wait(); err == nil {
			t.Error("an agent says that all went well")
		}
	}
	why := w.hotc(w.on("bad", "why", "second")...)
	for _, part := range []string{"second.waits", "first.breaks", "the disk is on fire"} {
		if !strings.Contains(why, part) {
			t.Errorf("hotc why does not say %q:\n%s", part, why)
		}
	}
}

// Another plan on a live deployment, and another secret, are refused.
func TestRefusals(t *testing.T) {
	w := newWorld(t, "testdata/failing.yaml")
	w.hotc(w.on("live", "apply", w.dir)...)
	w.hotc(w.on("live", "apply", w.dir)...) // the same again is nothing
	other := newFolder(t, w, "testdata/failing.yaml", "--signal=none")
	if out, err := w.try(w.on("live", "apply", other)...); err == nil || !strings.Contains(out, "H703") {
		t.Errorf("a changed plan: %v\n%s", err, out)
	}
	w.secret = filepath.Join(t.TempDir(), "another")
	w.hotc("secret", "new", w.secret)
	if out, err := w.try(w.on("live", "apply", w.dir)...); err == nil || !strings.Contains(out, "wrong secret") {
		t.Errorf("a wrong secret: %v\n%s", err, out)
	}
}

func newFolder(t *testing.T, w *world, template string, flags ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "other")
	w.hotc(append([]string{"compile", template, "-o", dir, "--coordinator", w.url}, flags...)...)
	return dir
}

// No artifact holds the secret or a token.
func TestNoSecretInArtifacts(t *testing.T) {
	w := newWorld(t, "../../testdata/three-tier/site.yaml")
	secret, err := os.ReadFile(w.secret)
	if err != nil {
		t.Fatal(err)
	}
	st := w.create("quiet")
	tokens := []string{string(secret)}
	for _, s := range st.Servers(t, 4) {
		var b contract.Boot
		if err := json.Unmarshal([]byte(bootLine.FindString(s.UserData)), &b); err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, b.Token)
		if strings.Contains(s.UserData, string(secret)) {
			t.Errorf("the user-data of %s holds the secret", s.Name)
		}
	}
	err = filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, token := range tokens {
			if bytes.Contains(text, []byte(token)) {
				t.Errorf("%s holds a secret", path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
