package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
)

func newAdmitCommand(io streams) *cobra.Command {
	var (
		t      target
		key    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "admit SERVER --key KEY",
		Short: "Let a machine in whose server's token was used before",
		Long: `Let the machine with this key in as a server. Where a deployment was applied with
--enrol=once a token lets one machine in, the first one. A machine that comes later,
because the server was built anew, says its key on its console, and waits. Take the key
from that console, or compare it: "hotc status" shows who asks, and anybody who has the
token can ask, and can hide others that do. Without --key nothing is done.`,
		Args: cobra.ExactArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			result, err := s.admit(ctx, contract.ServerPath(args[0]), key)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(io.out, result)
			}
			result.print(io, &t)
			return nil
		}),
	}
	t.addFlags(cmd)
	cmd.Flags().StringVar(&key, "key", "", "the machine's `KEY`, as it stands on its console")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

// admitted is the result of `hotc admit` (docs/json.md).
type admitted struct {
	Stack    string              `json:"stack"`
	Server   contract.ServerPath `json:"server"`
	Instance string              `json:"instance"`
	Key      string              `json:"key"`
	// Secrets are the parameters that have to be given again, for the machine's key.
	Secrets []string `json:"secrets"`
}

func (s *session) admit(ctx context.Context, server contract.ServerPath, key string) (*admitted, error) {
	v, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	if v.ByPath[server] == nil {
		return nil, unknownServer(v, string(server))
	}
	within, stop := s.Within(ctx)
	defer stop()
	reader, err := deploy.NewReader(within, s, s.Deployment, s.Secret, v.Plan)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	if key == "" {
		asking, err := reader.Knocks(within, server)
		if err != nil {
			return nil, s.notAdmitted(ctx, server, err)
		}
		return nil, whichMachine(s.target, server, asking)
	}
	knock, err := reader.Admit(within, server, key)
	if err != nil {
		return nil, s.notAdmitted(ctx, server, err)
	}
	result := &admitted{Stack: s.target.stack, Server: server, Instance: knock.Instance, Key: key, Secrets: []string{}}
	for _, x := range v.Plan.Secrets {
		if slices.Contains(x.Readers, server) {
			result.Secrets = append(result.Secrets, x.Name)
		}
	}
	return result, nil
}

// whichMachine asks for the key of one that asks to be a server.
func whichMachine(t *target, server contract.ServerPath, asking []coordinator.KnockRecord) error {
	if len(asking) == 0 {
		return source.Fail(source.UnknownName, "no machine asks to be "+string(server),
			"it says its key on its console when it is not let in; \""+t.command("status")+"\" shows who asks")
	}
	d := source.Fail(source.Usage, "which machine?", "--key says that you have compared it: openstack console log show SERVER")
	for _, k := range asking {
		d.Notes = append(d.Notes, source.Note{Message: terminal.Line(knockText(t, server, k))})
	}
	return d
}

func (s *session) notAdmitted(ctx context.Context, server contract.ServerPath, err error) error {
	switch {
	case errors.Is(err, deploy.ErrEnrolsAlways):
		return source.Fail(source.UnknownName, "nobody has to be let in as "+string(server)+": every machine that has its token is",
			"the deployment was not applied with --enrol=once")
	case errors.Is(err, deploy.ErrNoKey):
		return source.Fail(source.Usage, "--key: "+deploy.ErrNoKey.Error(), "it stands whole, with 44 characters, on the console of the machine that waits")
	}
	return s.explain(ctx, err)
}

func (r *admitted) print(io streams, t *target) {
	who := "the machine with this key"
	if r.Instance != "" {
		who = instanceName(r.Instance)
	}
	fmt.Fprintf(io.out, "%s is let in as %s.\n", terminal.Line(who), r.Server)
	if len(r.Secrets) == 0 {
		return
	}
	fmt.Fprintf(io.out, "It has another key than the machine before: give it its %s again.\n\n  %s%s\n",
		strings.Join(r.Secrets, ", "), t.command("apply", "DIR"), giftFlags(r.Secrets...))
}

func instanceName(instance string) string {
	if instance == "" {
		return "a machine"
	}
	return "instance " + instance
}

// knockText says who asks to be a server, and what lets it in.
func knockText(t *target, server contract.ServerPath, k coordinator.KnockRecord) string {
	return fmt.Sprintf("%s asks to be %s, whose token was used before: %s", instanceName(k.Instance), server, coordinator.AdmitCommand(server, t.flags(), k.Key))
}

// knockLines tell of the machines that ask to be one of the servers.
func knockLines(t *target, servers []*status.Server) string {
	var b strings.Builder
	for _, s := range servers {
		for _, k := range s.Knocks {
			b.WriteString(visibleLine(knockText(t, s.Path, k)))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}
