package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newWhyCommand(io streams) *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "why NAME [SERVER[.ROLE]]",
		Short: "Show what a role is waiting for, down to the root cause",
		Long: `Follow the waits of a role, or of a server's roles, to their root cause: a role that is
still running, a failure, an agent that never came, or a dependency cycle. Without a name,
show the root causes of everything that has not finished. The exit status is 3 if any of
it has failed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			name := strings.Join(args, "")
			v, err := s.Now(ctx)
			if err != nil {
				return err
			}
			i, err := s.Explain(ctx, v, name)
			if err != nil {
				return err
			}
			switch {
			case t.asJSON:
				err = printJSON(io.out, i.Report(t.stack, name))
			case name == "":
				_, err = fmt.Fprint(io.out, rootsText(s, i, time.Now())+noticeLines(s, v.Status, time.Now()))
			default:
				_, err = fmt.Fprint(io.out, explanationText(s, i, time.Now()))
			}
			if err == nil && i.Failed() {
				err = errFailed
			}
			return err
		}),
	}
	t.addFlags(cmd, "print the findings as JSON")
	return cmd
}
