package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/rule/pack"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/docs/rules"
)

func newRuleCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "rule [CODE]",
		Short: "Explain a diagnostic, or list all of them",
		Long:  "Print the page of a diagnostic, such as H501: what it means, an example, and what to do. Without CODE, list all of them.",
		Args:  cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			list := lists.Map(rules.Titles(), func(title string) string { return strings.Replace(title, ": ", "\t", 1) })
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var text string
			for _, title := range rules.Titles() {
				code, _, _ := strings.Cut(title, ":")
				if r := pack.Of(source.Code(code)); r != nil {
					title += fmt.Sprintf(" (%s, %s)", r.Severity, r.Category)
				}
				text += title + "\n"
			}
			if len(args) > 0 {
				var known bool
				if text, known = rules.Page(args[0]); !known {
					return source.Fail(source.UnknownName, fmt.Sprintf("there is no rule %q", args[0]), "`hotc rule` lists them")
				}
			}
			_, err := fmt.Fprint(s.out, text)
			return err
		},
	}
}
