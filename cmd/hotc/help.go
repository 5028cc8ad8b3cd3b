package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Help is as wide as the terminal, but not wider than mostColumns; helpColumns without one.
const (
	helpColumns = 80
	mostColumns = 100
)

// fitHelp wraps every command's help to the width of the terminal.
func fitHelp(root *cobra.Command, s streams) {
	width := min(cmp.Or(s.width(), helpColumns), mostColumns)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", width)))
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", reflow(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), width), cmd.UsageString())
	})
}

// reflow wraps paragraphs to the width. A line that begins with a space is a list's, and is
// continued below its second column.
func reflow(text string, width int) string {
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !strings.HasPrefix(paragraph, " ") {
			out = append(out, strings.Join(wrapTight(strings.Join(strings.Fields(paragraph), " "), width), "\n"))
			continue
		}
		var list []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			_, rest, _ := strings.Cut(strings.TrimLeft(line, " "), "  ")
			rest = strings.TrimLeft(rest, " ")
			column := len(line) - len(rest)
			list = append(list, line[:column]+strings.Join(wrapTight(rest, width-column), "\n"+strings.Repeat(" ", column)))
		}
		out = append(out, strings.Join(list, "\n"))
	}
	return strings.Join(out, "\n\n")
}
