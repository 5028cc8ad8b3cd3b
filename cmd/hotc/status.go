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
			show := func(v *status.Status) error {
				if cursor := io.cursor(); watch && cursor != "" && !t.asJSON {
					fmt.Fprint(io.out, cursor.Sequence("H")+cursor.Sequence("2J"))
				}
				of, err := selectServers(v, args)
				if err != nil {
					return err
				}
				var removed []deploy.Removed
				if len(args) == 0 {
					if removed, err = s.Removed(ctx, v.Plan); err != nil {
						return err
					}
				}
				report := v.Report(t.stack, of, removed)
				if t.asJSON && watch {
					return printJSONLine(io.out, report)
				}
				if t.asJSON {
					return printJSON(io.out, report)
				}
				_, err = fmt.Fprint(io.out, statusText(io, v, of, removed, &t, time.Now()))
				return err
			}
			q := &heatQuestion{t: &t}
			v, err := s.Status(ctx)
			if err != nil {
				return err
			}
			if watch {
				v, err = s.WatchStatus(ctx, v, io.width() > 0 && !t.asJSON, q.ask, show)
			} else if v, err = s.Settled(ctx, v); err == nil {
				v.Stack = q.ask(ctx)
				err = show(v)
			}
			if err != nil {
				return err
			}
			of, err := selectServers(v, args)
			if err == nil && status.AnyFailed(of) {
				err = errFailed
			}
			return err
		}),
	}
	t.addFlags(cmd, "print the status as JSON, with --watch one line per change")
	cmd.Flags().BoolVar(&watch, "watch", false, "keep watching until every server has finished")
	return cmd
}

func selectServers(v *status.Status, args []string) ([]*status.Server, error) {
	if len(args) == 0 {
		return v.Servers, nil
	}
	s, err := operate.FindServer(v, args[0])
	if err != nil {
		return nil, err
	}
	return []*status.Server{s}, nil
}
