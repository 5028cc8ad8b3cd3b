package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
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
because the server was built anew, says its key on its console, and waits. Compare the
key with that console's before you let it in: "hotc status" shows what was asked, which
anybody who has the token can ask. Without --key nothing is done.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := t.open(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			result, err := s.admit(cmd.Context(), plan.ServerPath(args[0]), key)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(io.out, result)
			}
			result.print(io)
			return nil
		},
	}
	t.addFlags(cmd)
	cmd.Flags().StringVar(&key, "key", "", "the machine's `KEY`, as it stands on its console")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

// admitted is the result of `hotc admit` (docs/json.md).
type admitted struct {
	Stack    string          `json:"stack"`
	Server   plan.ServerPath `json:"server"`
	Instance string          `json:"instance"`
	Key      string          `json:"key"`
	// Secrets are the parameters that have to be given again, for the machine's key.
	Secrets []string `json:"secrets"`
}

func (s *session) admit(ctx context.Context, server plan.ServerPath, key string) (*admitted, error) {
	v, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	if v.byPath[server] == nil {
		return nil, unknownServer(v, string(server))
	}
	within, stop := s.within(ctx)
	defer stop()
	if key == "" {
		knock, err := coordinator.ReadKnock(within, s, s.deployment, server)
		if err == nil && knock.Key != "" {
			return nil, source.Fail(source.Usage, "which machine? "+knockText(server, knock), "--key says that you have compared it: openstack console log show SERVER")
		}
		if err == nil {
			err = coordinator.ErrNoKnock
		}
		return nil, s.notAdmitted(ctx, server, key, err)
	}
	knock, err := coordinator.Admit(within, s, s.deployment, s.secret, server, key)
	if err != nil {
		return nil, s.notAdmitted(ctx, server, key, err)
	}
	result := &admitted{Stack: s.target.stack, Server: server, Instance: knock.Instance, Key: key, Secrets: []string{}}
	for _, x := range v.plan.Secrets {
		if slices.Contains(x.Readers, server) {
			result.Secrets = append(result.Secrets, x.Name)
		}
	}
	return result, nil
}

func (s *session) notAdmitted(ctx context.Context, server plan.ServerPath, key string, err error) error {
	who := "no machine"
	if key != "" {
		who = "no machine with this key"
	}
	switch {
	case errors.Is(err, coordinator.ErrEnrolsAlways):
		return source.Fail(source.UnknownName, "nobody has to be let in as "+string(server)+": every machine that has its token is",
			"the deployment was not applied with --enrol=once")
	case errors.Is(err, coordinator.ErrNoKnock):
		return source.Fail(source.UnknownName, who+" asks to be "+string(server),
			"it says its key on its console when it is not let in; \"hotc status "+s.target.flags()+"\" shows who asks")
	}
	return s.explain(ctx, err)
}

func (r *admitted) print(io streams) {
	fmt.Fprintf(io.out, "%s is let in as %s.\n", visible(instanceName(r.Instance)), r.Server)
	if len(r.Secrets) == 0 {
		return
	}
	flags := ""
	for _, name := range r.Secrets {
		flags += " --secret-param " + shellQuote(name) + "=FILE"
	}
	fmt.Fprintf(io.out, "It has another key than the machine before: give it its %s again.\n\n  hotc apply DIR --stack %s%s\n",
		strings.Join(r.Secrets, ", "), shellQuote(r.Stack), flags)
}

func instanceName(instance string) string {
	if instance == "" {
		return "the machine"
	}
	return "instance " + instance
}

// knockText says who asks to be a server, and what lets it in.
func knockText(server plan.ServerPath, k coordinator.KnockRecord) string {
	return fmt.Sprintf("%s asks to be %s, whose token was used before: hotc admit %s --key %s", instanceName(k.Instance), server, shellQuote(string(server)), k.ID())
}

// knockLines tell of the machines that ask to be one of the servers.
func knockLines(servers []*serverStanding) string {
	var b strings.Builder
	for _, s := range servers {
		if s.Knock.Key != "" {
			b.WriteString(visibleLine(knockText(s.Path, s.Knock)))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}
