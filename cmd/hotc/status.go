package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newStatusCommand(io streams) *cobra.Command {
	var (
		t             target
		watch, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "status [SERVER]",
		Short: "Show which roles run, and which wait for what",
		Long: `Show for each role whether it is done, runs, has failed, or waits, and for which value of
which role; and for each server whether its agent is there. Ends with status 3 if anything has failed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			show := func(v *status.Status, now time.Time) error {
				of, err := selectServers(v, args)
				if err != nil {
					return err
				}
				var removed []deploy.Removed
				if len(args) == 0 {
					if removed, err = s.Removed(ctx, v.Plan); err != nil {
						return s.explain(ctx, err)
					}
				}
				report := statusOf(t.stack, v, of, removed)
				if asJSON && watch {
					return printJSONLine(io.out, report)
				}
				if asJSON {
					return printJSON(io.out, report)
				}
				_, err = fmt.Fprint(io.out, statusText(io, v, of, removed, &t, now))
				return err
			}
			v, err := s.look(ctx)
			if err != nil {
				return err
			}
			if watch {
				v, err = watchStatus(ctx, io, s, v, asJSON, show)
			} else if v, err = s.lookForCycles(ctx, v); err == nil {
				err = show(v, time.Now())
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
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&watch, "watch", false, "go on until every server has finished")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the status as JSON, with --watch one line each time")
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

// pause is the shortest time between two pictures of --watch: changes come in
// swarms.
const pause = 250 * time.Millisecond

// watchStatus shows the status again whenever something changed, and every five
// seconds for the clocks in it. It returns the last one.
func watchStatus(ctx context.Context, io streams, s *session, v *status.Status, asJSON bool, show func(*status.Status, time.Time) error) (*status.Status, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := s.WatchServers(ctx, v.Plan)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	var seen status.Looks
	for {
		var soon <-chan time.Time
		if seen.See(v, time.Now()) {
			soon = time.After(status.BetweenLooks)
		}
		if io.color() && !asJSON {
			fmt.Fprint(io.out, io.outInk().Sequence("H")+io.outInk().Sequence("2J"))
		}
		if err := show(v, time.Now()); err != nil || v.Finished() {
			return v, err
		}
		if err := nextChange(ctx, changes, soon, tick.C, io.width() > 0 && !asJSON); err != nil {
			return nil, err
		}
		now, err := s.lookAgain(ctx, v.Plan)
		if err != nil {
			return nil, err
		}
		if now.Stands != v.Stands { // another plan was applied
			if now, err = s.look(ctx); err != nil {
				return nil, err
			}
			return watchStatus(ctx, io, s, now, asJSON, show)
		}
		v = now
	}
}

// nextChange waits for a change and for the swarm around it to pass.
func nextChange(ctx context.Context, changes <-chan coordinator.Path, soon, tick <-chan time.Time, clocks bool) error {
	if !clocks {
		tick = nil
	}
	select {
	case _, open := <-changes:
		if !open {
			return interrupted()
		}
	case <-soon:
		return nil
	case <-tick:
		return nil
	case <-ctx.Done():
		return interrupted()
	}
	quiet := time.NewTimer(pause)
	defer quiet.Stop()
	for {
		select {
		case _, open := <-changes:
			if !open {
				return interrupted()
			}
		case <-quiet.C:
			return nil
		}
	}
}
