package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
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
			v, err := s.Status(ctx)
			if err == nil {
				v, err = s.Settled(ctx, v)
			}
			if err != nil {
				return err
			}
			roles, err := operate.Questioned(v, name)
			if err != nil {
				return err
			}
			v.Stack = (&heatQuestion{t: &t}).ask(ctx)
			i := status.Explain(v, roles)
			if err := s.illustrate(ctx, i); err != nil {
				return err
			}
			switch {
			case t.asJSON:
				err = printJSON(io.out, i.Report(t.stack, name))
			case name == "":
				_, err = fmt.Fprint(io.out, rootsText(&t, i, time.Now())+untoldLines(v, &t, time.Now()))
			default:
				_, err = fmt.Fprint(io.out, explanationText(&t, i, time.Now()))
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

// whyAbsent lists what may keep agents away.
func whyAbsent(v *status.Status, t *target) []string {
	came := len(lists.Only(v.Servers, (*status.Server).Came))
	stack := shellQuote(t.stack)
	perhaps := []string{
		"Heat has not created the server yet, or could not: openstack stack resource list " + stack,
		"it is still booting, or its user-data did not run: openstack console log show SERVER",
		"its machine is older than its first role: user-data is for new machines; openstack stack resource mark unhealthy " + stack + " RESOURCE, and the next update replaces it",
		"it cannot reach the coordinator: a route, a firewall, or an address that only works from this machine (" + t.coordinatorName() + ")",
	}
	if v.Restored {
		perhaps = append([]string{"the deployment was restored, and a server that was there before has not rejoined yet: it does so by itself once its agent runs and reaches the coordinator"}, perhaps...)
	}
	if came == 0 {
		return append(perhaps, "its token is refused, because the stack has another hotc_secret or another name than "+t.stack+": its console shows that")
	}
	return append(perhaps, fmt.Sprintf("not the secret: %s joined with tokens of the same secret", source.Counted(came, "other server")))
}

// illustrate adds the last lines of roles, what may keep an agent away, and the commands to
// continue with.
func (s *session) illustrate(ctx context.Context, i *status.Explanation) error {
	s.target.advise(i)
	within, stop := s.Within(ctx)
	defer stop()
	return i.ReadLogs(within, s, s.Deployment)
}

// advise adds to the root causes what to check or to do.
func (t *target) advise(i *status.Explanation) {
	for _, f := range i.Findings {
		switch f.Kind {
		case status.KindAbsent:
			f.Perhaps = whyAbsent(i.Status, t)
			if perhaps := i.Status.ByPath[f.Server].Perhaps; perhaps != "" {
				f.Perhaps = append([]string{"Heat has not created it if " + perhaps + ": no live agent knows"}, f.Perhaps...)
			}
		case status.KindNotGiven:
			f.Message = t.command("apply", "DIR") + operate.SecretFlags(f.Secret)
		case status.KindRefused:
			texts := lists.Map(i.Status.ByPath[f.Server].AwaitingApproval, func(k protocol.ApprovalRequest) string { return approvalText(t, f.Server, k) })
			f.Message = strings.Join(texts, "; ")
		default:
		}
	}
}
