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

// hooked is what became of the hooks of one name (docs/json.md).
type hooked operate.Hooked

func (h *hooked) print(io streams) {
	for _, r := range h.Roles {
		if r.Status == coordinator.AnswerDone {
			fmt.Fprintf(io.out, "%s: the hook %s is done.\n", r.Role, h.Hook)
		} else {
			fmt.Fprintf(io.out, "%s: the hook %s is %s.\n", r.Role, h.Hook, r.Status)
		}
		if r.Status != coordinator.AnswerDone {
			for line := range strings.Lines(r.Output) {
				fmt.Fprintf(io.out, "  | %s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	if len(h.Roles) == 0 {
		fmt.Fprintf(io.out, "No role of %s has a hook %s to run.\n", h.Stack, h.Hook)
	}
}

// failure is the error with which hotc ends; nil when all went well.
func (h *hooked) failure() error {
	var failed *source.Diagnostic
	for _, r := range h.Roles {
		if r.Status == coordinator.AnswerDone {
			continue
		}
		if failed == nil {
			failed = source.Fail(source.RoleFailed, fmt.Sprintf("the hook %s of %s: %s", h.Hook, r.Role, r.Reason), "hooks after it did not run; the same command runs them again")
			continue
		}
		failed.Notes = append(failed.Notes, source.Note{Message: fmt.Sprintf("%s: %s", r.Role, r.Reason)})
	}
	if failed == nil {
		return nil
	}
	return failed
}

// runHooks runs a hook of all roles that have it, and waits.
func (s *session) runHooks(ctx context.Context, v *status.Status, hook string, say func(string)) (*hooked, error) {
	h, err := s.RunHooks(ctx, v, hook, say)
	if err != nil && ctx.Err() != nil {
		err = source.Fail(source.OperationFailed, "interrupted: hooks that were asked for run all the same", "the same command waits for them again")
	}
	return (*hooked)(h), s.explain(ctx, err)
}
