package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/lint/schema"
)

func newSchemaCommand(s streams) *cobra.Command {
	names := lists.Map(schema.All, func(x schema.Schema) string { return x.Name })
	list := lists.Map(schema.All, func(x schema.Schema) string { return fmt.Sprintf("  %-10s %s", x.Name, x.Of) })
	var cloud emit.Cloud
	cmd := &cobra.Command{
		Use:       "schema " + strings.Join(names, "|"),
		Short:     "Print a JSON Schema, for editors and programs",
		Long:      "Print a JSON Schema, for editors and for programs that read what hotc writes:\n\n" + strings.Join(list, "\n"),
		Args:      cobra.ExactArgs(1),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			i := slices.Index(names, args[0])
			if i < 0 {
				return usageError{fmt.Errorf("there is no schema %q: there are %s", args[0], strings.Join(names, ", "))}
			}
			var diags source.Diagnostics
			types := cloud.Catalogue(&diags)
			if diags.Failed() {
				return diags.All()[0]
			}
			_, err := s.out.Write(schema.All[i].Text(types))
			return err
		},
	}
	addCloudFlags(cmd.Flags(), &cloud)
	return cmd
}
