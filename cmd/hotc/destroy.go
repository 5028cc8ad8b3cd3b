package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
)

func newDestroyCommand(io streams) *cobra.Command {
	var (
		t           target
		yes, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "destroy",
		Short: "Take a deployment off the coordinator",
		Long: `Take a deployment off the coordinator: plan, files, cells and all. The stack stays
as it is; agents that still run roles fail.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			destroyed, err := destroy(cmd.Context(), io, &t, yes)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return printJSON(io.out, map[string]any{"stack": t.stack, "destroyed": destroyed})
			case destroyed:
				fmt.Fprintf(io.out, "%s is destroyed.\n", t.stack)
			default:
				fmt.Fprintf(io.out, "Nothing to destroy: there is no deployment %s on %s.\n", t.stack, t.coordinatorURL())
			}
			return nil
		},
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

func destroy(ctx context.Context, io streams, t *target, yes bool) (bool, error) {
	s, err := t.open(ctx)
	if err != nil {
		return false, err
	}
	defer s.Close()
	if !yes {
		if err := confirm(io, fmt.Sprintf("Destroy the deployment %s on %s?", t.stack, t.coordinatorURL())); err != nil {
			return false, err
		}
	}
	within, stop := context.WithTimeout(ctx, 20*t.timeout)
	defer stop()
	err = coordinator.Destroy(within, s, s.deployment)
	if errors.Is(err, coordinator.ErrNotApplied) {
		return false, nil
	}
	return err == nil, s.explain(ctx, err)
}

// confirm asks, on the error stream so that the output stays clean.
func confirm(io streams, question string) error {
	if !io.interactive() {
		return source.Fail(source.Usage, "nobody is there to be asked: the input is no terminal", "--yes goes on without asking")
	}
	fmt.Fprint(io.err, question+" [y/N] ")
	answer, _ := bufio.NewReader(io.in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return source.Fail(source.OperationFailed, "not confirmed: nothing was done", "")
}
