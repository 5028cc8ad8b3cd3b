package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
)

// addName lets a command take the stack's NAME, as one of its arguments or with --stack. Its Use says
// which argument it is; its Args and RunE get the others.
func (t *target) addName(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.stack, "stack", "", "`NAME` of the stack, in place of the argument")
	at, others, do := slices.Index(strings.Fields(cmd.Use), "NAME")-1, cmd.Args, cmd.RunE
	without := func(args []string) []string {
		if cmd.Flags().Changed("stack") || len(args) <= at {
			return args
		}
		t.stack = args[at]
		return slices.Delete(slices.Clone(args), at, at+1)
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		rest := without(args)
		err := others(c, rest)
		switch {
		case err == nil:
			return nil
		case len(rest) == len(args) && t.stack != "" && len(args) == at+1 && args[at] != t.stack && others(c, args[:at]) == nil:
			return usageError{fmt.Errorf("which stack: %s or %s?", args[at], t.stack)}
		case len(rest) < len(args) && others(c, args) == nil:
			return source.Fail(source.Usage, "which stack?", c.UseLine())
		}
		if t.stack != "" && len(rest) >= at {
			rest = slices.Insert(slices.Clone(rest), at, t.stack)
		}
		return usageError{wrongArguments(c, rest)}
	}
	cmd.RunE = func(c *cobra.Command, args []string) error { return do(c, without(args)) }
}
