// Package driver says how a tool is run on a server: the interface between the
// life of a role, which is the same for every tool, and the tool's own ways of
// reading and writing values, which are not.
//
// A driver is given a Job: folders, streams, the plan's role and the role's
// values. It starts the tool so that the tool's own reads end up in Values.Read,
// which blocks until the value is there, as late as the tool allows; and so that
// the tool's own writes end up in Values.Write, which publishes at once. Whatever
// a driver cannot do inside its own process (an interceptor in Ruby, a command in
// a script) talks to the same Values over the unix socket that the job names
// (runtime/socket). It decides nothing else: what a failed read means, when a
// role is done and what others are told is the business of runtime/role.
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
	// Prepare makes ready what needs no value of an input: it checks the role's
	// source and fetches its files. It runs before any wait of the role and again
	// if the agent was restarted.
	Prepare(ctx context.Context, job *Job) error
	// Run runs the tool until its process has ended. When ctx ends it ends the
	// process, and whatever that started, before it returns. An error says why
	// there is no Exit.
	Run(ctx context.Context, job *Job) (Exit, error)
}

// Find is the driver of a name; nil is none.
func Find(all []Driver, name string) Driver {
	for _, d := range all {
		if d.Name() == name {
			return d
		}
	}
	return nil
}

// ErrInputFailed is the cause with which Run's context ends when an input of the role will
// not come: nothing that the tool still does is wanted then.
var ErrInputFailed = errors.New("an input of the role has failed")

// Checker is a Driver that can tell, before any role of the server runs, whether a
// role's tool is there. What it finds is a warning: an earlier role may bring the
// tool. It does not complain of what the driver installs by itself, changes
// nothing, and returns soon.
type Checker interface {
	Check(ctx context.Context, r contract.Role) error
}

// Values are a role's inputs and outputs, by their declared names.
type Values interface {
	// Read returns an input's value. It blocks until the value is there.
	Read(ctx context.Context, input string) (json.RawMessage, error)
	// Write publishes an output's value before it returns.
	Write(ctx context.Context, output string, value json.RawMessage) error
	// WriteText is Write of a text as a tool wrote it, read by the output's type
	// (Parse).
	WriteText(ctx context.Context, output string, text []byte) error
}

// Foresight is what Values may have, too.
type Foresight interface {
	// Foresee returns an input's value when it is there, without being a read: it
	// does not show as one, no timeout runs, and a value that does not come is an
	// error for the caller alone.
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
	// Folder is the job's own, private (0700) and empty at the start. It goes when
	// the role has ended.
	Folder string
	// Work is the folder the tool runs in. It stays.
	Work string
	// Environment is what every process of the role gets, as KEY=VALUE.
	Environment    []string
	Stdout, Stderr *os.File
	Values         Values
	Files          Files
	// Started is called by Run right before the first process of the role is
	// started, when all that the role waits for beforehand is there. The process
	// must not be started if it returns an error.
	Started func(ctx context.Context) error
	// Program is where the tool's program was found or installed; "" for a driver
	// that is not Installable.
	Program string
	// Grace is how long a process that is asked to end may take.
	Grace time.Duration
	// Need finds another program that the role needs, and installs it if it may.
	Need func(ctx context.Context, tool Tool) (program string, err error)
}

// Variable is one of the role's environment; "" is none.
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

// Fetch writes a file of the plan to a path; what is its name for people.
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

// AwaitEager waits for the inputs that must be there before the tool starts.
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

// Status is the exit status as a shell gives it: 128 and the signal's number for
// a process that was killed.
func (e Exit) Status() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Code
}

// OK says that the tool was content.
func (e Exit) OK() bool { return e.Status() == 0 }

// String is "exit status 3", or "killed by a signal (terminated)".
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("killed by a signal (%v)", e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// FileName writes the name of an input or output as the name of a file: exactly
// the name, but "/" is %2F, "%" is %25, and a name of dots alone has %2E for each.
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
