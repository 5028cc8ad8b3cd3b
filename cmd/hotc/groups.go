package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// addGroups adds all commands, grouped by what one wants to do, with an example of each group.
func addGroups(root *cobra.Command, s streams) {
	group := func(id, title, example string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title + ", such as `" + example + "`:"})
		for _, c := range commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("write", "Write and check templates", "hotc lint site.yaml",
		newLintCommand(s), newExplainCommand(s), newEvalCommand(s), newGraphCommand(s), newRuleCommand(s), newSchemaCommand(s))
	group("try", "Try them without a cloud", "hotc run site.yaml",
		newRunCommand(s), newSimulateCommand(s), newServeFilesCommand(s))
	group("deploy", "Deploy", "hotc up site.yaml site",
		newUpCommand(s), newDownCommand(s), newCompileCommand(s), newApplyCommand(s), newDestroyCommand(s), newGCCommand(s), newRelayCommand(s))
	group("look", "Look at what is deployed", "hotc why site web.app",
		newStatusCommand(s), newWhyCommand(s), newLogsCommand(s), newOutputsCommand(s), newListCommand(s))
	group("change", "Act on it", "hotc retry site web.app",
		newRetryCommand(s), newActionCommand(s), newSuspendCommand(s), newResumeCommand(s), newAdmitCommand(s))
	group("setup", "Set up", "hotc secret new FILE",
		newSecretCommand(s), newRootNodeCommand(s), newManCommand())
	root.SetCompletionCommandGroupID("setup")
	root.SetHelpCommand(&cobra.Command{
		Use:     "help [COMMAND]",
		GroupID: "setup",
		Short:   "Show what a command does, and its flags",
		ValidArgsFunction: func(_ *cobra.Command, args []string, start string) (names []string, _ cobra.ShellCompDirective) {
			if of, _, err := root.Find(args); err == nil {
				for _, c := range of.Commands() {
					if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), start) {
						names = append(names, c.Name()+"\t"+c.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			of, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(of, args[len(args)-max(len(rest), 1)])
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	})
}
