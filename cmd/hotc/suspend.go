package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newSuspendCommand(io streams) *cobra.Command {
	return newTurnCommand(io, contract.HookSuspend, `Run the suspend hooks of a deployment's roles and wait for them; readers' hooks run before
those of the roles that they read from. Heat suspends servers without notifying them: run
this first, then "openstack stack suspend".`, "openstack stack suspend %s")
}

func newResumeCommand(io streams) *cobra.Command {
	return newTurnCommand(io, contract.HookResume, `Run the resume hooks of a deployment's roles and wait for them, in the order in which
roles read from each other. Run it after "openstack stack resume"; it waits for agents
that are not back yet.`, "")
}

// newTurnCommand is the command for a hook that Heat does not have.
func newTurnCommand(io streams, hook, long, next string) *cobra.Command {
	var (
		t        target
		runHooks bool
	)
	cmd := &cobra.Command{
		Use:   hook + " NAME",
		Short: "Run the roles' " + hook + " hooks",
		Long:  long,
		Args:  cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if !runHooks {
				return usageError{fmt.Errorf("hotc %s only runs hooks; \"openstack stack %[1]s\" is for the stack: add --run-hooks", hook)}
			}
			return nil
		},
		RunE: t.operate(func(ctx context.Context, s *session, _ []string) error {
			v, err := s.Status(ctx)
			if err != nil {
				return err
			}
			result, err := s.runHooks(ctx, v, hook, func(text string) { fmt.Fprintln(io.err, text) })
			if err != nil {
				return err
			}
			failed := result.Failure()
			return errors.Join(printResult(io.out, t.asJSON, result, func() {
				printHooks(io, result)
				if failed == nil && next != "" {
					fmt.Fprintf(io.out, "\nNext:\n\n  "+next+"\n", shellQuote(t.stack))
				}
			}), failed)
		}),
	}
	t.addFlags(cmd, "print the result as JSON")
	cmd.Flags().BoolVar(&runHooks, "run-hooks", false, "run each hook once (required)")
	return cmd
}

// printHooks prints the results of a hook's runs.
func printHooks(io streams, h *operate.Hooked) {
	for _, r := range h.Roles {
		if r.Status == protocol.AnswerDone {
			fmt.Fprintf(io.out, "%s: the %s hook is done.\n", r.Role, h.Hook)
			continue
		}
		fmt.Fprintf(io.out, "%s: the %s hook is %s.\n", r.Role, h.Hook, r.Status)
		for line := range strings.Lines(r.Output) {
			fmt.Fprintf(io.out, "  | %s\n", strings.TrimRight(line, "\n"))
		}
	}
	if len(h.Roles) == 0 {
		fmt.Fprintf(io.out, "No role of %s has a %s hook to run.\n", h.Stack, h.Hook)
	}
}

// runHooks runs a hook of all roles that have it, and waits for them.
func (s *session) runHooks(ctx context.Context, v *status.Status, hook string, say func(string)) (*operate.Hooked, error) {
	h, err := s.RunHooks(ctx, v, hook, say)
	if err != nil && ctx.Err() != nil {
		err = source.Fail(source.OperationFailed, "interrupted: requested hooks will still run", "run the same command again to wait for them")
	}
	return h, err
}

// deleteHooks runs the delete hooks of all roles, and prints how they ended.
func (s *session) deleteHooks(ctx context.Context, v *status.Status, say func(string)) (*operate.Hooked, error) {
	h, err := s.runHooks(ctx, v, contract.HookDelete, say)
	if err != nil {
		return nil, err
	}
	h.Say(say)
	return h, h.Failure()
}
