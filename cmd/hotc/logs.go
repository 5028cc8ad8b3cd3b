package main

import (
	"bytes"
	"context"
	"fmt"
	stdio "io"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newLogsCommand(io streams) *cobra.Command {
	var (
		t              target
		follow, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "logs SERVER.ROLE",
		Short: "Print the end of what a role printed",
		Long: fmt.Sprintf(`Print the end of what a role printed when it ran last, or its hook update after that: the
coordinator keeps the last %d KiB. All of it is on the server.`, coordinator.LogSize>>10),
		Args: cobra.ExactArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			v, err := s.look(ctx)
			if err != nil {
				return err
			}
			r, err := operate.FindRole(v, args[0])
			if err != nil {
				return err
			}
			if follow && !asJSON {
				return s.followLog(ctx, io.out, v, r)
			}
			text, err := s.log(ctx, r)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(io.out, logReport{Stack: t.stack, Role: string(r.Key()), Status: r.Word(), Log: string(text)})
			}
			_, err = io.out.Write(text)
			return err
		}),
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&follow, "follow", false, "go on until the role has ended")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the log as JSON")
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

func (s *session) log(ctx context.Context, r *status.Role) ([]byte, error) {
	within, stop := s.Within(ctx)
	defer stop()
	text, err := deploy.ReadLog(within, s, s.Deployment, r.Server.Path, r.Name)
	return text, s.explain(ctx, err)
}

// followLog prints what a role prints until it has ended.
func (s *session) followLog(ctx context.Context, w stdio.Writer, v *status.Status, r *status.Role) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := s.Watch(ctx, s.Deployment.Log(r.Server.Path, r.Name))
	if err != nil {
		return s.explain(ctx, err)
	}
	states, err := s.Watch(ctx, s.Deployment.State(r.Server.Path))
	if err != nil {
		return s.explain(ctx, err)
	}
	alone := onlyServer(v.Plan, r.Server.Path)
	var seen []byte
	for {
		select {
		case _, open := <-changes:
			if !open {
				return interrupted()
			}
		case _, open := <-states:
			if !open {
				return interrupted()
			}
		}
		// The state is read before the log, so that the last lines of an ended role are not missed.
		v, err := s.lookAgain(ctx, alone)
		if err != nil {
			return err
		}
		text, err := s.log(ctx, r)
		if err != nil {
			return err
		}
		if _, err := w.Write(newText(seen, text)); err != nil {
			return err
		}
		seen = text
		if now := v.Role(r.Server.Path, r.Name); now == nil || !now.Ended.IsZero() && now.Renewal() != status.Updating && now.Renewal() != status.Superseded || now.Status == coordinator.RoleSkipped {
			return nil
		}
	}
}

// onlyServer is a plan of one server without its cells: to look at it costs little.
func onlyServer(p *contract.Plan, path contract.ServerPath) *contract.Plan {
	alone := &contract.Plan{Format: p.Format}
	for _, s := range p.Servers {
		if s.Path == path {
			alone.Servers = append(alone.Servers, s)
		}
	}
	return alone
}

// gap stands where more was printed than the coordinator keeps.
const gap = "\n[… hotc: more was printed than is kept …]\n"

// newText is what a log has more than it had: both are the ends of one text.
func newText(before, after []byte) []byte {
	if bytes.HasPrefix(after, before) {
		return after[len(before):]
	}
	for n := min(len(before), len(after)); n > 0; n-- {
		if bytes.Equal(before[len(before)-n:], after[:n]) {
			return after[n:]
		}
	}
	return append([]byte(gap), after...)
}
