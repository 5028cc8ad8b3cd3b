package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/explain"
	"github.com/hotc-dev/hotc/analysis/follow"
	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit"
)

func newExplainCommand(s streams) *cobra.Command {
	var (
		in              compilation
		asJSON, changes bool
		durations       string
	)
	cmd := &cobra.Command{
		Use:   "explain TEMPLATE [REFERENCE]",
		Short: "Show when and how each reference gets its value",
		Long: `Show for every reference in roles' inputs, and in outputs and resources that need a role's
value, when it gets its value (static, deploy or run), by which rule, and what resolves it.
REFERENCE selects some: SERVER.ROLE, SERVER.ROLE.INPUT, the name of what is referred to,
or a position as LINE or FILE:LINE.

With --changes show, for each parameter, each server that is replaced and each role that
writes another value, which roles the change reaches, and how; which keep the old value;
and how long it takes until all have run (30 s a role and 45 s a boot, unless --durations
says otherwise).`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, sound, err := in.look(cmd.Context(), args[0], s)
			if err != nil {
				return err
			}
			chosen := ""
			if len(args) > 1 {
				chosen = args[1]
			}
			if changes {
				if !sound {
					return errReported // what a change reaches would be a guess
				}
				return explainChanges(s, r, chosen, args[0], durations, asJSON)
			}
			list := explain.References(r.Program, r.Analysis, chosen)
			if len(list) == 0 && !sound {
				return errReported // the errors hide what there would be to explain
			}
			if len(list) == 0 && chosen != "" {
				return source.Fail(source.UnknownName, fmt.Sprintf("no reference matches %q", chosen), "`hotc explain "+shellQuote(args[0])+"` lists them all")
			}
			return printResult(s.out, asJSON, map[string]any{"references": list}, func() { printExplanations(s, list) })
		},
	}
	in.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&changes, "changes", false, "show which roles each change reaches")
	cmd.Flags().StringVar(&durations, "durations", "", "with --changes: `FILE` with durations of roles and boots, as for \"hotc simulate\"")
	return cmd
}

// look analyses a template for a command that shows the result. Errors of the analysis are
// printed and do not stop it: the user wants to inspect them. sound says that there were none.
func (c *compilation) look(ctx context.Context, template string, s streams) (r *emit.Result, sound bool, err error) {
	o, err := c.options(template)
	if err != nil {
		return nil, false, err
	}
	return interruptible(ctx, o, s, emit.Analyse)
}

// printExplanations prints a table with a row for each reference, in the order of the inputs.
// An input's residual is in the first of its rows.
func printExplanations(s streams, list []explain.Reference) {
	if len(list) == 0 {
		fmt.Fprintln(s.out, "no role has an input with a reference")
		return
	}
	colors := map[string]string{"static": "32", "deploy": "34", "run": "33"}
	t := &table{width: s.width(), columns: []column{{"AT", 0}, {"TIME", 0}, {"INPUT", 12}, {"REFERENCE", 18}, {"RULE", 18}, {"NEEDS", 10}, {"RESOLVED BY", 16}, {"LEAVES", 24}}}
	if s.color() {
		t.paint = func(_ int, cell, text string) string {
			if code, is := colors[cell]; is {
				return s.outInk().Paint(code, text)
			}
			return text
		}
	}
	place := ""
	for _, x := range explain.FoldMembers(list) {
		rule, leaves := x.Rule, ""
		if x.Timed {
			rule += "; timed: the wait may end without a value"
		}
		if x.Place != place {
			place, leaves = x.Place, shortened(string(x.Residual))
		}
		t.add(x.At, x.Time, x.Place, x.Reference, rule, x.Needs, x.By, leaves)
	}
	fmt.Fprint(s.out, t.String())
}

// mostResidual is how many bytes of a residual are shown.
const mostResidual = 600

// shortened truncates an input's residual: what the agent evaluates after Heat has put in its part.
func shortened(residual string) string {
	if len(residual) > mostResidual {
		return strings.ToValidUTF8(residual[:mostResidual], "") + "… (--json has all of it)"
	}
	return residual
}

