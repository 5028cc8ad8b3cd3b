package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/emit/localheat"
	"github.com/hotc-dev/hotc/runtime/localrun"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// runReport is the result of `hotc run --json` (docs/json.md).
type runReport struct {
	Servers []runServer     `json:"servers"`
	Outputs map[string]any  `json:"outputs"` // null without a value
	Done    bool            `json:"done"`
	Workdir string          `json:"workdir,omitempty"`
	Failed  []runFailedRole `json:"failed,omitempty"`
}

type runServer struct {
	Path  contract.ServerPath `json:"path"`
	Phase protocol.Phase      `json:"phase"`
	Roles []runRole           `json:"roles"`
}

// runRole is a role as its agent last reported it (docs/json.md).
type runRole struct {
	Name           string              `json:"name"`
	Status         protocol.RoleStatus `json:"status"`
	Started        time.Time           `json:"started,omitzero"`
	Ended          time.Time           `json:"ended,omitzero"`
	ExitCode       *int                `json:"exit_code,omitempty"`
	Blocked        []protocol.Wait     `json:"blocked,omitempty"`
	BlockedSeconds float64             `json:"blocked_seconds,omitempty"`
	Cause          *protocol.Cause     `json:"cause,omitempty"`
	LastLines      string              `json:"last_lines,omitempty"`
}

type runFailedRole struct {
	Role  contract.RoleKey `json:"role"`
	Cause *protocol.Cause  `json:"cause"`
}

func (r *localRun) report(result *localrun.Result, kept bool) error {
	report := runReport{Servers: []runServer{}, Outputs: map[string]any{}, Done: true}
	if kept {
		report.Workdir = r.setup.Workdir
	}
	for _, s := range r.result.Built.Plan.Servers {
		state := result.States[s.Path]
		server := runServer{Path: s.Path, Phase: state.Phase, Roles: []runRole{}}
		report.Done = report.Done && state.Phase == protocol.PhaseDone
		for _, role := range state.Roles {
			server.Roles = append(server.Roles, runRole{Name: role.Name, Status: role.Status, Started: role.Started, Ended: role.Ended, ExitCode: role.ExitCode,
				Blocked: role.Blocked, BlockedSeconds: role.BlockedSeconds, Cause: role.Cause, LastLines: role.LastLines})
			if role.Status == protocol.RoleFailed {
				report.Failed = append(report.Failed, runFailedRole{s.Path.Role(role.Name), role.Cause})
			}
		}
		report.Servers = append(report.Servers, server)
	}
	outputs, err := r.outputs()
	if err != nil {
		return err
	}
	for _, o := range outputs {
		report.Outputs[o.Name] = nil
		if o.State == operate.OutputValue {
			report.Outputs[o.Name] = o.Value
		}
	}
	if err := printResult(r.out, r.asJSON, report, func() { r.printOutputs(outputs) }); err != nil || report.Done {
		return err
	}
	r.explainFailure(result)
	return errFailed
}

func (r *localRun) outputs() ([]operate.Output, error) {
	ctx, stop := r.session.Within(context.Background())
	defer stop()
	values, unknown := map[string]json.RawMessage{}, map[string]string{}
	for key, expr := range r.result.Built.OutputDeploy {
		switch v, err := hot.Fold(expr, r.heat.Root()); {
		case err != nil: // the output says so
			unknown[key] = inALine(localheat.AsDiagnostic(err))
		case v.IsValue():
			values[key] = value.EncodeJSON(v.Value)
		}
	}
	e := r.session.Evaluate(ctx, r.result.Built.Plan).Without(values, unknown)
	var out []operate.Output
	for _, o := range r.result.Built.Plan.Outputs {
		value, err := e.Stack(o)
		if err != nil {
			return nil, r.session.explain(ctx, err)
		}
		out = append(out, value)
	}
	return out, nil
}

func (r *localRun) printOutputs(outputs []operate.Output) {
	if len(outputs) == 0 {
		return
	}
	fmt.Fprintln(r.out)
	for _, o := range outputs {
		switch o.State {
		case operate.OutputValue:
			fmt.Fprintf(r.out, "%s = %s\n", o.Name, o.Value)
		case operate.OutputHeat:
			fmt.Fprintf(r.out, "%s has no value: %s\n", o.Name, cmp.Or(o.Message, "only Heat can compute it"))
		default:
			fmt.Fprintf(r.out, "%s has no value: %s\n", o.Name, o.Message)
		}
	}
}

// inALine is a diagnostic's message and hint in one line.
func inALine(err error) string {
	d, ok := source.AsDiagnostic(err)
	switch {
	case !ok:
		return err.Error()
	case d.Hint == "":
		return d.Message
	}
	return d.Message + "; " + d.Hint
}

// explainFailure prints each failure that no other failure caused, with the role's last lines
// and the position in the template.
func (r *localRun) explainFailure(result *localrun.Result) {
	r.explainCycles(result.Broken)
	style := r.errStyle()
	for _, s := range r.result.Built.Plan.Servers {
		state := result.States[s.Path]
		if state.Phase != protocol.PhaseDone && state.Phase != protocol.PhaseFailed {
			source.Print(r.err, source.Fail(source.RoleFailed, fmt.Sprintf("the agent of server %q ended early", s.Path), r.running.Trouble(s.Path)), style)
		}
		for _, role := range state.Roles {
			if role.Status != protocol.RoleFailed || role.Cause == nil || role.Cause.Cause != nil {
				continue
			}
			d := &source.Diagnostic{Code: source.RoleFailed, At: r.place(role.Cause.At), Message: fmt.Sprintf("%s.%s: %s", s.Path, role.Name, role.Cause.Reason)}
			if lines := strings.TrimSpace(role.LastLines); lines != "" {
				d.With("its last output:\n    " + strings.ReplaceAll(lines, "\n", "\n    "))
			}
			source.Print(r.err, d, style)
		}
	}
}

// explainCycles prints the cycles that were found, with the position of each wait.
func (r *localRun) explainCycles(broken []status.Cycle) {
	for _, c := range broken {
		d := source.Fail(source.RoleFailed, "a dependency cycle that shows only at run time: none of its roles can continue", "let one of them publish what the next one waits for before it reads; see docs/rules/H502.md")
		at := slices.IndexFunc(c, func(s status.Step) bool { return s.Wait.At != "" })
		if at >= 0 {
			d.At = r.place(c[at].Wait.At)
		}
		for _, s := range c {
			note := source.Note{Message: s.String()}
			if s.Wait.At != "" {
				note.At, note.Message = r.place(s.Wait.At), fmt.Sprintf("%s waits for %s", s.Role.Key(), s.Wait.Cell)
			}
			d.Notes = append(d.Notes, note)
		}
		r.print(d)
	}
}

// place finds a plan's position in the template.
func (r *localRun) place(at contract.Position) source.Place {
	for _, s := range r.result.Program.Stacks() {
		file, line, column := s.Template.File, 0, 0
		rest, ok := strings.CutPrefix(string(at), file.Portable+":")
		if _, err := fmt.Sscanf(rest, "%d:%d", &line, &column); ok && err == nil {
			before := []rune(file.Line(line))
			start := file.LineOffset(line) + uint32(len(string(before[:max(0, min(column-1, len(before)))])))
			return source.Place{File: file, Span: source.Span{Start: start, End: start}}
		}
	}
	return source.Remote(string(at))
}
