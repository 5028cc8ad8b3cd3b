package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

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
	return h, s.explain(ctx, err)
}
