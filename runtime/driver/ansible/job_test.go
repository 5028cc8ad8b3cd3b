package ansible_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	compiler "github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/ansible"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// role is one run of the driver, with the files of its folder of playbooks.
type role struct {
	files           map[string]string
	source          map[string]any // besides playbooks and host; playbook is site.yml
	inputs, outputs []string       // an output "NAME: TASK" is a task's success; "!" before a name: secret, "?": optional
	environment     []string
	agent           *drivertest.Values
}

func needAnsible(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT RUN with the real tool: -short")
	}
	path, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Skip("SKIPPED: no ansible-playbook on PATH: nothing of the ansible driver was tried (Debian: ansible-core)")
	}
	return path
}

func (r role) job(t testing.TB) (*driver.Job, func() drivertest.Ended) {
	t.Helper()
	program := needAnsible(t)
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
	work := t.TempDir()
	return drivertest.Role{Source: source, File: archive, Inputs: r.inputs, Outputs: r.outputs, Between: ": ", Values: r.agent,
		Environment: append([]string{"ANSIBLE_HOME=" + work, "ANSIBLE_REMOTE_TEMP=" + work + "/tmp", "ANSIBLE_ASYNC_DIR=" + work + "/async"}, r.environment...),
	}.Job(t, program)
}

// run runs the role to its end.
func (r role) run(t *testing.T) drivertest.Ended {
	t.Helper()
	job, printed := r.job(t)
	return drivertest.Run(t, ansible.Driver{}, job, printed)
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
