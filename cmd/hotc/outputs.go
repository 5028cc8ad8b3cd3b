package main

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newOutputsCommand(io streams) *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "outputs NAME [OUTPUT]",
		Short: "Print the published values",
		Long: `Print the stack's outputs that need a run-time value, and all published outputs of roles.
With OUTPUT, a stack output or SERVER.ROLE:OUTPUT, print only that value: a string as it is,
any other value as JSON.`,
		Args: cobra.MaximumNArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			within, stop := s.Within(ctx)
			defer stop()
			p, err := deploy.ReadPlan(within, s, s.Deployment, s.Secret)
			if err != nil {
				return err
			}
			e := s.Evaluate(within, p)
			if err := e.Learn(); err != nil {
				return err
			}
			if len(args) == 1 {
				o, err := e.Named(args[0])
				if err != nil {
					return err
				}
				if t.asJSON {
					return printJSON(io.out, o)
				}
				return printOutput(io, &t, e, o)
			}
			report, err := e.All()
			if err != nil {
				return err
			}
			return printResult(io.out, t.asJSON, report, func() { fmt.Fprint(io.out, outputsText(io, report)) })
		}),
	}
	t.addFlags(cmd, "print the values as JSON")
	return cmd
}

// printOutput prints one value, ready for a shell's $(…).
func printOutput(io streams, t *target, e *operate.Evaluation, o operate.Output) error {
	switch o.State {
	case operate.OutputValue:
		if o.Secret {
			return source.Fail(source.SecretShown, "the value of "+o.Name+" is secret: only the servers that read it can open it", "")
		}
		var text string
		if json.Unmarshal(o.Value, &text) != nil || len(o.Value) == 0 || o.Value[0] != '"' {
			text = string(o.Value)
		}
		_, err := fmt.Fprintln(io.out, text)
		return err
	case operate.OutputFailed:
		return source.Fail(source.RoleFailed, o.Name+" has failed: "+terminal.Line(o.Message), "")
	case operate.OutputMissing:
		return source.Fail(source.MissingProducer, o.Name+" has no value: "+terminal.Line(o.Message), "")
	case operate.OutputHeat:
		return source.Fail(source.NeedsHeat, o.Name+" needs a value that only Heat knows", "openstack stack output show "+shellQuote(t.stack)+" "+shellQuote(o.Name))
	default:
		hint := ""
		if len(o.WaitingFor) > 0 {
			hint = "\"" + t.command("why", e.Writer(o.WaitingFor[0])) + "\" shows what it is waiting for"
		}
		return source.Fail(source.OperationFailed, o.Name+" has no value yet: "+o.Message, hint)
	}
}

// longestValue is how many characters of a value the table shows.
const longestValue = 200

func outputsText(io streams, report operate.Outputs) string {
	t := table{width: io.width(), columns: []column{{"OUTPUT", 0}, {"VALUE", narrowest}}}
	for _, o := range append(append([]operate.Output{}, report.Outputs...), report.Roles...) {
		text := string(o.Value)
		switch {
		case o.Secret && o.State == operate.OutputValue:
			text = "(secret)"
		case o.State == operate.OutputHeat:
			text = "(known only to Heat)"
		case o.State != operate.OutputValue:
			text = "(" + o.Message + ")"
		}
		if utf8.RuneCountInString(text) > longestValue {
			text = string([]rune(text)[:longestValue]) + "…"
		}
		t.add(o.Name, text)
	}
	if len(t.rows) == 0 {
		return "The deployment has no outputs that need a run-time value.\n"
	}
	return t.String()
}
