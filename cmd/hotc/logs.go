package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newLogsCommand(io streams) *cobra.Command {
	var (
		t      target
		follow bool
	)
	cmd := &cobra.Command{
		Use:   "logs NAME SERVER.ROLE",
		Short: "Print the end of a role's output",
		Long: fmt.Sprintf(`Print the end of what a role printed in its last run, or in its update hook after that:
the coordinator keeps the last %d KiB. The whole log is on the server.`, protocol.LogSize>>10),
		Args: cobra.ExactArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			v, err := s.Status(ctx)
			if err != nil {
				return err
			}
			r, err := operate.FindRole(v, args[0])
			if err != nil {
				return err
			}
			if follow && !t.asJSON {
				return s.FollowLog(ctx, io.out, v, r)
			}
			text, err := s.Log(ctx, r)
			if err != nil {
				return err
			}
			return printResult(io.out, t.asJSON, logReport{Stack: t.stack, Role: string(r.Key()), Status: r.Word(), Log: string(text)}, func() { io.out.Write(text) })
		}),
	}
	t.addFlags(cmd, "print the log as JSON")
	cmd.Flags().BoolVar(&follow, "follow", false, "keep printing until the role has ended")
	cmd.MarkFlagsMutuallyExclusive("follow", "json")
	return cmd
}

// logReport is the result of `hotc logs --json` (docs/json.md).
type logReport struct {
	Stack  string `json:"stack"`
	Role   string `json:"role"`
	Status string `json:"status"`
	Log    string `json:"log"`
}
