// Package script runs roles that are scripts, in the language that their first line
// names.
//
// A script is not analysed here. It reads and writes values by means that every language
// has:
//
//   - Inputs that are known before it starts (static, deploy-time and eager run-time
//     ones) are in its environment and in files.
//   - A run-time input is a file that blocks when opened ($hotc_inputs/NAME, package
//     lazyfile), and the output of `hotc-agent get NAME`, which blocks. A shell script
//     reads it as a variable: the compiler has inserted a wait before each statement
//     that may (docs/scripts.md), which reads the value from a file if it has arrived,
//     and otherwise asks the agent.
//   - Outputs are piped into `hotc-agent put NAME`, or written to the file
//     $heat_outputs_path.NAME, as in Heat's script hook; such a file is published when
//     it is closed or moved there, or at the script's end.
//
// The role's source is {"file": DIGEST, "interpreter": [optional], "waits": true for such
// a script, "environment": [inputs that one in another language reads there, which are
// awaited before it starts]}. The script is in the role's private folder, and the agent
// starts its interpreter as the kernel would: that folder may be on a file system mounted
// noexec.
package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/process"
)

// Driver runs scripts.
type Driver struct{}

// source is a role's source.
type source struct {
	File        string   `json:"file"`
	Interpreter []string `json:"interpreter,omitempty"`
	// Waits is set for a shell script that calls hotc's functions.
	Waits bool `json:"waits,omitempty"`
	// Environment are inputs that the script reads from its environment.
	Environment []string `json:"environment,omitempty"`
}

// Name is "script".
func (Driver) Name() string { return "script" }

// Check implements driver.Checker, for the default interpreter.
func (Driver) Check(_ context.Context, r contract.Role) error {
	interpreter := "/bin/sh"
	if s, err := parseSource(r.Source); err == nil && len(s.Interpreter) > 0 {
		interpreter = s.Interpreter[0]
	}
	if _, err := exec.LookPath(interpreter); err != nil {
		return fmt.Errorf("its interpreter is missing: %w", err)
	}
	return nil
}

// Prepare fetches the script.
func (Driver) Prepare(ctx context.Context, job *driver.Job) error {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return err
	}
	return job.Fetch(ctx, s.File, "script", scriptPath(job), 0o700)
}

func parseSource(text json.RawMessage) (source, error) {
	s, err := driver.ReadSource[source](text)
	if err != nil {
		return source{}, err
	}
	if s.File == "" {
		return source{}, fmt.Errorf("the role's source in the plan names no file")
	}
	return s, nil
}

func scriptPath(job *driver.Job) string { return filepath.Join(job.Folder, "script") }

// Run waits for the inputs that the script needs from the start, runs it, and publishes
// what it writes.
func (Driver) Run(ctx context.Context, job *driver.Job) (driver.Exit, error) {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return driver.Exit{}, err
	}
	command, err := commandLine(s, scriptPath(job))
	if err != nil {
		return driver.Exit{}, err
	}
	job = s.awaiting(job)
	values, err := writeInputs(ctx, job, s)
	if err != nil {
		return driver.Exit{}, err
	}
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	outputs, err := watchOutputs(ctx, job, refuse)
	if err != nil {
		return driver.Exit{}, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = job.Work, job.Stdout, job.Stderr
	shell := shellOf(job)
	cmd.Env = append(append(shell.withoutInputs(job.Environment), values...), "hotc_inputs="+inputsFolder(job), "heat_outputs_path="+outputsPrefix(job))
	if s.Waits {
		if err := shell.Write(); err != nil {
			outputs.stop()
			return driver.Exit{}, err
		}
		cmd.Env = append(cmd.Env, "hotc_shell="+shell.file())
	}
	late, err := openLate(ctx, job)
	if err != nil {
		outputs.stop()
		return driver.Exit{}, err
	}
	if err := job.Started(ctx); err != nil {
		outputs.stop()
		return driver.Exit{}, errors.Join(err, late.close(job))
	}
	stop := func() {}
	if s.Waits {
		stop = foresee(ctx, job, shell)
	}
	exit, err := process.Run(late.ctx, cmd, job.Grace)
	stop()
	outputs.stop()
	refused := refusalError("")
	if errors.As(context.Cause(ctx), &refused) {
		return driver.Exit{}, errors.Join(refused, late.close(job))
	}
	if lateErr := late.close(job); lateErr != nil {
		return driver.Exit{}, lateErr
	}
	if err != nil {
		return driver.Exit{}, explainStart(command, err)
	}
	outputs.sweep(ctx)
	if s.Waits && exit.OK() {
		publishKept(ctx, job, shell)
	}
	return exit, nil
}

// awaiting returns the job with the inputs that the script reads from its environment made
// eager.
func (s source) awaiting(job *driver.Job) *driver.Job {
	if len(s.Environment) == 0 {
		return job
	}
	eager := *job
	eager.Role.Inputs = slices.Clone(job.Role.Inputs)
	for i, in := range eager.Role.Inputs {
		eager.Role.Inputs[i].Eager = in.Eager || !in.Secret && slices.Contains(s.Environment, in.Name)
	}
	return &eager
}

// CommandLine returns the command that starts a program or script.
func CommandLine(path string) ([]string, error) { return commandLine(source{}, path) }

// commandLine returns the command that the kernel would run for a script: the interpreter
// in its first line, with at most one argument, and the script's path. A script without
// such a line is for /bin/sh; a program is started directly.
func commandLine(s source, path string) ([]string, error) {
	if len(s.Interpreter) > 0 {
		return append(append([]string(nil), s.Interpreter...), path), nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	if bytes.HasPrefix(text, []byte("\x7fELF")) {
		return []string{path}, nil
	}
	first, hasLine := bytes.CutPrefix(text, []byte("#!"))
	if !hasLine {
		return []string{"/bin/sh", path}, nil
	}
	if end := bytes.IndexByte(first, '\n'); end >= 0 {
		first = first[:end]
	}
	interpreter, argument, _ := strings.Cut(strings.Trim(string(first), " \t"), " ")
	if before, after, tab := strings.Cut(interpreter, "\t"); tab {
		interpreter, argument = before, after+" "+argument
	}
	if interpreter == "" {
		return []string{"/bin/sh", path}, nil
	}
	if argument = strings.Trim(argument, " \t"); argument != "" {
		return []string{interpreter, argument, path}, nil
	}
	return []string{interpreter, path}, nil
}

// explainStart explains why an interpreter does not start.
func explainStart(command []string, err error) error {
	if strings.HasSuffix(command[0], "\r") || len(command) > 2 && strings.HasSuffix(command[1], "\r") {
		return fmt.Errorf("the script has Windows line endings, so that its interpreter is %q", command[0])
	}
	return fmt.Errorf("interpreter %s: %w", command[0], err)
}

// isRunTime reports whether an input is not known before the script starts.
func isRunTime(in contract.Input) bool { return in.Time == contract.Run && !in.Eager }
