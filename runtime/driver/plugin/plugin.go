// Package plugin runs roles whose driver is an external executable: `hotc-driver-NAME run`,
// with a protocol of JSON lines over its standard input and output (docs/plugins.md).
//
// The executable comes with the plan, or is on the server. Its standard error is the
// role's output. It is not trusted to follow the protocol: violations are reported, and
// fail the role.
package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/script"
	"github.com/hotc-dev/hotc/runtime/fetch"
	"github.com/hotc-dev/hotc/runtime/process"
)

// Protocol is the version of the protocol.
const Protocol = 1

// Prefix begins the names of the executables.
const Prefix = "hotc-driver-"

// Driver runs plug-ins.
type Driver struct {
	// Patience limits the time to its first line, and from its last to its end; 0 is the
	// constant Patience.
	Patience time.Duration
}

// Patience limits the time to a plug-in's first line.
const Patience = 2 * time.Minute

// source is a role's source, as written by the compiler.
type source struct {
	Name string `json:"name"`
	// Executable is the digest of the program; "" if it is on the server.
	Executable string                  `json:"executable,omitempty"`
	Source     json.RawMessage         `json:"source"`
	Trees      map[string]fetch.Origin `json:"trees,omitempty"`
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// treeForm matches a tree's key that is valid in a folder's name.
var treeForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func parseSource(text json.RawMessage) (source, error) {
	s, err := driver.ReadSource[source](text)
	if err != nil {
		return source{}, err
	}
	if !nameForm.MatchString(s.Name) {
		return source{}, fmt.Errorf("the role's source in the plan names the plug-in %q", s.Name)
	}
	for key := range s.Trees {
		if !treeForm.MatchString(key) {
			return source{}, fmt.Errorf("the role's source in the plan has a tree %q", key)
		}
	}
	return s, nil
}

// Name is "plugin": the name in `driver:` is in the source.
func (Driver) Name() string { return "plugin" }

// ToolOf implements driver.RoleInstallable, for a plug-in that did not come with the plan.
func (Driver) ToolOf(r contract.Role) (driver.Tool, bool) {
	s, err := parseSource(r.Source)
	if err != nil || s.Executable != "" {
		return driver.Tool{}, false
	}
	return driver.Tool{Name: Prefix + s.Name, Program: Prefix + s.Name, From: "none"}, true
}

// Check implements driver.Checker, for a plug-in that must be installed.
func (d Driver) Check(_ context.Context, r contract.Role) error {
	if _, err := parseSource(r.Source); err != nil {
		return err
	}
	tool, needed := d.ToolOf(r)
	if !needed || r.Install != nil && r.Install.From == "url" {
		return nil
	}
	if _, err := exec.LookPath(tool.Program); err != nil {
		return fmt.Errorf("the plug-in %s is not on this server, and did not come with the plan", tool.Program)
	}
	return nil
}

// layout gives the paths of a job.
type layout struct {
	job    *driver.Job
	source source
}

func (at layout) executable() string     { return filepath.Join(at.job.Folder, Prefix+at.source.Name) }
func (at layout) sourceFile() string     { return filepath.Join(at.job.Folder, "source") }
func (at layout) tree(key string) string { return filepath.Join(at.job.Folder, "tree-"+key+".link") }
func (at layout) folder() string         { return filepath.Join(at.job.Folder, "own") }

// Prepare fetches the executable and the trees.
func (Driver) Prepare(ctx context.Context, job *driver.Job) error {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return err
	}
	at := layout{job, s}
	if s.Executable != "" {
		if err := job.Fetch(ctx, s.Executable, "plug-in", at.executable(), 0o700); err != nil {
			return err
		}
	}
	for key, origin := range s.Trees {
		path, err := fetch.Tree(ctx, job, origin, "tree-"+key)
		if err != nil {
			return err
		}
		if err := os.Symlink(path, at.tree(key)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(at.folder(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(at.sourceFile(), driver.Text(s.Source), 0o600)
}

// Run runs the plug-in.
func (d Driver) Run(ctx context.Context, job *driver.Job) (driver.Exit, error) {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return driver.Exit{}, err
	}
	at := layout{job, s}
	command := []string{job.Program}
	if s.Executable != "" {
		if command, err = script.CommandLine(at.executable()); err != nil {
			return driver.Exit{}, err
		}
	}
	cmd := exec.Command(command[0], append(command[1:], "run")...)
	cmd.Dir, cmd.Stderr, cmd.Env = job.Work, job.Stderr, at.environment()
	start, err := at.start()
	if err != nil {
		return driver.Exit{}, err
	}
	c, err := converse(ctx, d.patience(), job)
	if err != nil {
		return driver.Exit{}, err
	}
	defer c.close()
	cmd.Stdin, cmd.Stdout = c.childIn, c.childOut
	if err := job.Started(ctx); err != nil {
		return driver.Exit{}, err
	}
	c.begin(start)
	exit, err := process.Run(c.ctx, cmd, job.Grace)
	if ctx.Err() != nil {
		return exit, err
	}
	end := c.end()
	switch {
	case end != nil:
		return driver.Exit{}, fmt.Errorf("plug-in %s%s: %w", Prefix, s.Name, end)
	case err != nil && !errors.Is(err, errOver):
		return driver.Exit{}, fmt.Errorf("start plug-in %s%s: %w", Prefix, s.Name, err)
	case !exit.OK():
		return exit, nil
	case !c.isDone():
		return driver.Exit{}, fmt.Errorf("plug-in %s%s ended without reporting that it is done", Prefix, s.Name)
	}
	return exit, nil
}

func (d Driver) patience() time.Duration {
	if d.Patience > 0 {
		return d.Patience
	}
	return Patience
}

// startLine is the first line to a plug-in.
type startLine struct {
	Protocol int               `json:"protocol"`
	Role     string            `json:"role"`
	Source   json.RawMessage   `json:"source"`
	Inputs   []driver.Declared `json:"inputs"`
	Outputs  []driver.Declared `json:"outputs"`
	Trees    map[string]string `json:"trees"`
	Folder   string            `json:"folder"`
	Work     string            `json:"work"`
}

func (at layout) start() ([]byte, error) {
	line := startLine{Protocol: Protocol, Role: at.job.Role.Name, Source: at.source.Source, Trees: map[string]string{}, Folder: at.folder(), Work: at.job.Work}
	line.Inputs, line.Outputs = driver.Declare(at.job.Role, nil, nil)
	for key := range at.source.Trees {
		path, err := os.Readlink(at.tree(key))
		if err != nil {
			return nil, err
		}
		line.Trees[key] = path
	}
	return encode(line)
}

// environment saves a plug-in in shell from parsing JSON: it has the names, one per line,
// and the source in a file.
func (at layout) environment() []string {
	var inputs, outputs []string
	for _, in := range at.job.Role.Inputs {
		inputs = append(inputs, in.Name)
	}
	for _, o := range at.job.Role.Outputs {
		outputs = append(outputs, o.Name)
	}
	return append(append([]string(nil), at.job.Environment...), "HOTC_INPUTS="+strings.Join(inputs, "\n"),
		"HOTC_OUTPUTS="+strings.Join(outputs, "\n"), "HOTC_SOURCE="+at.sourceFile())
}

// encode writes a line.
func encode(v any) ([]byte, error) {
	text, err := protocol.Encode(v)
	return append(text, '\n'), err
}
