package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/operate"
	"github.com/hotc-dev/hotc/runtime/up"
)

func newDestroyCommand(io streams) *cobra.Command {
	d := destruction{io: io}
	cmd := &cobra.Command{
		Use:   "destroy NAME",
		Short: "Remove a deployment from the coordinator",
		Long: `Remove a deployment from the coordinator: its plan, files, cells and everything else. The
stack stays as it is; agents that still run roles fail.

With --run-hooks hotc first runs the roles' delete hooks and waits for them. If Heat is
deleting the stack, and waits at the hooks that hotc/delete-hooks.yaml sets, hotc then
clears them with your Heat credentials ($OS_CLOUD, or the OS_* variables). --delete-stack
also deletes the stack.`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if d.deleteStack && !d.runHooks {
				return usageError{errors.New("--delete-stack requires --run-hooks; without hooks \"openstack stack delete\" is enough")}
			}
			return nil
		},
		RunE: d.operate(func(ctx context.Context, s *session, _ []string) error {
			result, err := d.run(ctx, s)
			if d.asJSON && result != nil {
				return errors.Join(printJSON(io.out, result), err)
			}
			if err == nil {
				result.print(io, &d)
			}
			return err
		}),
	}
	d.addFlags(cmd, "print the result as JSON")
	d.addRootKeyFlag(cmd)
	d.addLockFlag(cmd)
	cmd.Flags().BoolVar(&d.yes, "yes", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&d.runHooks, "run-hooks", false, "run the roles' delete hooks first")
	cmd.Flags().BoolVar(&d.deleteStack, "delete-stack", false, "delete the stack when the hooks are done")
	return cmd
}

// destruction is one run of `hotc destroy`.
type destruction struct {
	target
	io                         streams
	yes, runHooks, deleteStack bool
}

// destroyed is the result of `hotc destroy` (docs/json.md).
type destroyed struct {
	Stack     string `json:"stack"`
	Destroyed bool   `json:"destroyed"`
	// Hooks are the results of the delete hooks, with --run-hooks.
	Hooks *operate.Hooked `json:"hooks,omitempty"`
	// StackGone says that Heat has deleted the stack, or has none.
	StackGone bool `json:"stack_gone,omitempty"`
}

func (r *destroyed) print(io streams, d *destruction) {
	if r.Destroyed {
		fmt.Fprintf(io.out, "%s is destroyed.\n", d.stack)
	} else {
		fmt.Fprintf(io.out, "Nothing to destroy: there is no deployment %s on %s.\n", d.stack, d.coordinatorName())
	}
	if r.Hooks != nil && len(r.Hooks.Roles) > 0 && !r.StackGone {
		fmt.Fprintf(io.out, "\nThe stack still exists. If it was created with hotc/delete-hooks.yaml, its deletion waits for this command again:\n\n"+
			"  openstack stack delete --yes %s\n  %s\n", shellQuote(d.stack), d.command("destroy", "--run-hooks", "--yes"))
	}
}

func (d *destruction) run(ctx context.Context, s *session) (*destroyed, error) {
	if err := s.mayDestroy(ctx); err != nil {
		return nil, err
	}
	if !d.yes {
		if err := confirm(ctx, d.io, fmt.Sprintf("Destroy the deployment %s on %s?", d.stack, d.coordinatorName())); err != nil {
			return nil, err
		}
	}
	var held *deploy.HeldError
	if lock, err := s.lock(ctx, "hotc destroy"); errors.As(err, &held) {
		return nil, err
	} else if err == nil {
		defer lock.Release()
	} // otherwise there is nothing to destroy, or destroy says why it cannot be
	result := &destroyed{Stack: d.stack}
	if d.runHooks {
		if err := d.hooks(ctx, s, result); err != nil {
			return result, err
		}
		if err := d.leaveHeat(ctx, result); err != nil {
			return result, err
		}
	}
	was, err := s.destroy(ctx)
	result.Destroyed = was
	return result, err
}

