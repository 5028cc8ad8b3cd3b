package ansible_test

import (
	"context"
	"encoding/json"
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
	"github.com/hotc-dev/hotc/runtime/driver/ansible"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// role is one run of the driver, with the files of its folder of playbooks.
type role struct {
	files           map[string]string
	source          map[string]any // besides playbooks and host; playbook is site.yml
	inputs, outputs []string       // an output "NAME: TASK" is a task's success; "!" before a name: secret, "?": optional
	environment     []string
	agent           *drivertest.Values
}

// ended is how it ended.
type ended struct {
	exit           driver.Exit
	stdout, stderr string
	work           string
}

func needAnsible(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Skip("SKIPPED: no ansible-playbook on PATH: nothing of the ansible driver was tried (Debian: ansible-core)")
	}
	return path
}

func (r role) job(t testing.TB) (*driver.Job, func() ended) {
	t.Helper()
	program := needAnsible(t)
	folder, work := t.TempDir(), t.TempDir()
	tree := fstest.MapFS{}
	for name, text := range r.files {
		tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	archive, err := compiler.Archive(fs.FS(tree))
	if err != nil {
		t.Fatal(err)
	}
	source := map[string]any{"playbook": []string{"site.yml"}, "playbooks": map[string]any{"file": "x"}, "host": "localhost"}
	for k, v := range r.source {
		source[k] = v
	}
	raw, err := json.Marshal(source)
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Role{Name: "r", Source: raw}
	for _, name := range r.inputs {
		in := plan.Input{Name: strings.TrimLeft(name, "!?"), Time: plan.Run, Secret: name[0] == '!', Optional: name[0] == '?'}
		p.Inputs = append(p.Inputs, in)
	}
	for _, name := range r.outputs {
		out := plan.Output{Name: strings.TrimLeft(name, "!"), Secret: name[0] == '!'}
		if name, task, is := strings.Cut(out.Name, ": "); is {
			out.Name, out.Resource = name, task
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
		Environment: append(append(os.Environ(), "ANSIBLE_HOME="+work, "ANSIBLE_REMOTE_TEMP="+work+"/tmp", "ANSIBLE_ASYNC_DIR="+work+"/async",
			socket.Variable+"="+server.Path()), r.environment...)}
	return job, func() ended { return ended{stdout: read(stdout.Name()), stderr: read(stderr.Name()), work: work} }
}

// run runs the role to its end.
func (r role) run(t *testing.T) ended {
	t.Helper()
	job, printed := r.job(t)
	d := ansible.Driver{Grace: process.Grace}
	if err := d.Prepare(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	exit, err := d.Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	end := printed()
	end.exit = exit
	return end
}

func (e ended) mustSucceed(t *testing.T) {
	t.Helper()
	if !e.exit.OK() {
		t.Fatalf("the playbook ended with %v\n%s\n%s", e.exit, e.stdout, e.stderr)
	}
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

func write(t testing.TB, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
