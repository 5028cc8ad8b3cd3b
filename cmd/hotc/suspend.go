package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
)

func newSuspendCommand(io streams) *cobra.Command {
	return newTurnCommand(io, contract.HookSuspend, `Run the suspend hooks of a deployment's roles and wait for them; readers' hooks run before
those of the roles they read from. Heat suspends servers from outside, and nothing on them
notices: so do this first, then "openstack stack suspend".`, "openstack stack suspend %s")
}

func newResumeCommand(io streams) *cobra.Command {
	return newTurnCommand(io, contract.HookResume, `Run the resume hooks of a deployment's roles and wait for them, in the order in which
roles read from each other. It comes after "openstack stack resume", and waits for
agents that have not come back yet.`, "")
}

// newTurnCommand makes a command for hooks that Heat does not know.
func newTurnCommand(io streams, hook, long, next string) *cobra.Command {
	var (
		t                target
		runHooks, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   hook,
		Short: "Run the roles' " + hook + " hooks",
		Long:  long,
		Args:  cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if !runHooks {
				return usageError{fmt.Errorf("hotc %s runs hooks, and leaves the stack to \"openstack stack %s\": say --run-hooks", hook, hook)}
			}
			return nil
		},
		RunE: t.operate(func(ctx context.Context, s *session, _ []string) error {
			v, err := s.look(ctx)
			if err != nil {
				return err
			}
			result, err := s.runHooks(ctx, v, hook, func(text string) { fmt.Fprintln(io.err, text) })
			if err != nil {
				return err
			}
			failed := result.Failure()
			return errors.Join(printResult(io.out, asJSON, result, func() {
				printHooks(io, result)
				if failed == nil && next != "" {
					fmt.Fprintf(io.out, "\nNext:\n\n  "+next+"\n", shellQuote(t.stack))
				}
			}), failed)
		}),
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&runHooks, "run-hooks", false, "run the hooks, one run each")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}
