package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newAdmitCommand(io streams) *cobra.Command {
	var (
		t   target
		key string
	)
	cmd := &cobra.Command{
		Use:   "admit NAME SERVER --key KEY",
		Short: "Admit a machine whose server's token was used before",
		Long: `Admit the machine with this key as a server. In a deployment applied with --enrol=once,
a server's token admits one machine, the first. A machine that comes later, because the
server was rebuilt, prints its key on its console and waits. Take the key from that
console, or compare it with the one that "hotc status" shows: anyone who has the token
can ask to be admitted, and can hide other machines that ask. Without --key hotc lists
the machines that ask, and changes nothing.`,
		Args: cobra.ExactArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			server := contract.ServerPath(args[0])
			if key == "" {
				asking, err := s.AwaitingApproval(ctx, server)
				if err != nil {
					return err
				}
				return whichMachine(s, server, asking)
			}
			result, err := s.Admit(ctx, server, key)
			if err != nil {
				return err
			}
			return printResult(io.out, t.asJSON, result, func() { printAdmitted(io, result, &t) })
		}),
	}
	t.addFlags(cmd, "print the result as JSON")
	cmd.Flags().StringVar(&key, "key", "", "the machine's `KEY`, as its console shows it")
	return cmd
}

// whichMachine asks for --key and lists the machines that ask to be the server.
func whichMachine(s *session, server contract.ServerPath, asking []protocol.ApprovalRequest) error {
	if len(asking) == 0 {
		return source.Fail(source.UnknownName, "no machine asks to be "+string(server),
			"a machine that is not admitted prints its key on its console; \""+s.Command("status")+"\" shows the machines that ask")
	}
	return source.Fail(source.Usage, "which machine?", "compare its key with its console (openstack console log show SERVER), and pass it with --key").
		With(lists.Map(s.Asking(server, asking), terminal.Line)...)
}

func printAdmitted(io streams, r *operate.Admitted, t *target) {
	who := "the machine with this key"
	if r.Instance != "" {
		who = "instance " + r.Instance
	}
	fmt.Fprintf(io.out, "%s is admitted as %s.\n", terminal.Line(who), r.Server)
	if len(r.Secrets) == 0 {
		return
	}
	fmt.Fprintf(io.out, "Its key is not that of the machine before it: supply %s again.\n\n  %s%s\n",
		strings.Join(r.Secrets, ", "), t.command("apply", "DIR"), operate.SecretFlags(r.Secrets...))
}

// approvalLines list the machines that ask to be one of the servers.
func approvalLines(s *session, servers []*status.Server) string {
	return under(lists.Flat(servers, func(x *status.Server) []string { return s.Asking(x.Path, x.AwaitingApproval) }))
}
