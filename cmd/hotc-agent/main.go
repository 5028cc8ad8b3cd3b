// Command hotc-agent runs a server's roles. The server's user-data starts it, and the roles
// themselves use it: a script reads and writes values with `hotc-agent get` and `put`.
// docs/agent.md describes what it does on a server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/ansible"
	"github.com/hotc-dev/hotc/runtime/driver/chef"
	"github.com/hotc-dev/hotc/runtime/driver/plugin"
	"github.com/hotc-dev/hotc/runtime/driver/puppet"
	"github.com/hotc-dev/hotc/runtime/driver/salt"
	"github.com/hotc-dev/hotc/runtime/driver/script"
)

// version is set by the linker in a release.
var version = "0.1.0-dev"

// drivers are the agent's halves of the drivers. A new one needs a line here and one in cmd/hotc.
func drivers() []driver.Driver {
	return []driver.Driver{
		script.Driver{},
		chef.Driver{},
		puppet.Driver{},
		ansible.Driver{},
		salt.Driver{},
		plugin.Driver{},
	}
}

func main() {
	defer mistake.Ends()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The console also shows what other servers wrote: the reasons of failures.
	console := terminal.NewWriter(os.Stderr, "")
	status := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, console})
	_ = console.Flush()
	stop()
	os.Exit(status)
}

// The exit statuses. exitStay tells a supervisor not to start the agent again.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	exitStay  = 78
)

type streams struct {
	in       io.Reader
	out, err io.Writer
}

const usage = `usage: hotc-agent COMMAND

  run --boot FILE --state DIR   run this server's roles
  get NAME                      in a role: wait for an input, and print it
  put NAME                      in a role: publish an output from standard input
  check-driver PATH             for plug-in authors: test a plug-in's protocol
  version                       print the version

Run "hotc-agent COMMAND --help" for details.
`

type usageError struct{ error }

func commands() map[string]func(context.Context, []string, streams) error {
	return map[string]func(context.Context, []string, streams) error{
		"run": runAgent, "get": get, "await": await, "put": put, "guard": guard, "check-driver": checkDriver, "version": printVersion,
	}
}

// run is the whole program without its process.
func run(ctx context.Context, args []string, s streams) int {
	if len(args) == 0 {
		fmt.Fprint(s.err, usage)
		return exitUsage
	}
	if args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		fmt.Fprint(s.out, usage)
		return exitOK
	}
	command, known := commands()[args[0]]
	if !known {
		fmt.Fprintf(s.err, "hotc-agent: unknown command %q\n%s", args[0], usage)
		return exitUsage
	}
	err := command(ctx, args[1:], s)
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &wrong):
		fmt.Fprintf(s.err, "hotc-agent %s: %v\n", args[0], err)
		return exitUsage
	}
	fmt.Fprintf(s.err, "hotc-agent: %v\n", err)
	if isFinal(err) {
		return exitStay
	}
	return exitError
}

// newFlags creates a command's flags; synopsis follows its name in the usage.
func newFlags(name, synopsis, does string, s streams) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {
		fmt.Fprintf(s.out, "usage: hotc-agent %s %s\n\n%s\n\n", name, synopsis, does)
		flags.VisitAll(func(f *flag.Flag) {
			value, text := flag.UnquoteUsage(f)
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" {
				text += " (default " + f.DefValue + ")"
			}
			fmt.Fprintf(s.out, "  %s\n      %s\n", strings.TrimSpace("--"+f.Name+" "+value), text)
		})
	}
	return flags
}

// parse parses flags, which may stand between and behind the arguments, and checks the number of
// these.
func parse(flags *flag.FlagSet, args []string, want int) error {
	var arguments []string
	for rest := args; len(rest) > 0; {
		err := flags.Parse(rest)
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		if err != nil {
			return usageError{err}
		}
		left := flags.Args()
		n := min(len(left), 1)
		if used := len(rest) - len(left); used > 0 && rest[used-1] == "--" {
			n = len(left)
		}
		arguments, rest = append(arguments, left[:n]...), left[n:]
	}
	if err := flags.Parse(append([]string{"--"}, arguments...)); err != nil { // now Arg gives them
		return err
	}
	if len(arguments) != want {
		return usageError{fmt.Errorf("wrong number of arguments: %d instead of %d", len(arguments), want)}
	}
	return nil
}

func printVersion(_ context.Context, args []string, s streams) error {
	if err := parse(newFlags("version", "", "Prints the version.", s), args, 0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "hotc-agent %s\n", version)
	return err
}
