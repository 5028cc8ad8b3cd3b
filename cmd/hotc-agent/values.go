package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/script"
	"github.com/hotc-dev/hotc/runtime/lazyfile"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

func get(ctx context.Context, args []string, s streams) error {
	flags := newFlags("get", "NAME", "Prints a role's input, once it is there: a string as it is, another value as JSON.\n"+
		"Nothing is added, no line end either.", s)
	path, err := parseInRole(flags, args, 1)
	if err != nil {
		return err
	}
	value, err := socket.Get(ctx, path, flags.Arg(0))
	if err != nil {
		return err
	}
	if _, err := s.out.Write(driver.Text(value)); err != nil {
		return fmt.Errorf("print the value: %w", err)
	}
	return nil
}

// await is what a rewritten shell script calls (docs/scripts.md). It does not
// return before it has the value: nothing that follows in the script may run
// without it. A read that fails ends the role, this process included; where there is
// no agent any more to do so, the role's processes are ended from here.
func await(ctx context.Context, args []string, s streams) error {
	flags := newFlags("await", "NAME VARIABLE", "Prints a shell's assignment of a role's input, once it is there. It is what scripts\n"+
		"that hotc has rewritten call: where the value does not come, it waits for the role's end.", s)
	path, err := parseInRole(flags, args, 2)
	if err != nil {
		return err
	}
	value, err := socket.Get(ctx, path, flags.Arg(0))
	if err == nil {
		_, err = io.WriteString(s.out, script.Assignment(flags.Arg(1), value))
		return err
	}
	socket.AwaitEnd(ctx, path)
	if mark := os.Getenv(process.MarkVariable); mark != "" && ctx.Err() == nil {
		if _, endErr := process.EndMarked([]string{mark}, process.Grace); endErr != nil {
			return errors.Join(err, endErr)
		}
	}
	return err
}

// guard is what the agent starts beside a role (package lazyfile).
func guard(_ context.Context, args []string, s streams) error {
	if err := parse(newFlags("guard", "", "Ends a role's processes if its agent dies. The agent starts it.", s), args, 0); err != nil {
		return err
	}
	return lazyfile.Guard(s.in)
}

func put(ctx context.Context, args []string, s streams) error {
	flags := newFlags("put", "NAME [--json | --raw]", "Publishes a role's output from standard input. An output of type string gets the\n"+
		"text as it is, less the line end of a single line, as in $(hostname); every other\n"+
		"type is read as JSON.", s)
	typed := flags.Bool("json", false, "read JSON, for an output of type string too")
	raw := flags.Bool("raw", false, "keep the line end of a single line, too")
	path, err := parseInRole(flags, args, 1)
	if err != nil {
		if flags.NArg() > 1 {
			return usageError{errors.New("the value comes from standard input: printf %s VALUE | hotc-agent put " + flags.Arg(0))}
		}
		return err
	}
	text, err := io.ReadAll(io.LimitReader(s.in, maxValue+1))
	if err != nil {
		return fmt.Errorf("read the value: %w", err)
	}
	if len(text) > maxValue {
		return fmt.Errorf("output %s: the value has more than %d bytes", flags.Arg(0), maxValue)
	}
	if *typed {
		return socket.PutJSON(ctx, path, flags.Arg(0), text)
	}
	if !*raw {
		text = withoutLineEnd(text)
	}
	return socket.PutText(ctx, path, flags.Arg(0), text)
}

// withoutLineEnd takes the line end off a text of one line: what programs print has one, and an
// address with it is none. A text of several lines is a file, whose last line end belongs to it.
func withoutLineEnd(text []byte) []byte {
	if bytes.IndexByte(text, '\n') == len(text)-1 {
		return bytes.TrimSuffix(text, []byte{'\n'})
	}
	return text
}

// maxValue leaves room for a request's other bytes, and for those that JSON adds.
// No coordinator takes as much.
const maxValue = socket.MaxRequest / 8

// parseInRole is parse of a command that works only inside a role, whose socket it returns.
func parseInRole(flags *pflag.FlagSet, args []string, arguments int) (string, error) {
	if err := parse(flags, args, arguments); err != nil {
		return "", err
	}
	path := os.Getenv(socket.Variable)
	if path == "" {
		return "", errors.New("this works only inside a role (" + socket.Variable + " is not set)")
	}
	return path, nil
}
