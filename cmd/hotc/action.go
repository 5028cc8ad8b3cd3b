package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newActionCommand(io streams) *cobra.Command {
	var (
		t target
		a = acting{io: io}
	)
	cmd := &cobra.Command{
		Use:   "action NAME SERVER.ROLE ACTION [KEY=VALUE]…",
		Short: "Run an action of a role",
		Long: fmt.Sprintf(`Ask a server's agent to run one of the actions that a role declares. It runs once,
when no role of the server is running. KEY=VALUE sets an input for this run only and
overrides the declared input of that name. These values can be read on the coordinator:
do not pass secrets.

With --wait hotc prints the end of the action's output (%d KiB) and exits with the
action's exit status. Without it hotc prints the request's id; --request ID asks
for its result later.`, protocol.LogSize>>10),
		Args: cobra.MinimumNArgs(2),
		RunE: t.operate(func(ctx context.Context, s *session, args []string) error {
			if len(args) > 2 && !strings.Contains(args[0], ".") && !strings.Contains(args[2], "=") { // the older SERVER ROLE
				args = append([]string{args[0] + "." + args[1]}, args[2:]...)
			}
			a.session, a.role, a.name, a.arguments = s, args[0], args[1], args[2:]
			result, err := a.run(ctx)
			if err != nil {
				return err
			}
			return errors.Join(printResult(io.out, t.asJSON, result, func() { result.print(io, &t) }), result.failure())
		}),
	}
	t.addFlags(cmd, "print the result as JSON")
	cmd.Flags().BoolVar(&a.wait, "wait", false, "wait until the action has ended")
	cmd.Flags().StringVar(&a.request, "request", "", "run nothing: show the result of the request with this `ID`")
	return cmd
}

// acted is the result of `hotc action` (docs/json.md).
type acted struct {
	Stack   string                `json:"stack"`
	Role    contract.RoleKey      `json:"role"`
	Action  string                `json:"action"`
	Request string                `json:"request"`
	Status  protocol.AnswerStatus `json:"status"` // "": not started yet
	// ExitCode is set once the process has ended.
	ExitCode *int      `json:"exit_code,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Output   string    `json:"output"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`

	server contract.ServerPath
}

func (r *acted) print(io streams, t *target) {
	switch r.Status {
	case protocol.AnswerDone, protocol.AnswerFailed, protocol.AnswerRefused:
		fmt.Fprint(io.out, r.Output)
		return
	case protocol.AnswerRunning:
		fmt.Fprintf(io.out, "%s of %s has been running since %s.\n", r.Action, r.Role, r.Started.Local().Format(time.TimeOnly))
	default:
		fmt.Fprintf(io.out, "%s of %s is requested.\n", r.Action, r.Role)
	}
	again := t.command("action", string(r.Role), r.Action, "--request", r.Request, "--wait")
	fmt.Fprintf(io.out, "  %s\n", again)
}

// failure is the error that hotc ends with; nil if nothing failed.
func (r *acted) failure() error {
	switch r.Status {
	case protocol.AnswerRefused:
		return source.Fail(source.OperationFailed, fmt.Sprintf("the action %s of %s was refused: %s", r.Action, r.Role, r.Reason), "nothing was done")
	case protocol.AnswerFailed:
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
	io         streams
	role, name string // SERVER.ROLE, and its action
	arguments  []string
	request    string
	wait       bool
}

func (a *acting) run(ctx context.Context) (*acted, error) {
	v, err := a.Status(ctx)
	if err != nil {
		return nil, err
	}
	role, err := operate.FindRole(v, a.role)
	if err != nil {
		return nil, err
	}
	result := &acted{Stack: string(a.Deployment), Role: role.Key(), Action: a.name, Request: a.request, server: role.Server.Path}
	if a.request == "" {
		arguments, err := argumentsOf(a.arguments)
		if err != nil {
			return nil, err
		}
		request, err := a.ActionRequest(role, a.name, arguments)
		if err != nil {
			return nil, err
		}
		if err := a.Ask(ctx, v.Plan, role.Server.Path, request); err != nil {
			return nil, err
		}
		result.Request = request.ID
	} else if len(a.arguments) > 0 {
		return nil, usageError{errors.New("--request asks about an earlier request and takes no KEY=VALUE")}
	}
	answer, err := a.await(ctx, v.Plan, result)
	if err != nil {
		return nil, err
	}
	result.Status, result.ExitCode, result.Reason, result.Output = answer.Status, answer.ExitCode, answer.Reason, answer.Output
	result.Started, result.Ended = answer.Started, answer.Ended
	return result, nil
}

func (a *acting) await(ctx context.Context, p *contract.Plan, r *acted) (protocol.Answer, error) {
	if a.request != "" {
		answer, err := a.Became(ctx, p, r.server, r.Request)
		if err != nil || !a.wait || answer.Final() {
			return answer, err
		}
	} else if !a.wait {
		return protocol.Answer{}, nil
	}
	answer, err := a.Await(ctx, p, r.server, r.Request, func(text string) { fmt.Fprintln(a.io.err, text) })
	if ctx.Err() != nil {
		return answer, source.Fail(source.OperationFailed, "interrupted: the action is requested and will still run", "wait for it again with --request "+r.Request+" --wait")
	}
	return answer, err
}

// argumentsOf parses KEY=VALUE arguments and keeps their order.
func argumentsOf(texts []string) ([]operate.Argument, error) {
	var all []operate.Argument
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("an action's arguments are KEY=VALUE, not %q", text)}
		}
		if slices.ContainsFunc(all, func(x operate.Argument) bool { return x.Name == name }) {
			return nil, usageError{fmt.Errorf("%s is set twice", name)}
		}
		all = append(all, operate.Argument{Name: name, Text: value})
	}
	return all, nil
}
