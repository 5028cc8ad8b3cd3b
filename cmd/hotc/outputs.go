package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

func newOutputsCommand(io streams) *cobra.Command {
	var (
		t      target
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "outputs [NAME]",
		Short: "Print the values that have been published",
		Long: `Print the stack's outputs that need a run-time value, and all outputs of roles, as far
as they are there. With a NAME, of the stack's output or SERVER.ROLE:OUTPUT, just
that value: a string as it is, anything else as JSON.`,
		Args: cobra.MaximumNArgs(1),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			within, stop := s.Within(ctx)
			defer stop()
			p, err := deploy.ReadPlan(within, s, s.Deployment, s.Secret)
			if err != nil {
				return s.explain(ctx, err)
			}
			e := newEvaluation(within, s, p)
			if err := e.learn(); err != nil {
				return s.explain(ctx, err)
			}
			if len(args) == 1 {
				o, err := e.named(args[0])
				if err != nil {
					return s.explain(ctx, err)
				}
				if asJSON {
					return printJSON(io.out, o)
				}
				return printOutput(io, &t, o)
			}
			report, err := e.all(t.stack)
			if err != nil {
				return s.explain(ctx, err)
			}
			if asJSON {
				return printJSON(io.out, report)
			}
			_, err = fmt.Fprint(io.out, outputsText(io, report))
			return err
		}),
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the values as JSON")
	return cmd
}

// outputsReport is the result of `hotc outputs --json` (docs/json.md).
type outputsReport struct {
	Stack   string   `json:"stack"`
	Outputs []output `json:"outputs"` // the stack's
	Roles   []output `json:"roles"`   // the roles'
}

// outputState says whether an output has a value.
type outputState string

// The states of an output.
const (
	outputValue   outputState = "value"
	outputWaiting outputState = "waiting"
	outputFailed  outputState = "failed"
	// outputHeat is an output that takes a value only Heat knows.
	outputHeat outputState = "heat"
	// outputMissing is one of a server that Heat did not make, or made of such.
	outputMissing outputState = "missing"
)

// output is one output, of the stack or of a role.
type output struct {
	Name       string              `json:"name"`
	State      outputState         `json:"state"`
	Value      json.RawMessage     `json:"value,omitempty"`
	Secret     bool                `json:"secret,omitempty"` // its value is not shown
	Type       contract.Type       `json:"type,omitempty"`
	Since      time.Time           `json:"since,omitzero"`
	WaitingFor []contract.CellName `json:"waiting_for,omitempty"`
	Cause      *coordinator.Cause  `json:"cause,omitempty"`
	Message    string              `json:"message,omitempty"`
}

// printOutput prints one value for a shell's $(…).
func printOutput(io streams, t *target, o output) error {
	switch o.State {
	case outputValue:
		if o.Secret {
			return source.Fail(source.SecretShown, "the value of "+o.Name+" is secret: only the servers that read it can open it", "")
		}
		var text string
		if json.Unmarshal(o.Value, &text) != nil || len(o.Value) == 0 || o.Value[0] != '"' {
			text = string(o.Value)
		}
		_, err := fmt.Fprintln(io.out, text)
		return err
	case outputFailed:
		return source.Fail(source.RoleFailed, o.Name+" has failed: "+terminal.Line(o.Message), "")
	case outputMissing:
		return source.Fail(source.MissingProducer, o.Name+" has no value: "+terminal.Line(o.Message), "")
	case outputHeat:
		return source.Fail(source.NeedsHeat, o.Name+" takes a value that only Heat knows", "openstack stack output show "+shellQuote(t.stack)+" "+shellQuote(o.Name))
	default:
		hint := ""
		if len(o.WaitingFor) > 0 {
			role, _, _ := strings.Cut(string(o.WaitingFor[0]), ":")
			hint = "\"" + t.command("why", role) + "\" says what it is waiting for"
		}
		return source.Fail(source.OperationFailed, o.Name+" is not there yet: "+o.Message, hint)
	}
}

// longestValue is how many characters of a value a table shows.
const longestValue = 200

func outputsText(io streams, report outputsReport) string {
	t := table{width: io.width(), columns: []column{{"OUTPUT", 0}, {"VALUE", narrowest}}}
	for _, o := range append(append([]output{}, report.Outputs...), report.Roles...) {
		text := string(o.Value)
		switch {
		case o.Secret && o.State == outputValue:
			text = "(secret)"
		case o.State == outputHeat:
			text = "(known to Heat alone)"
		case o.State != outputValue:
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

// named evaluates one output.
func (e *evaluation) named(name string) (output, error) {
	for _, o := range e.plan.Outputs {
		if o.Name == name {
			return e.stackOutput(o)
		}
	}
	var known []string
	for _, o := range e.plan.Outputs {
		known = append(known, o.Name)
	}
	for _, r := range roleOutputs(e.plan) {
		if string(r.Cell) == name {
			return e.roleOutput(r)
		}
		known = append(known, string(r.Cell))
	}
	if len(known) > 12 {
		known = append(known[:12], "…")
	}
	return output{}, source.Fail(source.UnknownName, "the deployment has no output "+name, "its outputs: "+strings.Join(known, ", "))
}

// all evaluates all outputs.
func (e *evaluation) all(stack string) (outputsReport, error) {
	report := outputsReport{Stack: stack, Outputs: []output{}, Roles: []output{}}
	roles := roleOutputs(e.plan)
	if err := e.prefetch(roles); err != nil {
		return report, err
	}
	for _, o := range e.plan.Outputs {
		result, err := e.stackOutput(o)
		if err != nil {
			return report, err
		}
		report.Outputs = append(report.Outputs, result)
	}
	for _, r := range roles {
		result, err := e.roleOutput(r)
		if err != nil {
			return report, err
		}
		report.Roles = append(report.Roles, result)
	}
	return report, nil
}

// roleOutputs are the outputs of all roles, in the order of the plan.
func roleOutputs(p *contract.Plan) []contract.Output {
	var all []contract.Output
	for _, s := range p.Servers {
		for _, r := range s.Roles {
			all = append(all, r.Outputs...)
		}
	}
	return all
}

// newEvaluation prepares to read cells under ctx.
func newEvaluation(ctx context.Context, s *session, p *contract.Plan) *evaluation {
	e := &evaluation{ctx: ctx, session: s, plan: p, places: map[contract.CellName]contract.CellRef{}, read: map[contract.CellName]coordinator.CellRecord{}, secret: map[contract.CellName]bool{}}
	e.reader = sync.OnceValues(func() (*deploy.Reader, error) {
		return deploy.NewReader(ctx, s, s.Deployment, s.Secret, p)
	})
	for _, c := range p.Cells {
		e.places[c.Name] = contract.CellRef{Cell: c.Name, Server: c.Server, Sealed: c.Sealed}
	}
	for _, o := range roleOutputs(p) {
		e.secret[o.Cell] = o.Secret
	}
	return e
}
