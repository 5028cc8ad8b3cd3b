package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func newRetryCommand(io streams) *cobra.Command {
	var (
		t      target
		r      retrying
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "retry SERVER[.ROLE]",
		Short: "Run a failed role again, and what failed because of it",
		Long: `Ask the agent of a server to run its failed role again, in the same incarnation, and
the agents of other servers to run again what failed because of it. What the failure
had marked is taken back first, so that readers wait again. Nothing that is done runs
again but roles that follow an output which was published, taken back, and written anew;
where a role has read one and does not follow it, --yes is needed. With --skip
the role does not run: it counts as done, with the outputs given by hand.

Of a role that is done, and could not be brought up to date, that is tried again.

Heat, once told of a failure, has failed the stack: see docs/operations.md.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !r.skip && (len(r.outputs) > 0 || r.file != "") {
				return usageError{errors.New("--output and --outputs give the outputs of a role that is skipped: they go with --skip")}
			}
			s, err := t.open(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			r.session, r.io = s, io
			result, err := r.run(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(io.out, result)
			}
			result.print(io, r.skip)
			return nil
		},
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&r.skip, "skip", false, "do not run the role: take it as done")
	cmd.Flags().StringArrayVar(&r.outputs, "output", nil, "`NAME=VALUE` of an output of the skipped role (several times)")
	cmd.Flags().StringVar(&r.file, "outputs", "", "a JSON `FILE` with a map of outputs of the skipped role")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "do not ask: published outputs get the same values again")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

// retried is the result of `hotc retry` (docs/json.md).
type retried struct {
	Stack string             `json:"stack"`
	Roles []contract.RoleKey `json:"roles"` // those that run again, the one asked for first
	// Hook is "update" where not the role runs again, but its hook that failed.
	Hook string `json:"hook,omitempty"`
	// Absent are those of them whose agents are not there: they run when they return.
	Absent []contract.RoleKey `json:"absent"`
	// Kept are outputs that those roles have published before they failed, and that a role
	// may have read which does not follow them.
	Kept []contract.CellName `json:"kept"`
}

func (r *retried) print(io streams, skip bool) {
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
		fmt.Fprintf(io.out, "%s is taken back; who has read it and does not follow it keeps what it read.\n", cell)
	}
}

// retrying is one run of `hotc retry`.
type retrying struct {
	*session
	io        streams
	skip, yes bool
	outputs   []string
	file      string
}

func (r *retrying) run(ctx context.Context, name string) (*retried, error) {
	for range operate.MostTries {
		v, err := r.look(ctx)
		if err != nil {
			return nil, err
		}
		role, err := failedRole(r.target, v, name)
		if err != nil {
			return nil, err
		}
		if role.Renewal() == status.OutOfDate && !r.skip {
			return r.updateAgain(ctx, v, role)
		}
		again := append([]*status.Role{}, role)
		if role.Status != coordinator.RoleFailed {
			again = nil // what is left are those that failed because of it
		}
		again = append(again, operate.BecauseOf(v, role)...)
		if err := checkRetry(r.target, v, role, again); err != nil {
			return nil, err
		}
		posts, cells := operate.Retry(again)
		if r.skip {
			if role.Status != coordinator.RoleFailed {
				return nil, source.Fail(source.OperationFailed, string(role.Key())+" has not failed: it is "+role.Word(), "only a role that has failed can be skipped")
			}
			posts[0].Request.Kind = coordinator.Skip
			if posts[0].Request.Values, err = r.values(v, role); err != nil {
				return nil, err
			}
		}
		kept := operate.KeptOutputs(v, again)
		if r.skip { // it does not run
			kept = slices.DeleteFunc(kept, func(k operate.Kept) bool { return k.Role == role })
		}
		if err := r.settle(ctx, kept); err != nil {
			return nil, err
		}
		err = r.Post(ctx, v.Plan, posts, cells)
		if errors.Is(err, coordinator.ErrVersion) {
			continue
		}
		if err != nil {
			return nil, r.explain(ctx, err)
		}
		result := &retried{Stack: string(r.Deployment), Roles: []contract.RoleKey{}, Absent: []contract.RoleKey{}, Kept: []contract.CellName{}}
		for _, k := range kept {
			result.Kept = append(result.Kept, k.Cell)
		}
		for _, a := range again {
			result.Roles = append(result.Roles, a.Key())
			if !a.Server.Alive {
				result.Absent = append(result.Absent, a.Key())
			}
		}
		return result, nil
	}
	return nil, r.explain(ctx, operate.ErrBusy)
}

// updateAgain asks for the hook update of a role again, which has failed.
func (r *retrying) updateAgain(ctx context.Context, v *status.Status, role *status.Role) (*retried, error) {
	p := role.Plan
	if p.Updating() == nil {
		return nil, source.Fail(source.OperationFailed, "the role "+string(role.Key())+" has no hook update any more", "\"hotc apply\" of a plan that has it asks for it")
	}
	request := operate.NewRequest(coordinator.Hook, role)
	request.Name, request.Change, request.Again = contract.HookUpdate, p.Definition(), true
	if err := r.Ask(ctx, v.Plan, role.Server.Path, request); err != nil {
		return nil, r.explain(ctx, err)
	}
	result := &retried{Stack: string(r.Deployment), Roles: []contract.RoleKey{role.Key()}, Absent: []contract.RoleKey{}, Kept: []contract.CellName{}, Hook: contract.HookUpdate}
	if !role.Server.Alive {
		result.Absent = append(result.Absent, role.Key())
	}
	return result, nil
}

// failedRole is the role that is meant: of a server, the one that has failed, or whose
// update has.
func failedRole(t *target, v *status.Status, name string) (*status.Role, error) {
	if s := v.ByPath[contract.ServerPath(name)]; s != nil {
		for i := range s.Roles {
			if s.Roles[i].Status == coordinator.RoleFailed {
				return &s.Roles[i], nil
			}
		}
		for i := range s.Roles {
			if s.Roles[i].Renewal() == status.OutOfDate {
				return &s.Roles[i], nil
			}
		}
		return nil, source.Fail(source.OperationFailed, "no role of server "+name+" has failed", "\""+t.command("status")+"\" shows how its roles stand")
	}
	role, err := findRole(v, name)
	if err != nil {
		var known []string
		for _, s := range v.Servers {
			for i := range s.Roles {
				known = append(known, string(s.Roles[i].Key()))
			}
		}
		if d, is := source.AsDiagnostic(err); is {
			if near := hot.Nearest(name, known); near != "" {
				d.Hint = strings.TrimSuffix("did you mean "+near+"? "+d.Hint, " ")
			}
		}
		return nil, err
	}
	return role, nil
}

// checkRetry refuses what would come to nothing.
func checkRetry(t *target, v *status.Status, role *status.Role, again []*status.Role) error {
	key := string(role.Key())
	switch {
	case role.Status == coordinator.RoleSkipped:
		root := role.Cause.Root()
		return source.Fail(source.OperationFailed, key+" was skipped because "+string(root.Role)+" failed", "\""+t.command("retry", string(root.Role))+"\" runs that one again, and then this one")
	case len(again) == 0:
		return source.Fail(source.OperationFailed, key+" has not failed: it is "+role.Word(), "only a role that has failed can be run again")
	case role.Status != coordinator.RoleFailed:
		return nil
	case !role.Server.Alive:
		return source.Fail(source.OperationFailed, "the agent of "+string(role.Server.Path)+" is not there", "start it first: a role can only be run by its server's agent")
	}
	if root := role.Cause.Root(); root.Role != "" && root.Role != role.Key() {
		if first := v.RoleOf(root.Role); first != nil && first.Status == coordinator.RoleFailed {
			return source.Fail(source.OperationFailed, key+" failed because "+string(root.Role)+" did, and would fail again", "\""+t.command("retry", string(root.Role))+"\" runs that one again, and then this one")
		}
	}
	return nil
}

// values are the outputs of the skipped role, as they are given.
func (r *retrying) values(v *status.Status, role *status.Role) (map[string]json.RawMessage, error) {
	given, err := readOutputs(r.file)
	if err != nil {
		return nil, err
	}
	declared := map[string]contract.Output{}
	for _, o := range role.Plan.Outputs {
		declared[o.Name] = o
	}
	names := slices.Sorted(maps.Keys(declared))
	for _, text := range r.outputs {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--output takes NAME=VALUE, not %q", text)}
		}
		o, known := declared[name]
		if !known {
			given[name] = nil
			continue
		}
		if given[name], err = driver.Parse(o.Type, []byte(value)); err != nil {
			return nil, source.Fail(source.Usage, "output "+name+": "+err.Error(), "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		o, known := declared[name]
		if !known {
			hint := "its outputs: " + strings.Join(names, ", ")
			if near := hot.Nearest(name, names); near != "" {
				hint = "did you mean " + near + "? " + hint
			}
			return nil, source.Fail(source.UnknownName, "the role "+string(role.Key())+" has no output "+name, hint)
		}
		if o.Secret {
			return nil, source.Fail(source.Usage, "the output "+name+" is secret: a value given by hand would lie readable in the coordinator", "run the role again instead, without --skip")
		}
		if given[name], err = driver.Check(o.Type, given[name]); err != nil {
			return nil, source.Fail(source.Usage, "output "+name+": "+err.Error(), "")
		}
	}
	var missing []string
	for _, name := range names {
		valued := v.Cell(declared[name].Cell).State == coordinator.Valued
		switch _, is := given[name]; {
		case is && valued:
			return nil, source.Fail(source.Usage, "the output "+name+" was published before the role failed, and keeps its value", "leave it out")
		case !is && !valued:
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, source.Fail(source.Usage, "the role "+string(role.Key())+" has outputs that nobody gives: "+strings.Join(missing, ", "), "give each with --output NAME=VALUE, or all in a JSON file with --outputs FILE")
	}
	return given, nil
}

// readOutputs reads a file of outputs; none is no outputs.
func readOutputs(path string) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if path == "" {
		return given, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, source.Fail(source.Usage, "the outputs cannot be read: "+err.Error(), "")
	}
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return nil, source.Fail(source.Usage, path+" holds no JSON map of outputs", `it looks like {"endpoint": "10.0.0.5:3306"}`)
	}
	return given, nil
}
