package drivertest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// Role is one run of a driver.
type Role struct {
	Source map[string]any
	File   []byte // the content of every file that the source names
	// Inputs and outputs are names; prefix "!" means secret, "?" optional. What follows
	// Between in an output's name is its resource.
	Inputs, Outputs []string
	Between         string
	Environment     []string
	Values          *Values
}

// Ended is how it ended.
type Ended struct {
	Exit           driver.Exit
	Stdout, Stderr string
	Work           string // its working directory
}

// Job creates the run's job, with a socket; printed returns its output so far.
func (r Role) Job(t testing.TB, program string) (job *driver.Job, printed func() Ended) {
	t.Helper()
	folder, work := t.TempDir(), t.TempDir()
	server, err := socket.Serve(t.Context(), folder, r.Values)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	stdout, stderr := create(t, filepath.Join(work, "stdout")), create(t, filepath.Join(work, "stderr"))
	job = &driver.Job{Grace: process.Grace, Role: r.plan(t), Folder: folder, Work: work, Stdout: stdout, Stderr: stderr, Values: r.Values, Files: File(r.File),
		Program: program, Started: func(context.Context) error { return nil },
		Environment: append(append(os.Environ(), socket.Variable+"="+server.Path()), r.Environment...)}
	return job, func() Ended { return Ended{Stdout: Text(stdout.Name()), Stderr: Text(stderr.Name()), Work: work} }
}

func (r Role) plan(t testing.TB) contract.Role {
	t.Helper()
	source, err := json.Marshal(r.Source)
	if err != nil {
		t.Fatal(err)
	}
	p := contract.Role{Name: "r", Source: source}
	for _, name := range r.Inputs {
		p.Inputs = append(p.Inputs, contract.Input{Name: strings.TrimLeft(name, "!?"), Time: contract.Run, Secret: name[0] == '!', Optional: name[0] == '?'})
	}
	for _, name := range r.Outputs {
		out := contract.Output{Name: strings.TrimLeft(name, "!"), Secret: name[0] == '!'}
		if name, resource, is := strings.Cut(out.Name, r.Between); is {
			out.Name, out.Resource = name, resource
		}
		p.Outputs = append(p.Outputs, out)
	}
	return p
}

// Run prepares and runs a job to its end.
func Run(t testing.TB, d driver.Driver, job *driver.Job, printed func() Ended) Ended {
	t.Helper()
	if err := d.Prepare(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	exit, err := d.Run(t.Context(), job)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, printed().Stdout, printed().Stderr)
	}
	end := printed()
	end.Exit = exit
	return end
}

// MustSucceed fails the test if the run did.
func (e Ended) MustSucceed(t testing.TB) {
	t.Helper()
	if !e.Exit.OK() {
		t.Fatalf("the run ended with %v\n%s\n%s", e.Exit, e.Stdout, e.Stderr)
	}
}

func create(t testing.TB, path string) *os.File {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// Text is the content of a file, or why it cannot be read.
func Text(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
