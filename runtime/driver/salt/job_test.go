package salt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	compiler "github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
	"github.com/hotc-dev/hotc/runtime/driver/salt"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// role is one run of the driver, with the files of its tree: states/, pillar/.
type role struct {
	files           map[string]string
	source          map[string]any // besides file_roots and config
	inputs, outputs []string       // an output "NAME=STATE" is a state's success; "!" before a name: secret, "?": optional
	environment     []string
	agent           *drivertest.Values
}

// ended is how it ended.
type ended struct {
	exit           driver.Exit
	stdout, stderr string
	work           string
}

// everySalt runs a test in the stand-in, and in the real Salt where it is on PATH.
func everySalt(t *testing.T, test func(t *testing.T, program string)) {
	t.Helper()
	t.Run("stand-in", func(t *testing.T) { test(t, standIn(t)) })
	t.Run("salt-call", func(t *testing.T) {
		real, err := exec.LookPath("salt-call")
		if err != nil {
			t.Skip("SKIPPED: no salt-call on PATH (Debian 12 has no Salt); the stand-in was tried")
		}
		test(t, real)
	})
}

// standIn is a program that runs the stand-in of Salt (testdata/standin).
func standIn(t testing.TB) string {
	t.Helper()
	script, err := filepath.Abs("testdata/standin/salt-call.py")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("/usr/bin/python3", "-c", "import jinja2, yaml").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: the stand-in needs Debian's python3-jinja2 and python3-yaml: %s", out)
	}
	path := filepath.Join(t.TempDir(), "salt-call")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\nexec /usr/bin/python3 -B '%s' \"$@\"\n", script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r role) job(t testing.TB, program string) (*driver.Job, func() ended) {
	t.Helper()
	folder, work := t.TempDir(), t.TempDir()
	tree := fstest.MapFS{}
	for name, text := range r.files {
		tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	archive, err := compiler.Archive(fs.FS(tree))
	if err != nil {
		t.Fatal(err)
	}
	// what takes seconds on a machine without name servers
	config := map[string]any{"enable_fqdns_grains": false, "enable_gpu_grains": false}
	source := map[string]any{"file_roots": []any{map[string]any{"file": "x", "path": "states"}}, "config": config}
	if _, is := tree["pillar/top.sls"]; is {
		source["pillar_roots"] = []any{map[string]any{"file": "x", "path": "pillar"}}
	}
	for k, v := range r.source {
		source[k] = v
	}
	raw, err := json.Marshal(source)
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Role{Name: "r", Source: raw}
	for _, name := range r.inputs {
		p.Inputs = append(p.Inputs, plan.Input{Name: strings.TrimLeft(name, "!?"), Time: plan.Run, Secret: name[0] == '!', Optional: name[0] == '?'})
	}
	for _, name := range r.outputs {
		out := plan.Output{Name: strings.TrimLeft(name, "!"), Secret: name[0] == '!'}
		if name, state, is := strings.Cut(out.Name, "="); is {
			out.Name, out.Resource = name, state
		}
		p.Outputs = append(p.Outputs, out)
	}
	server, err := socket.Serve(t.Context(), folder, r.agent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	stdout, stderr := open(t, filepath.Join(work, "stdout")), open(t, filepath.Join(work, "stderr"))
	job := &driver.Job{Role: p, Folder: folder, Work: work, Stdout: stdout, Stderr: stderr, Values: r.agent, Files: drivertest.File(archive),
		Program: program, Started: func(context.Context) error { return nil },
		Environment: append(append(os.Environ(), socket.Variable+"="+server.Path()), r.environment...)}
	return job, func() ended { return ended{stdout: read(stdout.Name()), stderr: read(stderr.Name()), work: work} }
}

// run runs the role to its end.
func (r role) run(t *testing.T, program string) ended {
	t.Helper()
	job, printed := r.job(t, program)
	d := salt.Driver{Grace: process.Grace}
	if err := d.Prepare(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	exit, err := d.Run(t.Context(), job)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, printed().stdout, printed().stderr)
	}
	end := printed()
	end.exit = exit
	return end
}

func (e ended) mustSucceed(t *testing.T) {
	t.Helper()
	if !e.exit.OK() {
		t.Fatalf("the run ended with %v\n%s\n%s", e.exit, e.stdout, e.stderr)
	}
}

func (e ended) lastLine() string {
	lines := strings.Split(strings.TrimSpace(e.stderr), "\n")
	return lines[len(lines)-1]
}

func open(t testing.TB, path string) *os.File {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
