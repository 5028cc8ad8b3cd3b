// Package driver is the interface between a role's life cycle, which is the same for
// every tool, and each tool's own ways of reading and writing values.
//
// A driver gets a Job: folders, streams, the plan's role and the role's values. It
// starts the tool so that the tool's own reads, as late as the tool allows, become
// Values.Read, which blocks until the value has arrived; and the tool's own writes become
// Values.Write, which publishes at once. What a driver cannot do in its own process (an
// interceptor in Ruby, a command in a script) accesses the same Values over the job's unix
// socket (runtime/socket). It decides nothing else: runtime/role decides what a failed
// read means, when a role is done and what is reported.
package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Driver runs the roles of one tool. It is used by one role at a time.
type Driver interface {
	// Name is what `driver:` says in a template.
	Name() string
	// Prepare does what needs no input values: it checks the role's source and fetches
	// its files. It runs before the role waits for anything, and again after a restart of
	// the agent.
	Prepare(ctx context.Context, job *Job) error
	// Run runs the tool until its process has ended. When ctx ends, it ends the process
	// and its descendants before it returns. An error says why there is no Exit.
	Run(ctx context.Context, job *Job) (Exit, error)
}

// Find returns the driver of a name, or nil.
func Find(all []Driver, name string) Driver {
	for _, d := range all {
		if d.Name() == name {
			return d
		}
	}
	return nil
}

// ErrInputFailed is the cause with which Run's context ends when an input of the role has
// failed, so that the tool must not continue.
var ErrInputFailed = errors.New("an input of the role has failed")

// Checker is a Driver that can check, before any role of the server runs, whether a
// role's tool is installed. An error is only a warning: an earlier role may install the
// tool. It ignores what the driver itself installs, changes nothing, and returns quickly.
type Checker interface {
	Check(ctx context.Context, r contract.Role) error
}

// Values are a role's inputs and outputs, by their declared names.
type Values interface {
	// Read returns an input's value. It blocks until the value has arrived.
	Read(ctx context.Context, input string) (json.RawMessage, error)
	// Write publishes an output's value before it returns.
	Write(ctx context.Context, output string, value json.RawMessage) error
	// WriteText is Write for a tool's text, parsed by the output's type (Parse).
	WriteText(ctx context.Context, output string, text []byte) error
}

// Foresight is an optional interface of Values.
type Foresight interface {
	// Foresee returns an input's value when it arrives, without counting as a read: it is
	// not shown, has no timeout, and a failed value is an error only for the caller.
	Foresee(ctx context.Context, input string) (json.RawMessage, error)
}

// Files are the deployment's files.
type Files interface {
	// File returns the file with a digest.
	File(ctx context.Context, digest string) ([]byte, error)
}

// Job is one run of a role.
type Job struct {
	Role contract.Role
	// Folder is the job's own, private (0700) and initially empty. It is removed when the
	// role has ended.
	Folder string
	// Work is the folder the tool runs in. It stays.
	Work string
	// Environment is that of every process of the role, as KEY=VALUE.
	Environment    []string
	Stdout, Stderr *os.File
	Values         Values
	Files          Files
	// Started is called by Run right before it starts the role's first process, when all
	// that the role awaits beforehand has arrived. The process must not be started if it
	// returns an error.
	Started func(ctx context.Context) error
	// Program is the path of the tool's program; "" for a driver that is not Installable.
	Program string
	// Grace is how long a process may take to end.
	Grace time.Duration
	// Need finds another program that the role needs, and installs it if allowed.
	Need func(ctx context.Context, tool Tool) (program string, err error)
}

// Variable returns a variable of the role's environment, or "".
func (j *Job) Variable(name string) (value string) {
	for _, entry := range j.Environment {
		if text, is := strings.CutPrefix(entry, name+"="); is {
			value = text
		}
	}
	return value
}

// Agent is the path of the agent's program: the role's PATH begins with its folder.
func (j *Job) Agent() string {
	folder, _, _ := strings.Cut(j.Variable("PATH"), ":")
	return filepath.Join(folder, "hotc-agent")
}

// Fetch writes a file of the plan to a path; what describes it in errors.
func (j *Job) Fetch(ctx context.Context, digest, what, path string, mode os.FileMode) error {
	text, err := j.Files.File(ctx, digest)
	if err != nil {
		return fmt.Errorf("fetch the %s: %w", what, err)
	}
	err = os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, text, mode)
	}
	if err != nil {
		return fmt.Errorf("write the %s: %w", what, err)
	}
	return nil
}

// AwaitEager waits for the inputs that the tool needs before it starts.
func (j *Job) AwaitEager(ctx context.Context) error {
	for _, in := range j.Role.Inputs {
		if !in.Eager {
			continue
		}
		if _, err := j.Values.Read(ctx, in.Name); err != nil {
			return err
		}
	}
	return nil
}

// Exit is how a tool's process ended.
type Exit struct {
	Code   int
	Signal syscall.Signal // 0 if the process ended by itself
}

// Status is the exit status as in a shell: 128 plus the signal's number for a killed
// process.
func (e Exit) Status() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Code
}

// OK reports whether the tool succeeded.
func (e Exit) OK() bool { return e.Status() == 0 }

// String is "exit status 3", or "killed by a signal (terminated)".
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("killed by a signal (%v)", e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// FileName encodes the name of an input or output as the name of a file: "/" is %2F, "%"
// is %25, and a name of only dots has %2E for each.
func FileName(name string) string {
	if strings.Trim(name, ".") == "" {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return strings.NewReplacer("/", "%2F", "%", "%25").Replace(name)
}

// NameOfFile is the reverse of FileName.
func NameOfFile(file string) string {
	return strings.NewReplacer("%2F", "/", "%25", "%", "%2E", ".").Replace(file)
}
