// Command hotc-agent runs a server's roles. It is started by the server's
// user-data and found by the roles themselves: `hotc-agent get` and `put` are how
// a script reads and writes values. docs/agent.md says what it does on a server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

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

// version is set when a release is linked.
var version = "0.1.0-dev"

// drivers are the agent's halves of the drivers. Adding one is a line here and one in cmd/hotc.
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
	// A console shows what other servers wrote: the reasons of failures.
	console := terminal.NewWriter(os.Stderr, "")
	status := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, console})
	_ = console.Flush()
	stop()
	os.Exit(status)
}

// The exit statuses. The last one is for a supervisor: starting again is no use.
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
  get NAME                      in a role: print an input, once it is there
  put NAME                      in a role: publish an output from standard input
  check-driver PATH             for authors of plug-ins: try whether one keeps to the protocol
  version                       print the version

"hotc-agent COMMAND --help" says more.
`

type usageError struct{ error }

func commands() map[string]func(context.Context, []string, streams) error {
	return map[string]func(context.Context, []string, streams) error{
		"run": runAgent, "get": get, "await": await, "put": put, "guard": guard, "check-driver": checkDriver, "version": printVersion,
	}
}

// run is the whole program but for the process around it.
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
		fmt.Fprintf(s.err, "hotc-agent: there is no command %q\n%s", args[0], usage)
		return exitUsage
	}
	err := command(ctx, args[1:], s)
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
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

// newFlags makes a command's flags; synopsis is what follows its name.
func newFlags(name, synopsis, does string, s streams) *pflag.FlagSet {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {
		fmt.Fprintf(s.out, "usage: hotc-agent %s %s\n\n%s\n", name, synopsis, does)
		if text := flags.FlagUsages(); text != "" {
			fmt.Fprintf(s.out, "\n%s", text)
		}
	}
	return flags
}

// parse reads flags and checks how many arguments are left.
func parse(flags *pflag.FlagSet, args []string, arguments int) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	if n := flags.NArg(); n != arguments {
		return usageError{fmt.Errorf("wrong number of arguments: %d instead of %d", n, arguments)}
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
