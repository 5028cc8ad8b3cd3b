package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
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
		Short: "Show when each reference gets its value, why, and who resolves it",
		Long: `Show for every reference in roles' inputs, and in outputs and resources that need a role's
value, when it gets its value (static, deploy or run), by which rule, and who resolves it.
REFERENCE selects some: SERVER.ROLE, SERVER.ROLE.INPUT, the name of what is referred to,
or a place as LINE or FILE:LINE.

With --changes: whom a change reaches, and how, for each parameter, each server that is built
anew and each role that writes another value; who goes on with the value before; and how
long it takes until all have run, at 30 s a role and 45 s a boot where --durations says
nothing.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			r, sound, err := in.look(args[0], s)
			if err != nil {
				return err
			}
			chosen := ""
			if len(args) > 1 {
				chosen = args[1]
			}
			if changes {
				if !sound {
					return errReported // whom a change reaches would be a guess
				}
				return explainChanges(s, r, chosen, args[0], durations, asJSON)
			}
			list := explanations(r, chosen)
			if len(list) == 0 && !sound {
				return errReported // what is wrong hides what there would be to explain
			}
			if len(list) == 0 && chosen != "" {
				return source.Fail(source.UnknownName, fmt.Sprintf("no reference matches %q", chosen), "`hotc explain "+shellQuote(args[0])+"` lists them all")
			}
			return printResult(s.out, asJSON, map[string]any{"references": list}, func() { printExplanations(s, list) })
		},
	}
	in.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&changes, "changes", false, "show which roles changes reach")
	cmd.Flags().StringVar(&durations, "durations", "", "with --changes: how long roles and boots take, as for \"hotc simulate\", in the `FILE`")
	return cmd
}

// look analyses a template for a command that shows what was found. Errors of the
// analysis are printed and do not stop it: they are what one wants to look at. sound says
// that there were none.
func (c *compilation) look(template string, s streams) (r *emit.Result, sound bool, err error) {
	o, err := c.options(template)
	if err != nil {
		return nil, false, err
	}
	var diags source.Diagnostics
	r = emit.Analyse(o, &diags)
	for _, d := range diags.All() {
		source.Print(s.err, d, s.errStyle())
	}
	if r == nil {
		return nil, false, errReported
	}
	return r, !diags.Failed(), nil
}

// explanation is what there is to say of one reference.
type explanation struct {
	At        string `json:"at"`
	Reference string `json:"reference"`
	Place     string `json:"place"` // SERVER.ROLE.INPUT, or outputs.NAME
	Time      string `json:"time"`
	Rule      string `json:"rule"`
	By        string `json:"resolved_by"`
	Cell      string `json:"cell,omitempty"`
	// Needs is what must be there first: a role, a server, a resource, a parameter.
	Needs string `json:"needs,omitempty"`
	// Timed says that the wait may end without a value.
	Timed    bool            `json:"timed,omitempty"`
	Residual json.RawMessage `json:"residual,omitempty"`
}

func explanations(r *emit.Result, chosen string) []explanation {
	list := []explanation{}
	unchecked := map[string]string{} // by what a reference needs: roles whose writes are not
	for _, server := range r.Program.Servers {
		for _, role := range server.Roles {
			if role.Meaning != nil && role.Meaning.Unchecked != "" {
				unchecked["role "+role.Key()] = "; whether " + role.Key() + " writes it is not checked: " + role.Meaning.Unchecked
			}
		}
	}
	add := func(place string, timed bool, e *hot.Expr, references []binding.Reference, note string) {
		residual, _ := hot.EncodeResidual[string](e)
		for _, ref := range references {
			rule := ref.Rule
			if ref.Time == binding.Run {
				rule += note + unchecked[ref.Needs]
			}
			x := explanation{At: ref.At.String(), Reference: ref.Text, Place: place, Time: ref.Time.String(), Rule: rule,
				By: resolver(ref), Cell: ref.Cell, Needs: ref.Needs, Timed: timed && ref.Time == binding.Run, Residual: residual}
			if chosen == "" || x.matches(chosen) {
				list = append(list, x)
			}
		}
	}
	for _, server := range r.Program.Servers {
		for _, role := range server.Roles {
			for _, in := range role.Inputs {
				if bound := r.Analysis.Inputs[in]; bound != nil {
					note := ""
					if in.EagerAt.Known() {
						note = "; awaited before the role starts, which reads it from its environment (" + in.EagerAt.String() + ")"
					}
					if in.WatchAt.Known() {
						note += "; followed (" + in.WatchAt.String() + "): when it changes, " + brings(role)
					}
					if role.Meaning != nil && role.Meaning.Unchecked != "" {
						note += "; whether the role reads it is not checked: " + role.Meaning.Unchecked
					}
					add(role.Key()+"."+in.Name, in.Timeout > 0 || role.Timeout > 0, bound.Expr, bound.References, note)
				}
			}
		}
	}
	for _, out := range r.Analysis.Outputs {
		add("outputs."+out.Output.Name, false, out.Expr, out.References, "")
	}
	for _, read := range r.Analysis.PropertyReads {
		if read.Bound == nil {
			continue
		}
		for i := range read.References {
			if read.References[i].Time == binding.Run {
				read.References[i].Rule += "; Heat waits for the whole role, by a wait condition"
			}
		}
		add("resources."+read.In.PathOf(read.Resource), false, read.Bound, read.References, "")
	}
	return list
}

// brings says what brings a role up to date.
func brings(role *program.Role) string {
	if role.Update() != nil {
		return "its hook update runs"
	}
	return "the role runs again"
}

func resolver(ref binding.Reference) string {
	switch ref.Time {
	case binding.Static:
		return "hotc, when compiling"
	case binding.Deploy:
		return "Heat, when the stack is created"
	}
	if ref.Writer == program.Operator {
		return "the agent, when hotc apply --secret-param has given it"
	}
	return "the agent, when " + ref.Writer + " has published it"
}

func (x explanation) matches(chosen string) bool {
	line := strings.Split(x.At, ":")
	at := strings.Join(line[:max(0, len(line)-1)], ":")
	return x.At == chosen || at == chosen || strings.HasSuffix(at, ":"+chosen) || x.Place == chosen || strings.HasPrefix(x.Place, chosen+".") ||
		x.Cell == chosen || x.Reference == chosen || strings.Contains(strings.NewReplacer(", ", ".", "[", "", "]", "", "}", "").Replace(x.Reference), " "+chosen)
}

// printExplanations prints a table with a row for each reference, in the order of the
// inputs. What is left of an input stands in the first of its rows.
func printExplanations(s streams, list []explanation) {
	if len(list) == 0 {
		fmt.Fprintln(s.out, "no role has an input that refers to anything")
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
	for _, x := range foldMembers(list) {
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

// foldMembers gives one row to what differs only in the number of a group's member, which
// becomes an asterisk. A member whose row differs otherwise keeps its own.
func foldMembers(list []explanation) []explanation {
	type row struct{ at, time, place, reference, rule, needs, by string }
	member := regexp.MustCompile(`/[0-9]+\b`)
	fold := func(x explanation) (row, explanation) {
		all := func(text string) string { return member.ReplaceAllString(text, "/*") }
		x.Place, x.Needs, x.By = all(x.Place), all(x.Needs), all(x.By)
		return row{x.At, x.Time, x.Place, x.Reference, x.Rule, x.Needs, x.By}, x
	}
	alike := map[row]int{}
	for _, x := range list {
		of, _ := fold(x)
		alike[of]++
	}
	var out []explanation
	for _, x := range list {
		of, folded := fold(x)
		switch alike[of] {
		case 0: // stands in the row of the first
			continue
		case 1:
			out = append(out, x)
		default:
			out = append(out, folded)
			alike[of] = 0
		}
	}
	return out
}

// mostResidual is how much of a residual the text shows, in bytes.
const mostResidual = 600

// shortened is what is left of an input: what the agent evaluates, and what Heat has
// put in its place by then.
func shortened(residual string) string {
	if len(residual) > mostResidual {
		return strings.ToValidUTF8(residual[:mostResidual], "") + "… (--json has all of it)"
	}
	return residual
}
