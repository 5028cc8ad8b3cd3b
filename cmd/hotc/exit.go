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
	exitPipe   = 128 + int(syscall.SIGPIPE) // as a shell reports it
)

// exitStatuses is what the exit status of every command means. docs/operations.md and the man
// pages have the same table.
var exitStatuses = []struct {
	status  int
	meaning string
}{
	{exitOK, "success. For `status` and `why`: nothing has failed so far"},
	{exitError, "hotc could not do what was asked, or found errors (`lint --strict`: or warnings); standard error says why"},
	{exitUsage, "wrong usage: a command, flag or argument is wrong; nothing was done"},
	{exitFailed, "hotc did its work, but the deployment has failed: a role, its hook or action, or its stack. Used by `up`, `down`, `relay --once`, `apply --wait`, `run`, `status`, `status --watch`, `why`, `outputs NAME`, `suspend`, `resume`, `destroy` and `action --wait`"},
	{exitPipe, "the reader of the output has closed it, as `head -1` does"},
}

const actionStatus = "`hotc action --wait` exits with the action's own exit status if it has one."

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
	// errFailed is errReported for a deployment that has failed.
	errFailed = exitWith{exitFailed, errReported}
)

// exitWith is an error with its own exit status.
type exitWith struct {
	status int
	error
}

func (e exitWith) Unwrap() error { return e.error }

// usageError is a wrong call of hotc itself.
type usageError struct{ error }

// exit prints why a command failed, and returns its exit status.
func exit(ctx context.Context, s streams, command string, err error) int {
	var unwritten writeError
	switch ended := errors.As(context.Cause(ctx), &unwritten); {
	case ended && errors.Is(unwritten, syscall.EPIPE): // its reader has gone, as `| head` does
		return exitPipe
	case ended: // any other failure follows from it
		err = unwritten.error
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(s.err, "hotc: interrupted")
		return exitError
	}
	if usage, is := errors.AsType[usageError](err); is {
		err = source.Fail(source.Usage, usage.Error(), "`"+command+" --help` shows its usage")
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

// mistaken is a panic as a diagnostic. An output folder is written whole, at the end, so no
// partial one is left.
func mistaken(panicked any) error {
	return source.Fail(source.Internal, fmt.Sprintf("internal error in hotc: %s", mistake.Text(panicked)), "please report it, with the template if you can, and the version: hotc "+version)
}
