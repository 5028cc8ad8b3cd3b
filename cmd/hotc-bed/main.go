// Command hotc-bed is a cloud on one machine for trying a template: stock Heat, real cloud-init,
// ZooKeeper. It runs a command, or a shell, in which hotc and the openstack client work as they
// would against a cloud; when that ends, everything is removed. docs/bed.md is its manual.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

const usage = `usage: hotc-bed [flags] [COMMAND [ARGUMENT…]]       run a command (a shell) in a new bed
       hotc-bed [flags] try TEMPLATE [COMPILE FLAGS]  compile, apply, create; then a shell, on a terminal
in the bed:
       hotc-bed servers
       hotc-bed exec SERVER COMMAND [ARGUMENT…]
       hotc-bed logs|off|on|reboot|suspend|resume|cut|restore|rebuild|evacuate SERVER

flags:
`

// exitUsage is the exit status for wrong usage.
const exitUsage = 2

func main() {
	args := os.Args[1:]
	flags := pflag.NewFlagSet("hotc-bed", pflag.ContinueOnError)
	flags.SetInterspersed(false)
	flags.SetOutput(io.Discard)
	members := flags.Int("zookeeper", 1, "number of ZooKeeper servers: 1 or 3")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Print(usage, flags.FlagUsages())
		return
	case err != nil, *members != 1 && *members != 3:
		fmt.Fprint(os.Stderr, usage, flags.FlagUsages())
		os.Exit(exitUsage)
	}
	status, err := run(*members, flags.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "hotc-bed:", err)
	}
	os.Exit(status)
}

// perServer are the requests for one server.
var perServer = []string{"logs", "off", "on", "reboot", "suspend", "resume", "cut", "restore", "rebuild", "evacuate"}

func run(members int, args []string) (int, error) {
	word := ""
	if len(args) > 0 {
		word = args[0]
	}
	switch {
	case word == "servers" && len(args) == 1:
		return ask(word, "")
	case word == "exec" && len(args) > 2:
		return inServer(args[1], args[2:])
	case slices.Contains(perServer, word) && len(args) == 2:
		return ask(word, args[1])
	case word == "servers" || word == "exec" || slices.Contains(perServer, word) || word == "try" && len(args) < 2:
		fmt.Fprint(os.Stderr, usage)
		return exitUsage, nil
	}
	return inBed(members, args)
}

func ask(action, server string) (int, error) {
	a, err := bed.Ask(action, server)
	if err != nil {
		return 1, err
	}
	fmt.Print(a.Text)
	return 0, nil
}

func inServer(server string, args []string) (int, error) {
	command, environment, err := bed.InServer(server, args)
	if err != nil {
		return 1, err
	}
	return foreground(command, environment)
}

// foreground runs a command on this terminal and returns its exit status.
func foreground(command, environment []string) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		return ended.ExitCode(), nil
	}
	return 1, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
}
