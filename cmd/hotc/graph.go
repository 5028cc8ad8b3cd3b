package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/emit/graph"
)

func newGraphCommand(s streams) *cobra.Command {
	var (
		in     compilation
		format string
		single bool
	)
	cmd := &cobra.Command{
		Use:   "graph TEMPLATE",
		Short: "Draw servers with their roles and values, or resources",
		Long: `Draw servers as boxes with their roles in order, and the values between them as arrows,
coloured by when they are known. Secret values are marked, and the dependency cycle of a
deadlock is red. Members of a group that run the same roles share a box.

Of a template without roles, draw the resources and the order in which Heat creates them, with
the dependencies that Heat adds by itself.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "dot" && format != "mermaid" && format != "svg" {
				return usageError{fmt.Errorf("--format is dot, mermaid or svg, not %q", format)}
			}
			r, _, err := in.look(cmd.Context(), args[0], s)
			if err != nil {
				return err
			}
			g := graph.New(r.Program, r.Analysis, r.Findings, single)
			text := g.DOT()
			switch format {
			case "mermaid":
				text = g.Mermaid()
			case "svg":
				text = g.SVG(filepath.Base(args[0]))
			}
			_, err = s.out.Write(text)
			return err
		},
	}
	in.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&single, "single", false, "draw every member of a group")
	cmd.Flags().StringVar(&format, "format", "svg", "output format: `dot|mermaid|svg`")
	return cmd
}