func explainChanges(s streams, r *emit.Result, chosen, template, durations string, asJSON bool) error {
	if r.Findings.Cyclic {
		return errReported // the cycle is reported
	}
	d := timeline.Durations{Boot: timeline.UsualBoot, Role: timeline.UsualRole, Resource: timeline.UsualResource}
	if durations != "" {
		var err error
		if d.Of, err = readDurations(durations, r, d.Boot, s); err != nil {
			return err
		}
	}
	list := []follow.Change{}
	for _, c := range follow.Changes(r.Program, r.Analysis, r.Findings.Heat, d) {
		if chosen == "" || c.What == chosen || strings.HasSuffix(c.What, " "+chosen) {
			list = append(list, c)
		}
	}
	if len(list) == 0 && chosen != "" {
		return source.Fail(source.UnknownName, fmt.Sprintf("no role reads a value of %q", chosen), "`hotc explain --changes "+shellQuote(template)+"` lists what roles read from")
	}
	if asJSON {
		return printJSON(s.out, map[string]any{"changes": list})
	}
	printChangesReach(s, list)
	return nil
}

// printChangesReach prints for each change which roles run, when and why, and which it does not reach.
func printChangesReach(s streams, list []follow.Change) {
	if len(list) == 0 {
		fmt.Fprintln(s.out, "no role reads a value that can change")
		return
	}
	for _, c := range explain.Fold(lists.Map(list, changeRows), changeRow.folded) {
		fmt.Fprintln(s.out, terminal.Line(c.name))
		for _, row := range c.rows {
			fmt.Fprintf(s.out, "  %6s  %s\n", row.name, terminal.Line(row.text))
		}
		if c.text != "" {
			fmt.Fprintf(s.out, "  %s.\n", c.text)
		}
	}
	if slices.ContainsFunc(list, byRelay) {
		fmt.Fprintln(s.out, "Only a relay passes on new values of Heat's and the news that a member has left (--signal=relay).")
	}
}

// byRelay says that a change reaches a role only through a relay.
func byRelay(c follow.Change) bool {
	return len(c.Reaches) > 0 && !strings.HasPrefix(c.What, "server ") && !strings.HasPrefix(c.What, "role ") && !strings.HasPrefix(c.What, "member joins ") &&
		!slices.ContainsFunc(c.Reaches, func(x follow.Reached) bool { return x.How == follow.Apply })
}

// heading is the line that says what changes.
func heading(what string) string {
	kind, name, _ := strings.Cut(what, " ")
	switch kind {
	case "server":
		return what + " is replaced by a new machine:"
	case "role":
		return what + " writes other values:"
	case "member":
		how, group, _ := strings.Cut(name, " ")
		return "a member " + how + " " + group + ":"
	case "resource":
		return "Heat has another value of " + what + ":"
	}
	return what + " gets another value:"
}

// changeRow is a change with a row for each role, or one such row.
type changeRow struct {
	name, text string
	rows       []changeRow
}

func changeRows(c follow.Change) changeRow {
	all := changeRow{name: heading(c.What)}
	for _, x := range c.Preview.Runs {
		after := explain.Fold(x.After, func(key contract.RoleKey) (string, contract.RoleKey) {
			all := explain.AllMembers(string(key))
			return all, contract.RoleKey(all)
		})
		all.rows = append(all.rows, changeRow{name: point(x.Start), text: string(x.Role) + ": " + runs(x.How, after, x.Each, x.Why)})
	}
	for _, k := range c.Keeps {
		all.rows = append(all.rows, changeRow{name: "never", text: fmt.Sprintf("%s is not reached: its input %s (%s) keeps the old value, since %s", k.Role, k.Input, k.At, k.Why)})
	}
	for _, x := range c.Resources {
		all.rows = append(all.rows, changeRow{name: "never", text: fmt.Sprintf("resource %s is not reached: it keeps the old %s (%s), which Heat reads again only when server %s is replaced or gets another value from Heat", x.Resource, x.Output, x.At, x.Server)})
	}
	all.rows = explain.Fold(all.rows, changeRow.folded)
	if len(c.Preview.Runs) > 1 {
		all.text = headline(c.Preview)
	}
	return all
}

// folded is the row for all members of a group.
func (r changeRow) folded() (key string, all changeRow) {
	all = changeRow{name: explain.AllMembers(r.name), text: explain.AllMembers(r.text)}
	key = all.name + "\n" + all.text
	for _, row := range r.rows {
		inner, folded := row.folded()
		key, all.rows = key+"\n"+inner, append(all.rows, folded)
	}
	return key, all
}
