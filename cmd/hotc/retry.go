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

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
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
		Use:   "retry SERVER[.ROLE]",
		Short: "Run a failed role again, and what failed because of it",
		Long: `Ask the agent of a server to run its failed role again, in the same incarnation, and
the agents of other servers to run again what failed because of it. What the failure
had marked is taken back first, so that readers wait again. Nothing that is done runs
again, except roles that follow an output which was published, taken back, and written
again; if a role has read such an output and does not follow it, --yes is needed. With --skip
the role does not run: it counts as done, with the outputs given by hand.

If a role is done but could not be brought up to date, that is tried again.

Heat, once told of a failure, has failed the stack: see docs/operations.md.`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			if !r.Skip && (len(given) > 0 || file != "") {
				return usageError{errors.New("--output and --outputs give the outputs of a role that is skipped: they go with --skip")}
			}
			if r.Texts, err = namedTexts(given); err != nil {
				return err
			}
			r.Values, err = readOutputs(file)
			return err
		},
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			r.Operator, r.Settle = s.Operator, t.settling(io, yes)
			result, err := r.Run(ctx, args[0])
			if err != nil {
				return err
			}
			return printResult(io.out, t.asJSON, result, func() { printRetried(io, result, r.Skip) })
		}),
	}
	t.addFlags(cmd, "print the result as JSON")
	cmd.Flags().BoolVar(&r.Skip, "skip", false, "do not run the role: take it as done")
	cmd.Flags().StringArrayVar(&given, "output", nil, "`NAME=VALUE` of an output of the skipped role (several times)")
	cmd.Flags().StringVar(&file, "outputs", "", "a JSON `FILE` with a map of outputs of the skipped role")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask: published outputs get the same values again")
	return cmd
}

func printRetried(io streams, r *operate.Retried, skip bool) {
	first := "runs again"
	if r.Hook != "" {
		first = "is updated: its hook " + r.Hook + " runs again"
	}
	if skip {
		first = "is taken as done"
	}
	for i, key := range r.Roles {
		what := first
		if i > 0 {
			what = "runs again, too: it failed because of it"
		}
		if slices.Contains(r.Absent, key) {
			what += "; its agent is not there now, and does so when it returns"
		}
		fmt.Fprintf(io.out, "%s %s.\n", key, what)
	}
	for _, cell := range r.Kept {
		fmt.Fprintf(io.out, "%s is taken back; a role that has read it and does not follow it keeps what it read.\n", cell)
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

// readOutputs reads a file of outputs; none is not an outputs.
func readOutputs(path string) (map[string]json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	var given map[string]json.RawMessage
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, source.Fail(source.Usage, "the outputs cannot be read: "+err.Error(), "")
	}
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return nil, source.Fail(source.Usage, path+" holds no JSON map of outputs", `it looks like {"endpoint": "10.0.0.5:3306"}`)
	}
	return given, nil
}

// doubt says, before a retry starts, of which outputs nobody knows that it can end well, and
// what there is to do; nil is nothing.
func doubt(t *target, open []operate.Kept) *source.Diagnostic {
	if len(open) == 0 {
		return nil
	}
	first := string(open[0].Role.Key())
	d := source.Fail(source.OperationFailed, first+" has published outputs before it failed, which others may have read: nothing is asked for yet", "")
	for _, k := range open {
		d.With(fmt.Sprintf("%s was published at %s; %s would keep it, if the role writes another value now", k.Cell, k.Since.Local().Format(time.DateTime), listed(k.Readers)))
	}
	d.Hint = "if a run writes the same values, or these readers do not mind, \"" + t.command("retry", first, "--yes") + "\" runs it; \"" + t.command("retry", first, "--skip") +
		"\" takes the role as done, with what it has published. A reader that says `watch: true` is brought up to date by itself"
	return d
}

func listed(roles []contract.RoleKey) string {
	const most = 3
	text := lists.Join(roles[:min(len(roles), most)])
	if more := len(roles) - most; more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	return text
}

// settling has the operator decide about what is in doubt, unless yes is said; once, also where
// agents report meanwhile.
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
		err := confirm(ctx, io, "Run it again all the same?")
		yes = err == nil
		return err
	}
}
