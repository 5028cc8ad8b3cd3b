package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newStatusCommand(io streams) *cobra.Command {
	var (
		t     target
		watch bool
	)
	cmd := &cobra.Command{
		Use:   "status NAME [SERVER]",
		Short: "Show which roles run, and what the others wait for",
		Long: `Show for each role whether it is done, running, failed or waiting, and for which value of
which role; and for each server whether its agent is there. The exit status is 3 if
anything has failed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			ticking := io.width() > 0 && !t.asJSON
			for v, err := range s.Views(ctx) {
				switch {
				case err != nil:
					return err
				case v.Unsure && !watch, v.Ticked && !ticking && !v.Finished():
					continue
				}
				of, removed := v.Servers, []deploy.Removed(nil)
				if len(args) > 0 {
					server, err := operate.FindServer(v.Status, args[0])
					if err != nil {
						return err
					}
					of = []*status.Server{server}
				} else if removed, err = s.Removed(ctx, v.Plan); err != nil {
					return err
				}
				report := v.Report(t.stack, of, removed)
				switch cursor := io.cursor(); {
				case t.asJSON && watch:
					err = printJSONLine(io.out, report)
				case t.asJSON:
					err = printJSON(io.out, report)
				default:
					if watch && cursor != "" {
						fmt.Fprint(io.out, cursor.Sequence("H")+cursor.Sequence("2J"))
					}
					_, err = fmt.Fprint(io.out, statusText(io, v.Status, of, removed, s, time.Now()))
				}
				switch {
				case err != nil:
					return err
				case watch && !v.Finished():
				case report.Failed:
					return errFailed
				default:
					return nil
				}
			}
			return nil
		}),
	}
	t.addFlags(cmd, "print the status as JSON, with --watch one line per change")
	cmd.Flags().BoolVar(&watch, "watch", false, "keep watching until every server has finished")
	return cmd
}
