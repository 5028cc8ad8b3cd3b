// Command hotc compiles OpenStack Heat templates whose servers say which software
// roles they run, and operates what was compiled. Each command has a file here.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/ansible"
	"github.com/hotc-dev/hotc/compiler/driver/chef"
	"github.com/hotc-dev/hotc/compiler/driver/plugin"
	"github.com/hotc-dev/hotc/compiler/driver/puppet"
	"github.com/hotc-dev/hotc/compiler/driver/salt"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// version is set by the linker in a release.
var version = "0.1.0-dev"

// drivers are the compiler's halves of the drivers. A new one needs a line here and one in
// cmd/hotc-agent.
func drivers() []driver.Driver { return driversWith(&pluginMachine{ctx: context.Background()}) }

func driversWith(plugins plugin.Machine) []driver.Driver {
	return []driver.Driver{script.Driver, chef.Driver, puppet.Driver, ansible.Driver, salt.Driver, plugin.Drivers(plugins)}
}

func main() {
	if os.Getenv("GOGC") == "" {
		tuneHeap(strings.Join(os.Args[1:min(len(os.Args), 2)], ""))
	}
	ctx, ignore := signal.NotifyContext(context.Background(), endings()...)
	ctx, stop := context.WithCancelCause(ctx)
	outlivePipes()
	s, flush := standardStreams(stop)
	code := run(ctx, os.Args[1:], s)
	flush()
	ignore()
	os.Exit(code)
}

// endings are the signals that end a command in order: Ctrl-C, a service manager's, and the
// hang-up of a closed terminal, unless nohup ignores it.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// run is the whole program without its process.
func run(ctx context.Context, args []string, s streams) (status int) {
	defer func() {
		if p := recover(); p != nil {
			printError(s.err, mistaken(p), s.errStyle())
			status = exitError
		}
	}()
	root := newRootCommand(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return exit(ctx, s, cmd.CommandPath(), err)
}

func printError(w io.Writer, err error, style source.Style) {
	d, ok := source.AsDiagnostic(err)
	if !ok {
		d = source.Fail(source.OperationFailed, err.Error(), "")
	}
	source.Print(w, d, style)
}

func newRootCommand(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "hotc",
		Short: "Compile and operate Heat templates whose servers run software roles",
		Long: `hotc compiles a Heat template whose servers say in their metadata which software
roles they run, what each role needs from other servers and what it produces,
into a plain HOT template for stock Heat and a plan for the servers' agents.`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetVersionTemplate("hotc {{.Version}}\n")
	addGroups(root, s)
	markUsage(root)
	fitHelp(root, s)
	return root
}

// takes describes the values of flags, by type, in place of Go's own error texts.
var takes = map[string]string{"bool": "true or false", "duration": "a time such as 15s or 2m", "float64": "a number", "int": "a whole number", "int64": "a whole number"}

// markUsage turns errors of flags and arguments into usage errors, in all commands.
func markUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 { // a mistyped command, whose flags are unknown
			return unknownCommand(c, words[0])
		}
		if bad, is := errors.AsType[*pflag.InvalidValueError](err); is && takes[bad.GetFlag().Value.Type()] != "" {
			err = fmt.Errorf("--%s takes %s, not %q", bad.GetFlag().Name, takes[bad.GetFlag().Value.Type()], bad.GetValue())
		}
		return usageError{err}
	})
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				if _, said := source.AsDiagnostic(err); said || errors.As(err, &usageError{}) {
					return err
				}
				if c.HasSubCommands() {
					return unknownCommand(c, args[0])
				}
				if c.HasParent() {
					err = wrongArguments(c, args)
				}
				return usageError{err}
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		markUsage(c)
	}
}

// wrongArguments names a missing argument, or one too many.
func wrongArguments(c *cobra.Command, args []string) error {
	var names []string // required
	for _, word := range strings.Fields(c.Use)[1:] {
		if strings.ContainsAny(word[:1], "-[") {
			break
		}
		names = append(names, word)
	}
	if len(args) < len(names) {
		return fmt.Errorf("%s is missing: %s", strings.TrimRight(names[len(args)], "…."), c.UseLine())
	}
	return fmt.Errorf("too many arguments: %q: %s", args[len(args)-1], c.UseLine())
}

// unknownCommand suggests the command that may have been meant.
func unknownCommand(c *cobra.Command, name string) error {
	hint := fmt.Sprintf("`hotc help%s` lists the commands", strings.TrimPrefix(c.CommandPath(), "hotc"))
	if c.SuggestionsMinimumDistance = 2; len(c.SuggestionsFor(name)) > 0 {
		near := cmp.Or(hot.Nearest(name, c.SuggestionsFor(name)), c.SuggestionsFor(name)[0])
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return source.Fail(source.Usage, fmt.Sprintf("unknown command %q for %q", name, c.CommandPath()), hint)
}

func (s streams) print(found ...*source.Diagnostic) {
	for _, d := range found {
		source.Print(s.err, d, s.errStyle())
	}
}

func (s streams) errStyle() source.Style {
	return source.Style{Ink: streams{out: s.err, ink: s.ink}.outInk()}
}