// mayDestroy refuses to work in another user's ROOT.
func (s *session) mayDestroy(ctx context.Context) error {
	root, _, err := s.enterRoot(ctx)
	if root.State == deploy.RootOpen { // anyone may delete
		return nil
	}
	return err
}

// destroy deletes the deployment; was says whether there was one.
func (s *session) destroy(ctx context.Context) (was bool, err error) {
	within, stop := s.Long(ctx)
	defer stop()
	err = deploy.Destroy(within, s.Session, s.Deployment)
	if errors.Is(err, deploy.ErrNotApplied) {
		return false, nil
	}
	return err == nil, err
}

func (d *destruction) say(text string) { fmt.Fprintln(d.io.err, text) }

// hooks runs the delete hooks. A deployment that no longer exists has none: an earlier run of
// this command has removed it.
func (d *destruction) hooks(ctx context.Context, s *session, result *destroyed) error {
	v, err := s.Status(ctx)
	if errors.Is(err, deploy.ErrNotApplied) {
		return nil
	}
	if err != nil {
		return err
	}
	if cloud, err := heat.Connect(ctx, heat.Options{}); err == nil {
		(&up.Down{Cloud: cloud, Name: d.stack}).Left(ctx, v)
	}
	result.Hooks, err = s.deleteHooks(ctx, v, d.say)
	return err
}

// leaveHeat lets Heat continue a deletion that waits for the hooks, which are done.
func (d *destruction) leaveHeat(ctx context.Context, result *destroyed) error {
	cloud, err := heat.Connect(ctx, heat.Options{})
	if err == nil {
		result.StackGone, err = (&up.Down{Cloud: cloud, View: sayView{d.say}, Name: d.stack, Look: betweenHeatsLooks}).Stack(ctx, d.deleteStack)
	}
	switch {
	case ctx.Err() != nil:
		return source.Fail(source.OperationFailed, "interrupted: the hooks are done, the deployment still exists", "run the same command again to continue")
	case err == nil:
		return nil
	case result.Hooks != nil && len(result.Hooks.Roles) == 0 && !d.deleteStack:
		return nil // no hooks that Heat could wait for
	}
	why := err.Error()
	if found, is := source.AsDiagnostic(err); is {
		if why = found.Message; found.Code == source.StackFailed {
			return err
		}
	}
	return source.Fail(source.OperationFailed, "the hooks are done, but Heat cannot be asked whether it waits for them: "+why,
		"set credentials for Heat ($OS_CLOUD, or $OS_AUTH_URL …). If Heat has no such stack: \""+d.command("destroy")+"\"; if a deletion waits: \"openstack stack hook clear --pre-delete "+shellQuote(d.stack)+" RESOURCE\"")
}

// errUnanswered is an interrupted confirmation.
var errUnanswered = source.Fail(source.OperationFailed, "interrupted: nothing was done", "")

// confirm asks on standard error, so that the output stays clean.
func confirm(ctx context.Context, io streams, question string) error {
	if !io.interactive() {
		return source.Fail(source.Usage, "cannot ask for confirmation: the input is not a terminal", "use --yes to skip the question")
	}
	fmt.Fprint(io.err, question+" [y/N] ")
	answered := make(chan string, 1)
	mistake.Go(func() {
		answer, _ := bufio.NewReader(io.in).ReadString('\n')
		answered <- answer
	})
	select {
	case answer := <-answered:
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
			return nil
		}
	case <-ctx.Done(): // Ctrl-C, while the terminal is read
		fmt.Fprintln(io.err)
		return errUnanswered
	}
	return source.Fail(source.OperationFailed, "not confirmed: nothing was done", "")
}

// sayView prints hotc's own steps, and none of Heat's.
type sayView struct{ say func(string) }

func (v sayView) Say(text string)        { v.say(text + ".") }
func (sayView) Event(heat.Event)         {}
func (sayView) Known(*status.Status)     {}
func (sayView) Roles(*status.Status)     {}
func (sayView) Confirm(up.Changes) error { return nil }
