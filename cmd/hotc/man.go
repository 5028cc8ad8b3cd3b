package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/hotc-dev/hotc/compiler/source"
)

// newManCommand writes the man pages from the commands themselves; packagers use it.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages",
		Long:  "Write a man page for each command into DIR. `hotc completion` writes completions for shells.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return source.Fail(source.OutputFolder, err.Error(), "")
			}
			date := time.Unix(0, 0).UTC() // reproducible
			explainExit(cmd.Root())
			header := &doc.GenManHeader{Section: "1", Source: "hotc " + version, Date: &date}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return source.Fail(source.OutputFolder, err.Error(), "")
			}
			return nil
		},
	}
}

// explainExit adds the meaning of exit statuses to every command.
func explainExit(cmd *cobra.Command) {
	if cmd.Long == "" {
		cmd.Long = cmd.Short
	}
	cmd.Long += "\n\n" + exitHelp()
	for _, c := range cmd.Commands() {
		explainExit(c)
	}
}
