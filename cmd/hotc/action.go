package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newActionCommand(io streams) *cobra.Command {
	var (
		t      target
		a      = acting{io: io}
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "action SERVER ROLE NAME [KEY=VALUE]…",
		Short: "Run an action of a role",
		Long: fmt.Sprintf(`Ask the agent of a server to run one of the actions that a role declares, once, when
no role of the server runs. KEY=VALUE are inputs of this run alone; they override declared
inputs of the same name. They are readable in the coordinator: do not pass secrets here.

With --wait the end of what the action printed (%d KiB) goes to the standard output,
and hotc ends with the action's exit status. Without it hotc prints the request's id;
--request ID asks later what became of it.`, coordinator.LogSize>>10),
		Args: cobra.MinimumNArgs(3),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			a.session, a.server, a.role, a.name, a.arguments = s, args[0], args[1], args[2], args[3:]
			result, err := a.run(ctx)
			if err != nil {
				return err
			}
			return errors.Join(printResult(io.out, asJSON, result, func() { result.print(io, &t) }), result.failure())
		}),
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&a.wait, "wait", false, "wait until it has ended")
	cmd.Flags().StringVar(&a.request, "request", "", "run nothing: tell what became of the request with this `ID`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

// acted is the result of `hotc action` (docs/json.md).
type acted struct {
	Stack   string                   `json:"stack"`
	Role    contract.RoleKey         `json:"role"`
	Action  string                   `json:"action"`
	Request string                   `json:"request"`
	Status  coordinator.AnswerStatus `json:"status"` // "" is: not taken yet
	// ExitCode is there when its process has ended.
	ExitCode *int      `json:"exit_code,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Output   string    `json:"output"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`

	server contract.ServerPath
	name   string // of the role
}

func (r *acted) print(io streams, t *target) {
	switch r.Status {
	case coordinator.AnswerDone, coordinator.AnswerFailed, coordinator.AnswerRefused:
		fmt.Fprint(io.out, r.Output)
		return
	case coordinator.AnswerRunning:
		fmt.Fprintf(io.out, "%s of %s runs since %s.\n", r.Action, r.Role, r.Started.Local().Format(time.TimeOnly))
	default:
		fmt.Fprintf(io.out, "%s of %s is asked for.\n", r.Action, r.Role)
	}
	fmt.Fprintf(io.out, "  hotc action %s %s %s --request %s --wait %s\n", shellQuote(string(r.server)), shellQuote(r.name), shellQuote(r.Action), r.Request, t.flags())
}

// failure is the error with which hotc ends; nil when nothing is wrong.
func (r *acted) failure() error {
	switch r.Status {
	case coordinator.AnswerRefused:
		return source.Fail(source.OperationFailed, fmt.Sprintf("the action %s of %s was refused: %s", r.Action, r.Role, r.Reason), "nothing was done")
	case coordinator.AnswerFailed:
		err := source.Fail(source.RoleFailed, "the action "+r.Action+": "+r.Reason, "")
		if r.ExitCode != nil && *r.ExitCode > 0 {
			return exitWith{*r.ExitCode, err}
		}
		return err
	}
	return nil
}

// acting is one run of `hotc action`.
type acting struct {
	*session
	io                 streams
	server, role, name string
	arguments          []string
	request            string
	wait               bool
}

func (a *acting) run(ctx context.Context) (*acted, error) {
	v, err := a.look(ctx)
	if err != nil {
		return nil, err
	}
	role, err := operate.FindRole(v, a.server+"."+a.role)
	if err != nil {
		return nil, err
	}
	result := &acted{Stack: string(a.Deployment), Role: role.Key(), Action: a.name, Request: a.request, server: role.Server.Path, name: role.Name}
	if a.request == "" {
		request, err := a.compose(role)
		if err != nil {
			return nil, err
		}
		if err := a.Ask(ctx, v.Plan, role.Server.Path, request); err != nil {
			return nil, a.explain(ctx, err)
		}
		result.Request = request.ID
	} else if len(a.arguments) > 0 {
		return nil, usageError{errors.New("--request asks what became of a request; it takes no KEY=VALUE")}
	}
	answer, err := a.await(ctx, v.Plan, result)
	if err != nil {
		return nil, err
	}
	result.Status, result.ExitCode, result.Reason, result.Output = answer.Status, answer.ExitCode, answer.Reason, answer.Output
	result.Started, result.Ended = answer.Started, answer.Ended
	return result, nil
}

func (a *acting) await(ctx context.Context, p *contract.Plan, r *acted) (coordinator.Answer, error) {
	if a.request != "" {
		answer, err := a.Answer(ctx, p, r.server, r.Request)
		if err == nil && answer.Status == "" {
			known := false
			if known, err = a.Known(ctx, p, r.server, r.Request); err == nil && !known {
				err = source.Fail(source.UnknownName, "the agent of "+string(r.server)+" knows nothing of a request "+r.Request,
					"answers are kept until some newer ones have come; what an action printed lies on the server")
			}
		}
		if err != nil || !a.wait || answer.Final() {
			return answer, a.explain(ctx, err)
		}
	} else if !a.wait {
		return coordinator.Answer{}, nil
	}
	answer, err := a.Await(ctx, p, r.server, r.Request, func(text string) { fmt.Fprintln(a.io.err, text) })
	if ctx.Err() != nil {
		return answer, source.Fail(source.OperationFailed, "interrupted: the action is asked for all the same", "--request "+r.Request+" --wait waits for it again")
	}
	return answer, a.explain(ctx, err)
}

// compose makes the request, of what the plan knows.
func (a *acting) compose(r *status.Role) (coordinator.Request, error) {
	p := r.Plan
	if contract.FindTask(p.Actions, a.name) == nil {
		var names []string
		for _, t := range p.Actions {
			names = append(names, t.Name)
		}
		hint := "it has none: `actions:` of the role declares them"
		if len(names) > 0 {
			hint = "its actions: " + strings.Join(names, ", ")
		}
		if near := hot.Nearest(a.name, names); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		return coordinator.Request{}, source.Fail(source.UnknownName, "the role "+string(r.Key())+" has no action "+a.name, hint)
	}
	if !r.Server.Alive {
		return coordinator.Request{}, source.Fail(source.OperationFailed, "the agent of "+string(r.Server.Path)+" is not there", "\""+a.target.command("why", string(r.Server.Path))+"\" says what is known of it")
	}
	request := operate.NewRequest(coordinator.Action, r)
	request.Name = a.name
	var err error
	request.Values, err = argumentsOf(a.arguments, p)
	return request, err
}

// argumentsOf are the values of KEY=VALUE, by the types of the inputs that they
// replace.
func argumentsOf(texts []string, p *contract.Role) (map[string]json.RawMessage, error) {
	inputs := map[string]contract.Input{}
	for _, in := range p.Inputs {
		inputs[in.Name] = in
	}
	values := map[string]json.RawMessage{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("an action's arguments are KEY=VALUE, not %q", text)}
		}
		if _, twice := values[name]; twice {
			return nil, usageError{fmt.Errorf("%s is given twice", name)}
		}
		in := inputs[name]
		if in.Secret {
			return nil, source.Fail(source.Usage, "the input "+name+" is secret: a value given here would lie readable in the coordinator", "leave it out: the action reads it as the role does")
		}
		parsed, err := driver.Parse(in.Type, []byte(value))
		if err != nil {
			return nil, source.Fail(source.Usage, "input "+name+": "+err.Error(), "")
		}
		values[name] = parsed
	}
	return values, nil
}
