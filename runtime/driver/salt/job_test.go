package salt_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	compiler "github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
	"github.com/hotc-dev/hotc/runtime/driver/salt"
)

// role is one run of the driver, with the files of its tree: states/, pillar/.
type role struct {
	files           map[string]string
	source          map[string]any // besides file_roots and config
	inputs, outputs []string       // an output "NAME=STATE" is a state's success; "!" before a name: secret, "?": optional
	environment     []string
	agent           *drivertest.Values
}

// everySalt runs a test in the stand-in, and in the real Salt where it is on PATH.
func everySalt(t *testing.T, test func(t *testing.T, program string)) {
	t.Helper()
	t.Run("stand-in", func(t *testing.T) { test(t, standIn(t)) })
	t.Run("salt-call", func(t *testing.T) {
		if testing.Short() {
			t.Skip("NOT RUN with the real tool: -short")
		}
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

func (r role) job(t testing.TB, program string) (*driver.Job, func() drivertest.Ended) {
	t.Helper()
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
	return drivertest.Role{Source: source, File: archive, Inputs: r.inputs, Outputs: r.outputs, Between: "=", Environment: r.environment, Values: r.agent}.Job(t, program)
}

// run runs the role to its end.
func (r role) run(t *testing.T, program string) drivertest.Ended {
	t.Helper()
	job, printed := r.job(t, program)
	return drivertest.Run(t, salt.Driver{}, job, printed)
}

func lastLine(e drivertest.Ended) string {
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	return lines[len(lines)-1]
}
