package puppet_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/puppet"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// trial is a role that is run by the real Puppet. Its values are there, come when
// they are given, or never; what is asked and published is kept in order.
type trial struct {
	t       testing.TB
	source  map[string]any
	outputs map[string]map[string]string // what each is to Puppet
	inputs  []contract.Input
	values  map[string]string
	errors  map[string]error
	// arrives is asked for a value that is not there; nil is an empty answer.
	arrives func(ctx context.Context, name string) (json.RawMessage, error)
	files   map[string][]byte
	onWrite func(name string)
	// sourceText is the source where it is not what the other fields say.
	sourceText string

	mu     sync.Mutex
	events []string
	stdout string
	stderr string
	work   string
}

func newTrial(t testing.TB) *trial {
	t.Helper()
	if test, is := t.(*testing.T); is {
		test.Parallel()
	}
	if testing.Short() {
		t.Skip("NOT RUN with the real tool: -short")
	}
	if _, err := exec.LookPath("puppet"); err != nil {
		t.Skip("SKIPPED: no puppet on PATH (Debian: puppet-agent)")
	}
	work, err := os.MkdirTemp("", "hotc-work-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	return another(&trial{t: t, work: work})
}

// another is another trial of the same test.
func another(r *trial) *trial {
	return &trial{t: r.t, source: map[string]any{}, outputs: map[string]map[string]string{}, values: map[string]string{},
		errors: map[string]error{}, files: map[string][]byte{}, work: r.work}
}

// file is the digest of a file of the plan.
func (r *trial) file(data []byte) string {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	r.files[digest] = data
	return digest
}

func (r *trial) manifest(text string) {
	r.source["manifest"] = map[string]any{"text": r.file([]byte(text)), "name": "site.pp"}
}

func (r *trial) input(name, value string) {
	r.inputs = append(r.inputs, contract.Input{Name: name, Time: contract.Run})
	r.values[name] = value
}

func (r *trial) optional(name, value string) {
	r.input(name, value)
	r.inputs[len(r.inputs)-1].Optional = true
}

func (r *trial) output(kind, name, what string) {
	r.outputs[name] = map[string]string{kind: what}
}

func (r *trial) note(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// Read implements driver.Values.
func (r *trial) Read(ctx context.Context, name string) (json.RawMessage, error) {
	r.note("get " + name)
	if err := r.errors[name]; err != nil {
		return nil, err
	}
	if value, there := r.values[name]; there {
		return json.RawMessage(value), nil
	}
	return r.arrives(ctx, name)
}

// Write implements driver.Values.
func (r *trial) Write(_ context.Context, name string, value json.RawMessage) error {
	r.note("put " + name + " " + string(value))
	if r.onWrite != nil {
		r.onWrite(name)
	}
	return nil
}

// WriteText implements driver.Values.
func (r *trial) WriteText(context.Context, string, []byte) error { panic("not used") }

// File implements driver.Files.
func (r *trial) File(_ context.Context, digest string) ([]byte, error) {
	data, there := r.files[digest]
	if !there {
		return nil, fmt.Errorf("no file %s", digest)
	}
	return data, nil
}

// run runs the role. An error is one of Prepare or Run.
func (r *trial) run() (driver.Exit, error) {
	r.t.Helper()
	folder, err := os.MkdirTemp("", "hotc-puppet-") // Puppet takes a $ for a setting's
	if err != nil {
		r.t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := r.t.Context()
	server, err := socket.Serve(ctx, folder, r)
	if err != nil {
		r.t.Fatal(err)
	}
	defer server.Close()
	r.source["outputs"] = r.outputs
	text, err := json.Marshal(r.source)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.sourceText != "" {
		text = []byte(r.sourceText)
	}
	stdout, stderr := prints(r.t), prints(r.t)
	job := &driver.Job{
		Grace:  time.Second,
		Role:   contract.Role{Name: "role", Driver: "puppet", Source: text, Inputs: r.inputs},
		Folder: folder, Work: r.work, Values: r, Files: r, Stdout: stdout, Stderr: stderr,
		Environment: append(os.Environ(), socket.Variable+"="+server.Path()),
		Started:     func(context.Context) error { return nil },
	}
	for _, name := range slices.Sorted(mapKeys(r.outputs)) {
		job.Role.Outputs = append(job.Role.Outputs, contract.Output{Name: name})
	}
	d := puppet.Driver{}
	exit, err := driver.Exit{}, d.Prepare(ctx, job)
	if err == nil {
		exit, err = d.Run(ctx, job)
	}
	r.stdout, r.stderr = content(r.t, stdout), content(r.t, stderr)
	return exit, err
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// succeed runs the role, which must go well.
func (r *trial) succeed() {
	r.t.Helper()
	exit, err := r.run()
	if err != nil || !exit.OK() {
		r.t.Fatalf("%v, %v\n%s\n%s", exit, err, r.stdout, r.stderr)
	}
}

// fails runs the role, whose last words must hold a text.
func (r *trial) fails(code int, says string) {
	r.t.Helper()
	exit, err := r.run()
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	if last := lines[len(lines)-1]; err != nil || exit.Code != code || !strings.Contains(last, says) {
		r.t.Errorf("%v, %v; the last of\n%s\ndoes not say %q", exit, err, r.stderr, says)
	}
}

func prints(t testing.TB) *os.File {
	file, err := os.Create(filepath.Join(t.TempDir(), "prints"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func content(t testing.TB, file *os.File) string {
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.SplitAfter(string(text), "\n") {
		if !strings.HasPrefix(line, "Error: Facter:") { // what this machine hides from Facter
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// published is an output's value as JSON; "" if it was not published.
func (r *trial) published(name string) string {
	for _, event := range r.events {
		if value, is := strings.CutPrefix(event, "put "+name+" "); is {
			return value
		}
	}
	return ""
}

// before says that one event came before another, and both did.
func (r *trial) before(first, second string) bool {
	a, b := slices.Index(r.events, first), slices.Index(r.events, second)
	return a >= 0 && b > a
}
