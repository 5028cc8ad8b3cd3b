package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
)

const (
	exitOK     = 0
	exitError  = 1
	exitUsage  = 2
	exitFailed = 3
	exitPipe   = 128 + int(syscall.SIGPIPE) // as a shell tells it of a program that ends of it
)

// exitStatuses is what every command's exit status means. docs/operations.md and the man pages
// have the same table.
var exitStatuses = []struct {
	status  int
	meaning string
}{
	{exitOK, "fine: what was asked for is done. Of `status` and `why`: nothing has failed so far"},
	{exitError, "hotc could not do it, or found errors (`lint --strict`: or warnings); standard error says why"},
	{exitUsage, "wrong usage: a command, flag or argument; nothing was done"},
	{exitFailed, "hotc did its work, and the deployment has failed: a role, its hook or its action, or its stack. So end `up`, `down`, `relay --once`, `apply --wait`, `run`, `status`, `status --watch`, `why`, `outputs NAME`, `suspend`, `resume`, `destroy` and `action --wait`"},
	{exitPipe, "whoever read the output has gone, as `head -1` does"},
}

const actionStatus = "`hotc action --wait` ends with the exit status of the action where it has one."

// exitHelp is the table for the man pages, in Markdown.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("# EXIT STATUS\n")
	for _, x := range exitStatuses {
		fmt.Fprintf(&b, "**%d**\n: %s.\n\n", x.status, x.meaning)
	}
	return b.String() + actionStatus + "\n"
}

var (
	// errReported ends a command whose diagnostics were printed already.
	errReported = errors.New("reported")
	// errFailed is errReported where the deployment is what has failed.
	errFailed = exitWith{exitFailed, errReported}
)

// exitWith ends hotc with a status of its own.
type exitWith struct {
	status int
	error
}

func (e exitWith) Unwrap() error { return e.error }

// usageError is a wrong call of hotc itself.
type usageError struct{ error }

// exit says how a command ended, and prints why.
func exit(ctx context.Context, s streams, err error) int {
	var unwritten writeError
	switch ended := errors.As(context.Cause(ctx), &unwritten); {
	case ended && errors.Is(unwritten, syscall.EPIPE): // its reader has gone, as `| head` does
		return exitPipe
	case ended: // whatever else has failed then has failed because of it
		err = unwritten.error
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(s.err, "hotc: interrupted")
		return exitError
	}
	if usage, is := errors.AsType[usageError](err); is {
		err = source.Fail(source.Usage, usage.Error(), "`hotc help` and `hotc COMMAND --help` say how")
	}
	if !errors.Is(err, errReported) {
		printError(s.err, err, s.errStyle())
	}
	return exitStatus(err)
}

// exitStatus is the status that an error ends hotc with.
func exitStatus(err error) int {
	if with, is := errors.AsType[exitWith](err); is {
		return with.status
	}
	if d, is := source.AsDiagnostic(err); is {
		switch d.Code {
		case source.Usage:
			return exitUsage
		case source.RoleFailed, source.StackFailed:
			return exitFailed
		}
	}
	return exitError
}

// mistaken is a panic as a diagnostic. An output folder is written whole, at the end, so
// none is half there.
func mistaken(panicked any) error {
	return source.Fail(source.Internal, fmt.Sprintf("hotc made a mistake: %s", mistake.Text(panicked)), "please report it, with the template if you can, and that this is hotc "+version)
}
