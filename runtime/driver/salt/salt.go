// Package salt runs roles that are Salt states, on the server itself.
//
// salt-call runs without a master (--local), with its own configuration and caches in the
// role's private folder. Two of Salt's extension points load the interceptor, however
// Salt was packaged: a folder of grains, loaded before Salt compiles a pillar, and one of
// execution modules, whose hotc.apply starts the run (python/grains, python/modules).
// Declared inputs become parts of the pillar whose values are requested when read, and
// results of states become the outputs (python/hotc_salt). SLS files and the installed
// Salt are unmodified.
//
// The role's source in the plan is
//
//	{"sls": ["web"], "text": {"file": DIGEST, "name": "web"}, "file_roots": [ORIGIN],
//	 "pillar_roots": [ORIGIN], "pillar": {}, "grains": {}, "id": "web1", "config": {}}
//
// Without sls, top.sls selects what is applied.
package salt

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/fetch"
	"github.com/hotc-dev/hotc/runtime/process"
)

//go:embed python/grains/*.py python/modules/*.py python/hotc_salt/*.py
var interceptor embed.FS

// Driver runs states.
type Driver struct{}

// Name is "salt".
func (Driver) Name() string { return "salt" }

const program = "salt-call"

// Tool implements driver.Installable. The packages are Salt's own and the distributions'
// (pkg/debian and pkg/rpm of Salt); without a repository that has them, use `from: url`.
func (Driver) Tool() driver.Tool {
	return driver.Tool{
		Name: "salt", Program: program, Folders: []string{"/opt/saltstack/salt"}, Version: []string{"--version"}, From: "packages",
		Packages: map[string][]string{"apt": {"salt-common"}, "dnf": {"salt-minion"}, "zypper": {"salt"}},
	}
}

// source is a role's source.
type source struct {
	SLS         []string                   `json:"sls,omitempty"`
	Text        *fetch.Text                `json:"text,omitempty"` // an inline SLS file, named without .sls
	FileRoots   []fetch.Origin             `json:"file_roots,omitempty"`
	PillarRoots []fetch.Origin             `json:"pillar_roots,omitempty"`
	Pillar      json.RawMessage            `json:"pillar,omitempty"`
	Grains      json.RawMessage            `json:"grains,omitempty"`
	ID          string                     `json:"id,omitempty"`
	Config      map[string]json.RawMessage `json:"config,omitempty"`
}

func parseSource(raw json.RawMessage) (source, error) {
	s, err := driver.ReadSource[source](raw)
	if err != nil {
		return source{}, err
	}
	if s.Text == nil && len(s.FileRoots) == 0 {
		return source{}, errors.New("the role's source in the plan has no states")
	}
	if s.Text != nil && (s.Text.Name == "" || filepath.Base(s.Text.Name) != s.Text.Name) {
		return source{}, fmt.Errorf("%q is not a valid SLS name", s.Text.Name)
	}
	return s, nil
}

// Prepare fetches the states and pillars, and writes Salt's configuration.
func (Driver) Prepare(ctx context.Context, job *driver.Job) error {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return err
	}
	var trees layout
	if s.Text != nil {
		folder := filepath.Join(job.Folder, "sls")
		if err := job.Fetch(ctx, s.Text.File, "SLS file", filepath.Join(folder, s.Text.Name+".sls"), 0o600); err != nil {
			return err
		}
		trees.files = append(trees.files, folder)
	}
	files, err := fetch.Trees(ctx, job, s.FileRoots, "file_roots")
	if err != nil {
		return err
	}
	trees.files = append(trees.files, files...)
	if trees.pillars, err = fetch.Trees(ctx, job, s.PillarRoots, "pillar_roots"); err != nil {
		return err
	}
	return configure(job, s, trees)
}

// layout is where the fetched trees are.
type layout struct{ files, pillars []string }

// Run waits for the eager inputs, and applies the states.
func (Driver) Run(ctx context.Context, job *driver.Job) (driver.Exit, error) {
	if err := job.AwaitEager(ctx); err != nil {
		return driver.Exit{}, err
	}
	cmd := exec.Command(job.Program, "--local", "--config-dir", configFolder(job), "--retcode-passthrough", "--no-color", "hotc.apply")
	cmd.Env = job.Environment
	exit, err := process.RunTool(ctx, job, cmd)
	if err != nil || ctx.Err() != nil {
		return exit, err
	}
	return result(job, exit)
}

// outcome is how a run ended, as recorded by the interceptor.
type outcome struct {
	Reason string `json:"reason"` // "" for success
}

// result determines how a run has ended: Salt's exit status may be that of its outputter.
func result(job *driver.Job, exit driver.Exit) (driver.Exit, error) {
	raw, err := os.ReadFile(outcomePath(job))
	if err != nil {
		if exit.OK() {
			return driver.Exit{}, errors.New("salt-call ended without applying any states")
		}
		return exit, nil
	}
	var ended outcome
	if err := json.Unmarshal(raw, &ended); err != nil {
		return driver.Exit{}, fmt.Errorf("read the outcome of the Salt run: %w", err)
	}
	if ended.Reason != "" {
		// the role's cause repeats the last line of standard error
		fmt.Fprintln(job.Stderr, ended.Reason)
		if exit.OK() {
			exit.Code = 1
		}
	}
	return exit, nil
}
