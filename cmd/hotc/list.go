package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/live"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newListCommand(io streams) *cobra.Command {
	var l listing
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the deployments on a coordinator, with their stacks",
		Long: `List the deployments below the coordinator's ROOT: the state of the stack of that name in
your project, the deployment's age, and how many of its servers' agents are there. To show
more than names it needs the ROOT's key, or a secret that hotc up keeps. Without Heat
credentials it shows nothing about stacks.`,
		Args: cobra.NoArgs,
		RunE: l.inRoot(false, func(ctx context.Context, s *rootSession, _ []string) error {
			all, err := l.list(ctx, io, s, false)
			if err != nil {
				return err
			}
			within, stop := context.WithTimeout(ctx, l.timeout)
			defer stop()
			if s.root, err = deploy.LookAtRoot(within, s, s.key); err != nil {
				return err
			}
			if l.asJSON {
				return printJSON(io.out, listReport{upFormat, l.coordinatorName(), all})
			}
			printListed(io, all)
			if s.root.State == deploy.RootOpen && s.target.openToAll(s.root) {
				fmt.Fprintln(io.out, "The ROOT is open: anyone who reaches the coordinator can take names there, and fill its memory (\"hotc rule H709\").")
			}
			return nil
		}),
	}
	l.addFlags(cmd, "print the list as JSON")
	return cmd
}

// listing lists the deployments of a ROOT.
type listing struct {
	target
	cloud string
}

func (l *listing) addFlags(cmd *cobra.Command, json string) {
	l.addRootFlags(cmd, json)
	cmd.Flags().StringVar(&l.cloud, "cloud", "", "the cloud's `NAME` in clouds.yaml (default: $OS_CLOUD)")
}

// listReport is the result of `hotc list --json` (docs/json.md).
type listReport struct {
	Format      int              `json:"format"`
	Coordinator string           `json:"coordinator"`
	Deployments []operate.Listed `json:"deployments"`
}

// list reads with all available identities: the ROOT's key, and the secrets that `hotc up` keeps.
func (l *listing) list(ctx context.Context, io streams, s *rootSession, stacks bool) ([]operate.Listed, error) {
	within, stop := context.WithTimeout(ctx, 20*l.timeout)
	defer stop()
	if s.key != nil {
		if err := s.Authenticate(within, s.key.RootCredential()); err != nil {
			return nil, err
		}
	}
	names, err := s.Children(within, "")
	if errors.Is(err, store.ErrRefused) {
		return nil, source.Fail(source.BadSecret, "the ROOT of "+l.coordinatorName()+" is closed: only the holder of its key can list there", "name the key's file with --root-key-file FILE, or in $"+rootKeyVariable)
	}
	for _, name := range names { // List reports errors
		if secret, err := l.of(name).secretKept(); err == nil {
			if err := s.Authenticate(within, secret.Operator(protocol.Deployment(name))); err != nil {
				return nil, err
			}
		}
	}
	standing, err := deploy.List(within, s)
	if err != nil {
		return nil, err
	}
	states, err := live.States(ctx, l.cloud)
	if err != nil && stacks {
		return nil, err
	}
	if err != nil {
		fmt.Fprintf(io.err, "note: the stacks' states are unknown: %v\n", err)
	}
	return operate.ListedOf(standing, states), nil
}

// of is the target for a stack on the same coordinator.
func (l *listing) of(stack string) *target {
	t := l.target
	t.stack = stack
	return &t
}

// secretKept is the secret that `hotc up` keeps of a deployment.
func (t *target) secretKept() (protocol.Secret, error) {
	path := t.keptSecret()
	if path == "" {
		return protocol.Secret{}, os.ErrNotExist
	}
	return readSecretFile(path, "")
}

func printListed(io streams, all []operate.Listed) {
	if len(all) == 0 {
		fmt.Fprintln(io.out, "There are no deployments.")
		return
	}
	t := table{width: io.width(), columns: []column{{"STACK", 12}, {"IN HEAT", 0}, {"AGE", 0}, {"AGENTS", 0}, {"RELAYS", 0}}}
	for _, x := range all {
		state, old, agents, relays := x.State, "?", "?", "?"
		if state == "" {
			state = "?"
		}
		if x.Known {
			old, agents = status.AgeOf(x.Created, time.Now()), fmt.Sprintf("%d of %d", x.Alive, x.Servers)
			relays = fmt.Sprint(x.Relays)
		}
		t.add(x.Stack, state, old, agents, relays)
	}
	fmt.Fprint(io.out, t.String())
}

func newGCCommand(io streams) *cobra.Command {
	var (
		l   listing
		yes bool
	)
	cmd := &cobra.Command{
		Use:   "gc [STACK…]",
		Short: "Remove deployments whose stacks are gone",
		Long: `Remove deployments whose stacks no longer exist in your project: those that you name, or
all that are at least an hour old and have no live agents. hotc lists them and asks for
confirmation.

With the ROOT's key (--root-key-file) it can remove every deployment there, even if its
secret is lost; without it, only those whose secrets hotc up keeps.`,
		RunE: l.inRoot(false, func(ctx context.Context, s *rootSession, args []string) error {
			return l.collect(ctx, io, s, args, yes)
		}),
	}
	l.addFlags(cmd, "")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

func (l *listing) collect(ctx context.Context, io streams, s *rootSession, names []string, yes bool) error {
	all, err := l.list(ctx, io, s, true)
	if err != nil {
		return err
	}
	chosen, err := operate.LeftOver(all, names, time.Now())
	if err != nil || len(chosen) == 0 {
		if err == nil {
			fmt.Fprintln(io.out, "There is nothing to remove.")
		}
		return err
	}
	if !yes {
		printListed(io, chosen)
		if err := confirm(ctx, io, fmt.Sprintf("Remove %s from %s?", source.Counted(len(chosen), "deployment"), l.coordinatorName())); err != nil {
			return err
		}
	}
	var failed error
	for _, x := range chosen {
		within, stop := context.WithTimeout(ctx, 20*l.timeout)
		err := deploy.Destroy(within, s, protocol.Deployment(x.Stack))
		stop()
		switch {
		case ctx.Err() != nil:
			return interrupted()
		case err == nil || errors.Is(err, deploy.ErrNotApplied):
			(&descent{target: *l.of(x.Stack)}).forget()
			fmt.Fprintf(io.out, "%s is removed.\n", x.Stack)
		default:
			failed = errReported
			printError(io.err, source.Fail(source.BadSecret, "cannot remove "+x.Stack+": "+err.Error(), "use the ROOT's key if the ROOT was created with one (--root-key-file), otherwise the deployment's own secret: \"hotc destroy "+shellQuote(x.Stack)+" --secret-file FILE\""), io.errStyle())
		}
	}
	return failed
}
