package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/script"
	"github.com/hotc-dev/hotc/runtime/lazyfile"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

func get(ctx context.Context, args []string, s streams) error {
	flags := newFlags("get", "NAME [--lines]", "Waits for a role's input and prints it: a string as it is, any other value as JSON.\n"+
		"Nothing is added, not even a line end.", s)
	lines := flags.Bool("lines", false, "print each item of a list on a line")
	path, err := parseInRole(flags, args, 1)
	if err != nil {
		return err
	}
	value, err := socket.Get(ctx, path, flags.Arg(0))
	if err != nil {
		return err
	}
	text := driver.Text(value)
	if *lines {
		if text, err = itemLines(value); err != nil {
			return fmt.Errorf("input %s %w", flags.Arg(0), err)
		}
	}
	if _, err := s.out.Write(text); err != nil {
		return fmt.Errorf("print the value: %w", err)
	}
	return nil
}

// itemLines returns each item of a list on a line.
func itemLines(value json.RawMessage) ([]byte, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil || items == nil {
		return nil, errors.New("is not a list: without --lines it is printed as it is")
	}
	var out bytes.Buffer
	for i, item := range items {
		text := driver.Text(item)
		if bytes.IndexByte(text, '\n') >= 0 {
			return nil, fmt.Errorf("has a line end in item %d: without --lines it is printed as JSON", i)
		}
		out.Write(append(text, '\n'))
	}
	return out.Bytes(), nil
}

// await is what a rewritten shell script calls (docs/scripts.md). It does not return before it
// has the value: nothing that follows in the script may run without it. A failed read ends the
// role, this process included; if there is no agent left to do so, await ends the role's
// processes.
func await(ctx context.Context, args []string, s streams) error {
	flags := newFlags("await", "NAME VARIABLE", "Waits for a role's input and prints a shell assignment of it. Scripts that hotc has\n"+
		"rewritten call it: if the value never arrives, it waits for the role's end.", s)
	path, err := parseInRole(flags, args, 2)
	if err != nil {
		return err
	}
	value, err := socket.Get(ctx, path, flags.Arg(0))
	if err == nil {
		_, err = io.WriteString(s.out, script.Assignment(flags.Arg(1), flags.Arg(0), value))
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

// guard runs next to a role, started by the agent (package lazyfile).
func guard(_ context.Context, args []string, s streams) error {
	if err := parse(newFlags("guard", "", "Ends a role's processes if its agent dies. Started by the agent.", s), args, 0); err != nil {
		return err
	}
	return lazyfile.Guard(s.in)
}

func put(ctx context.Context, args []string, s streams) error {
	flags := newFlags("put", "NAME [--json | --raw]", "Publishes a role's output from standard input. For type string it is the text as it\n"+
		"is, without the line end of a single line, as in $(hostname); any other type is read\n"+
		"as JSON.", s)
	typed := flags.Bool("json", false, "read JSON, also for an output of type string")
	raw := flags.Bool("raw", false, "keep the line end of a single line")
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

// withoutLineEnd removes the line end of a single line: programs print one, but it is not part
// of, say, an address. Several lines are a file, whose last line end belongs to it.
func withoutLineEnd(text []byte) []byte {
	if bytes.IndexByte(text, '\n') == len(text)-1 {
		return bytes.TrimSuffix(text, []byte{'\n'})
	}
	return text
}

// maxValue leaves room for a request's other bytes, and for those that JSON adds. It is more
// than any coordinator accepts.
const maxValue = socket.MaxRequest / 8

// parseInRole is parse for a command that works only inside a role; it returns the role's socket.
func parseInRole(flags *flag.FlagSet, args []string, arguments int) (string, error) {
	if err := parse(flags, args, arguments); err != nil {
		return "", err
	}
	path := os.Getenv(socket.Variable)
	if path == "" {
		return "", errors.New("this works only inside a role (" + socket.Variable + " is not set)")
	}
	return path, nil
}
