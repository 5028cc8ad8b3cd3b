package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/preview"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newRetryCommand(io streams) *cobra.Command {
	var (
		t     target
		r     operate.Retry
		given []string
		file  string
		yes   bool
	)
	cmd := &cobra.Command{
		Use:   "retry NAME SERVER[.ROLE]",
		Short: "Run a failed role again, and what failed because of it",
		Long: `Run a failed role again on its server, and the roles of other servers that failed because
of it. The failure marks on its outputs are removed first, so that their readers wait
again. Roles that are done do not run again, except those that follow an output which was
published, withdrawn and written again; if a role has read such an output and does not
follow it, --yes is needed. With --skip the role does not run: it counts as done, with the
outputs that you supply.

If a role is done but its update has failed, the update runs again. --force runs any role
again that is done: its update hook or, if it has none, the role itself. What follows from
that is shown first: the roles that follow its outputs, in order. hotc asks where the role
has no update hook and is not idempotent, or where roles have read its outputs and do not
follow them; --yes answers that.

A failure that was reported to Heat has failed the stack: see docs/operations.md.`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			if !r.Skip && (len(given) > 0 || file != "") {
				return usageError{errors.New("--output and --outputs supply the outputs of a skipped role: they require --skip")}
			}
			if r.Skip && r.Force {
				return usageError{errors.New("--skip is for a role that has failed, --force for one that is done")}
			}
			if r.Texts, err = namedTexts(given); err != nil {
				return err
			}
			r.Values, err = readOutputs(file)
			return err
		},
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			r.Operator, r.Settle, r.Rerun = s.Operator, t.settling(io, yes), t.rerunning(io, yes)
			result, err := r.Run(ctx, args[0])
			if err != nil {
				return err
			}
			return printResult(io.out, t.asJSON, result, func() { printRetried(io, result, r.Skip) })
		}),
	}
	t.addFlags(cmd, "print the result as JSON")
	cmd.Flags().BoolVar(&r.Skip, "skip", false, "do not run the role: mark it as done")
	cmd.Flags().BoolVar(&r.Force, "force", false, "also run a role again that is done")
	cmd.Flags().StringArrayVar(&given, "output", nil, "set an output of the skipped role: `NAME=VALUE` (repeatable)")
	cmd.Flags().StringVar(&file, "outputs", "", "JSON `FILE` with a map of the skipped role's outputs")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation: published outputs get the same values again")
	return cmd
}

func printRetried(io streams, r *operate.Retried, skip bool) {
	first := "runs again"
	if r.Hook != "" {
		first = "is updated: its " + r.Hook + " hook runs again"
	}
	if skip {
		first = "is marked as done"
	}
	for i, key := range r.Roles {
		what := first
		if i > 0 {
			what = "also runs again: it failed because of it"
		}
		if slices.Contains(r.Absent, key) {
			what += " when its agent, which is not there now, returns"
		}
		fmt.Fprintf(io.out, "%s %s.\n", key, what)
	}
	for _, cell := range r.Kept {
		fmt.Fprintf(io.out, "%s is withdrawn; a role that has read it and does not follow it keeps the value that it read.\n", cell)
	}
}

func namedTexts(given []string) (map[string]string, error) {
	texts := map[string]string{}
	for _, text := range given {
		name, value, err := assignment("--output", text)
		if err != nil {
			return nil, err
		}
		texts[name] = value
	}
	return texts, nil
}

// readOutputs reads a file of outputs; without a path it returns none.
func readOutputs(path string) (map[string]json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	var given map[string]json.RawMessage
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, source.Fail(source.Usage, "cannot read the outputs: "+err.Error(), "")
	}
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return nil, source.Fail(source.Usage, path+" does not have a JSON map of outputs", `write it as {"endpoint": "10.0.0.5:3306"}`)
	}
	return given, nil
}

// doubt is a diagnostic, before a retry starts, of published outputs that the retry may change
// under their readers; nil if there are none.
func doubt(t *target, open []operate.Kept) *source.Diagnostic {
	if len(open) == 0 {
		return nil
	}
	first := string(open[0].Role.Key())
	d := source.Fail(source.OperationFailed, first+" published outputs before it failed, which others may have read: nothing is requested yet", "")
	for _, k := range open {
		d.With(fmt.Sprintf("%s was published at %s; %s would keep that value if the role writes another one now", k.Cell, k.Since.Local().Format(time.DateTime), listed(k.Readers)))
	}
	d.Hint = "if a run writes the same values, or these readers can keep the old ones, \"" + t.command("retry", first, "--yes") + "\" runs it; \"" + t.command("retry", first, "--skip") +
		"\" marks the role as done, with what it has published. A reader with `watch: true` is updated automatically"
	return d
}

// rerunning shows what another run of a role that is done sets going, and asks where nobody has vouched
// for it.
func (t *target) rerunning(io streams, yes bool) func(context.Context, *status.Status, *status.Role, []operate.Kept) error {
	return func(ctx context.Context, v *status.Status, role *status.Role, kept []operate.Kept) error {
		change := deploy.RoleChange{Server: role.Server.Path, Role: role.Name, Effect: deploy.EffectAgain}
		if preview.UpdatedBy(role.Plan) == preview.Hook {
			change.Effect = deploy.EffectHook
		}
		printPreview(io.err, previewOf(v.Plan, v, []deploy.RoleChange{change}, nil, func(contract.ServerPath) bool { return false }, nil))
		var why []string
		if role.Plan.Updating() == nil {
			why = append(why, string(role.Key())+" has no update hook and is not idempotent: nobody has declared that it may run twice")
		}
		for _, k := range kept {
			if !k.Same {
				why = append(why, fmt.Sprintf("%s would keep the value of %s that it has read, if the role writes another one", listed(k.Readers), k.Cell))
			}
		}
		if len(why) == 0 || yes {
			return nil
		}
		d := source.Fail(source.OperationFailed, "another run of "+string(role.Key())+" is not sure to do no harm: nothing is requested yet", "\""+t.command("retry", string(role.Key()), "--force", "--yes")+"\" runs it").With(why...)
		if !io.interactive() {
			return d
		}
		d.Severity = source.Warning
		io.print(d)
		return confirm(ctx, io, "Run it again anyway?")
	}
}

func listed(roles []contract.RoleKey) string {
	const most = 3
	text := lists.Join(roles[:min(len(roles), most)])
	if more := len(roles) - most; more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	return text
}

// settling asks the operator about such outputs, unless yes is set; only once, even if agents
// report in the meantime.
func (t *target) settling(io streams, yes bool) func(context.Context, []operate.Kept) error {
	return func(ctx context.Context, open []operate.Kept) error {
		d := doubt(t, open)
		if d == nil || yes {
			return nil
		}
		if !io.interactive() {
			return d
		}
		d.Severity = source.Warning
		io.print(d)
		err := confirm(ctx, io, "Run it again anyway?")
		yes = err == nil
		return err
	}
}
