// Package puppet runs roles with `puppet apply`, with unmodified manifests, modules and
// Hiera data.
//
// The run has its own configuration: a global layer of Hiera with the role's inputs, and
// a node terminus, which Puppet loads first and which loads the interceptor in ruby/.
// That requests inputs when a variable, a fact or a Hiera key is evaluated, and publishes
// outputs when a variable is assigned or a resource applied (ruby/hotc/run.rb).
package puppet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/fetch"
	"github.com/hotc-dev/hotc/runtime/process"
)

// Driver runs manifests.
type Driver struct{}

// source is a role's source, as written by the compiler.
type source struct {
	Manifest    *manifest               `json:"manifest,omitempty"`
	Environment *fetch.Origin           `json:"environment,omitempty"`
	Hiera       *fetch.Origin           `json:"hiera,omitempty"`
	Modules     map[string]fetch.Origin `json:"modules,omitempty"`
	ModulePath  []fetch.Origin          `json:"modulepath,omitempty"`
	Classes     []string                `json:"classes,omitempty"`
	Settings    map[string]any          `json:"settings,omitempty"`
	// Outputs says what each output is in Puppet.
	Outputs map[string]output `json:"outputs,omitempty"`
}

// manifest is a text in a file of the plan, or a tree.
type manifest struct {
	Text string `json:"text,omitempty"` // digest
	Name string `json:"name,omitempty"`
	fetch.Origin
}

// output is a variable, a fact or a resource.
type output struct {
	Variable string `json:"variable,omitempty"`
	Fact     string `json:"fact,omitempty"`
	Resource string `json:"resource,omitempty"`
}

// Name is "puppet".
func (Driver) Name() string { return "puppet" }

// Tool implements driver.Installable. Puppet's own packages install it under /opt.
func (Driver) Tool() driver.Tool {
	return driver.Tool{
		Name: "puppet", Program: "puppet", Folders: []string{"/opt/puppetlabs/bin"}, Version: []string{"--version"}, From: "packages",
		Packages: map[string][]string{"apt": {"puppet-agent"}, "dnf": {"puppet"}, "zypper": {"puppet"}, "apk": {"puppet"}},
	}
}

// Prepare fetches what the source names.
func (Driver) Prepare(ctx context.Context, job *driver.Job) error {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return err
	}
	return (&layout{job: job, source: s}).make(ctx)
}

func parseSource(text json.RawMessage) (source, error) {
	s, err := driver.ReadSource[source](text)
	if err != nil {
		return source{}, err
	}
	for name := range s.Modules {
		if !nameForm.MatchString(name) {
			return source{}, fmt.Errorf("the role's source in the plan has an invalid module name %q", name)
		}
	}
	for name, value := range s.Settings {
		if !nameForm.MatchString(name) || strings.ContainsAny(fmt.Sprint(value), "\r\n") {
			return source{}, fmt.Errorf("the role's source in the plan has an invalid setting %q", name)
		}
	}
	return s, nil
}

// nameForm matches names of modules and settings.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// changed is the exit status of `puppet apply --detailed-exitcodes` for changes without
// failures.
const changed = 2

// Run applies the manifest. A failed run repeats at its end what failed first, as the
// role's cause.
func (d Driver) Run(ctx context.Context, job *driver.Job) (driver.Exit, error) {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return driver.Exit{}, err
	}
	at := layout{job: job, source: s}
	if err := at.writePlan(); err != nil {
		return driver.Exit{}, err
	}
	program := cmp.Or(job.Program, d.Tool().Program)
	cmd := exec.Command(program, append([]string{"apply", "--confdir", at.configuration(), "--vardir", at.state(), "--detailed-exitcodes", "--color=false"}, at.manifest()...)...)
	cmd.Env = append(append([]string(nil), job.Environment...), "LC_ALL=C.UTF-8")
	exit, err := process.RunTool(ctx, job, cmd)
	if err != nil {
		return exit, err
	}
	if exit.Signal == 0 && exit.Code == changed {
		return driver.Exit{}, nil
	}
	if !exit.OK() {
		at.repeatFailure()
	}
	return exit, nil
}

// repeatFailure prints what failed first, with file names as the user knows them.
func (at *layout) repeatFailure() {
	text, err := os.ReadFile(at.failure())
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return
	}
	fmt.Fprintf(at.job.Stderr, "Error: %s\n", strings.ReplaceAll(string(text), at.job.Folder+string(filepath.Separator), ""))
}
