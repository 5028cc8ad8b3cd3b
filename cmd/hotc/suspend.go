package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
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
		t        target
		runHooks bool
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
	cmd.Flags().BoolVar(&runHooks, "run-hooks", false, "run the hooks, one run each")
	return cmd
}

// printHooks says what became of the hooks of one name.
func printHooks(io streams, h *operate.Hooked) {
	for _, r := range h.Roles {
		if r.Status == coordinator.AnswerDone {
			fmt.Fprintf(io.out, "%s: the hook %s is done.\n", r.Role, h.Hook)
			continue
		}
		fmt.Fprintf(io.out, "%s: the hook %s is %s.\n", r.Role, h.Hook, r.Status)
		for line := range strings.Lines(r.Output) {
			fmt.Fprintf(io.out, "  | %s\n", strings.TrimRight(line, "\n"))
		}
	}
	if len(h.Roles) == 0 {
		fmt.Fprintf(io.out, "No role of %s has a hook %s to run.\n", h.Stack, h.Hook)
	}
}

// runHooks runs a hook of all roles that have it, and waits.
func (s *session) runHooks(ctx context.Context, v *status.Status, hook string, say func(string)) (*operate.Hooked, error) {
	h, err := s.RunHooks(ctx, v, hook, say)
	if err != nil && ctx.Err() != nil {
		err = source.Fail(source.OperationFailed, "interrupted: hooks that were asked for run all the same", "the same command waits for them again")
	}
	return h, err
}

// deleteHooks runs the delete hooks of all roles, and says how they ended.
func (s *session) deleteHooks(ctx context.Context, v *status.Status, say func(string)) (*operate.Hooked, error) {
	h, err := s.runHooks(ctx, v, contract.HookDelete, say)
	if err != nil {
		return nil, err
	}
	h.Say(say)
	return h, h.Failure()
}
