package operate

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// Retried is the result of `hotc retry` (docs/json.md).
type Retried struct {
	Stack string             `json:"stack"`
	Roles []contract.RoleKey `json:"roles"` // those that run again, the one asked for first
	// Hook is "update" where the role's failed hook runs again instead of the role.
	Hook string `json:"hook,omitempty"`
	// Absent are those of them whose agents are absent: they run when they return.
	Absent []contract.RoleKey `json:"absent"`
	// Kept are outputs that those roles published before they failed, and that a role which does
	// not follow them may have read.
	Kept []contract.CellName `json:"kept"`
}

// Retry asks agents to run failed roles again.
type Retry struct {
	*Operator
	// Skip takes the role as done, with supplied outputs: Values, and Texts that are still to be
	// parsed as the outputs' types.
	Skip   bool
	Values map[string]json.RawMessage
	Texts  map[string]string
	// Force also runs a role again that is done: its update hook, or else the role itself.
	Force bool
	// Rerun decides whether a role that is done runs again: an error ends the retry.
	Rerun func(context.Context, *status.Status, *status.Role, []Kept) error
	// Settle decides about published outputs that another attempt may contradict: an error ends the
	// retry.
	Settle func(context.Context, []Kept) error
}

// Run retries a role, or the failed one of a server. It requests nothing that would be in vain.
func (r *Retry) Run(ctx context.Context, name string) (*Retried, error) {
	return r.run(ctx, func(v *status.Status) (*status.Role, error) { return r.failedRole(v, name) })
}

// run retries the role that find returns for the current deployment; nil is none.
func (r *Retry) run(ctx context.Context, find func(*status.Status) (*status.Role, error)) (*Retried, error) {
	for range MostTries {
		v, err := r.Status(ctx)
		if err != nil {
			return nil, err
		}
		role, err := find(v)
		if role == nil || err != nil {
			return &Retried{}, err
		}
		if role.Outdated() && !r.Skip {
			return r.updateAgain(ctx, v, role)
		}
		if r.Force && role.Status == protocol.RoleDone {
			return r.rerun(ctx, v, role)
		}
		again := append([]*status.Role{}, role)
		if role.Status != protocol.RoleFailed {
			again = nil // what is left failed because of it
		}
		again = append(again, becauseOf(v, role)...)
		if err := r.check(v, role, again); err != nil {
			return nil, err
		}
		posts, cells := requests(again)
		if r.Skip {
			if role.Status != protocol.RoleFailed {
				return nil, source.Fail(source.OperationFailed, string(role.Key())+" has not failed: it is "+role.Word(), "only a role that has failed can be skipped")
			}
			posts[0].Request.Kind = protocol.Skip
			if posts[0].Request.Values, err = r.values(v, role); err != nil {
				return nil, err
			}
		}
		kept := keptOutputs(v, again)
		if r.Skip { // it does not run
			kept = slices.DeleteFunc(kept, func(k Kept) bool { return k.Role == role })
		}
		open := slices.DeleteFunc(slices.Clone(kept), func(k Kept) bool { return k.Same })
		if err := r.Settle(ctx, open); err != nil {
			return nil, err
		}
		err = r.Post(ctx, v.Plan, posts, cells)
		if errors.Is(err, store.ErrVersion) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return r.retried(again, kept, ""), nil
	}
	return nil, ErrBusy
}

// RunAll retries all roles that v lists as failed, or whose update has failed, and not because of
// another. say receives those whose agents are absent. Each is read again before: what has run
// since has run for a change, or because of one that was retried before it.
func (r *Retry) RunAll(ctx context.Context, v *status.Status, say func(string)) (again []contract.RoleKey, err error) {
	for role := range v.Roles() {
		key := role.Key()
		switch {
		case !failedItself(v, role), slices.Contains(again, key):
		case !role.Server.Alive:
			say("the agent of " + string(role.Server.Path) + " is not running: " + string(key) + " runs again when it is and you run the same command")
		default:
			done, err := r.run(ctx, func(v *status.Status) (*status.Role, error) {
				if now := v.RoleOf(key); now != nil && now.Server.Alive && failedItself(v, now) && sameRun(role, now) {
					return now, nil
				}
				return nil, nil
			})
			if err != nil {
				return again, err
			}
			again = append(again, done.Roles...)
		}
	}
	return again, nil
}

// sameRun reports whether a role, or its hook update, has not run since: neither with another
// definition or for what it follows, nor at an operator's request.
func sameRun(was, is *status.Role) bool {
	return was.Made == is.Made && was.Runs == is.Runs && was.Attempt == is.Attempt
}

// failedItself reports whether a role, or its update, has failed, and not because of another.
func failedItself(v *status.Status, r *status.Role) bool {
	return (r.Status == protocol.RoleFailed || r.Outdated()) && culprit(v, r) == nil
}

// culprit is the role that has failed, or could not be brought up to date, and caused the same for
// another; nil is none but itself.
func culprit(v *status.Status, r *status.Role) *status.Role {
	cause := r.Cause
	if behind := r.Behind(); behind != nil {
		cause = behind
	}
	root := cause.Root().Role
	first := v.RoleOf(root)
	if root == r.Key() || first == nil || first.Status != protocol.RoleFailed && !first.Outdated() {
		return nil
	}
	return first
}

// updateAgain requests the failed hook update of a role again, or the role itself.
func (r *Retry) updateAgain(ctx context.Context, v *status.Status, role *status.Role) (*Retried, error) {
	p := role.Plan
	if first := culprit(v, role); first != nil {
		return nil, source.Fail(source.OperationFailed, string(role.Key())+" is not updated because "+string(first.Key())+" has failed, whose outputs it follows", "\""+r.Command("retry", string(first.Key()))+"\" runs that one again, and then this one")
	}
	if p.Updating() == nil {
		return nil, source.Fail(source.OperationFailed, "the role "+string(role.Key())+" no longer has an update hook", "apply a plan that has one: it runs then")
	}
	return r.askUpdate(ctx, v, role, false)
}

// rerun requests the update hook of a role that is done, or the role itself.
func (r *Retry) rerun(ctx context.Context, v *status.Status, role *status.Role) (*Retried, error) {
	if !role.Server.Alive {
		return nil, notRunning(role)
	}
	if err := r.Rerun(ctx, v, role, keptOutputs(v, []*status.Role{role})); err != nil {
		return nil, err
	}
	return r.askUpdate(ctx, v, role, true)
}

// askUpdate requests the update hook of a role again, or the role itself; forced also if it is up to
// date.
func (r *Retry) askUpdate(ctx context.Context, v *status.Status, role *status.Role, forced bool) (*Retried, error) {
	request := NewRequest(protocol.Hook, role)
	request.Name, request.Change, request.Force = contract.HookUpdate, role.Plan.Definition(), forced
	if err := r.Ask(ctx, v.Plan, role.Server.Path, request); err != nil {
		return nil, err
	}
	hook := contract.HookUpdate
	if contract.FindTask(role.Plan.Hooks, hook) == nil {
		hook = "" // the role is its own
	}
	return r.retried([]*status.Role{role}, nil, hook), nil
}

// notRunning refuses to run a role whose agent is absent.
func notRunning(role *status.Role) error {
	return source.Fail(source.OperationFailed, "the agent of "+string(role.Server.Path)+" is not running", "start it first: only its server's agent can run a role")
}

// retried is the result for roles, or a hook of theirs, that run again.
func (r *Retry) retried(again []*status.Role, kept []Kept, hook string) *Retried {
	absent := lists.Only(again, func(a *status.Role) bool { return !a.Server.Alive })
	return &Retried{Stack: string(r.Deployment), Hook: hook, Roles: lists.Map(again, (*status.Role).Key), Absent: lists.Map(absent, (*status.Role).Key),
		Kept: lists.Map(kept, func(k Kept) contract.CellName { return k.Cell })}
}

// failedRole is the role that is meant: of a server, the one that has failed, or whose update has.
func (r *Retry) failedRole(v *status.Status, name string) (*status.Role, error) {
	if s := v.ByPath[contract.ServerPath(name)]; s != nil {
		for _, r := range s.Roles {
			if r.Status == protocol.RoleFailed {
				return r, nil
			}
		}
		for _, r := range s.Roles {
			if r.Outdated() {
				return r, nil
			}
		}
		if r.Force && len(s.Roles) == 1 {
			return s.Roles[0], nil
		}
		return nil, source.Fail(source.OperationFailed, "no role of server "+name+" has failed", "\""+r.Command("status")+"\" shows the state of its roles")
	}
	role, err := FindRole(v, name)
	if err != nil {
		var known []string
		for r := range v.Roles() {
			known = append(known, string(r.Key()))
		}
		if d, is := source.AsDiagnostic(err); is {
			d.Hint = strings.TrimSuffix(nearest(name, known)+d.Hint, " ")
		}
		return nil, err
	}
	return role, nil
}

// check refuses what would be in vain.
func (r *Retry) check(v *status.Status, role *status.Role, again []*status.Role) error {
	key := string(role.Key())
	switch {
	case role.Status == protocol.RoleSkipped:
		root := role.Cause.Root()
		return source.Fail(source.OperationFailed, key+" was skipped because "+string(root.Role)+" failed", "\""+r.Command("retry", string(root.Role))+"\" runs that one again, and then this one")
	case len(again) == 0:
		return source.Fail(source.OperationFailed, key+" has not failed: it is "+role.Word(), "--force runs a role again that is done")
	case role.Status != protocol.RoleFailed:
		return nil
	case !role.Server.Alive:
		return notRunning(role)
	}
	if first := culprit(v, role); first != nil {
		return source.Fail(source.OperationFailed, key+" failed because "+string(first.Key())+" did, and would fail again", "\""+r.Command("retry", string(first.Key()))+"\" runs that one again, and then this one")
	}
	return nil
}

// values are the supplied outputs of the skipped role.
func (r *Retry) values(v *status.Status, role *status.Role) (map[string]json.RawMessage, error) {
	given := maps.Clone(r.Values)
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	declared := map[string]contract.Output{}
	for _, o := range role.Plan.Outputs {
		declared[o.Name] = o
	}
	names := slices.Sorted(maps.Keys(declared))
	var err error
	for _, name := range slices.Sorted(maps.Keys(r.Texts)) {
		o, known := declared[name]
		if !known {
			given[name] = nil
			continue
		}
		if given[name], err = driver.Parse(o.Type, []byte(r.Texts[name])); err != nil {
			return nil, source.Fail(source.Usage, "output "+name+": "+err.Error(), "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		o, known := declared[name]
		if !known {
			return nil, source.Fail(source.UnknownName, "the role "+string(role.Key())+" has no output "+name, nearest(name, names)+"its outputs: "+strings.Join(names, ", "))
		}
		if o.Secret {
			return nil, source.Fail(source.Usage, "the output "+name+" is secret: a value supplied by hand would be readable in the coordinator", "run the role again instead, without --skip")
		}
		if given[name], err = driver.Check(o.Type, given[name]); err != nil {
			return nil, source.Fail(source.Usage, "output "+name+": "+err.Error(), "")
		}
	}
	var missing []string
	for _, name := range names {
		valued := v.Cell(declared[name].Cell).State == protocol.Valued
		switch _, is := given[name]; {
		case is && valued:
			return nil, source.Fail(source.Usage, "the output "+name+" was published before the role failed, and keeps its value", "omit it")
		case !is && !valued:
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, source.Fail(source.Usage, "the role "+string(role.Key())+" has outputs without a value: "+strings.Join(missing, ", "), "supply each with --output NAME=VALUE, or all in a JSON file with --outputs FILE")
	}
	return given, nil
}

// becauseOf are the failed roles of other servers whose chain of causes leads to a role.
func becauseOf(v *status.Status, role *status.Role) []*status.Role {
	var found []*status.Role
	for r := range v.Roles() {
		if r.Status != protocol.RoleFailed || r.Key() == role.Key() || r.Cause == nil {
			continue
		}
		for c := r.Cause.Cause; c != nil; c = c.Cause {
			if c.Role == role.Key() {
				found = append(found, r)
				break
			}
		}
	}
	return found
}

// Kept is an output that a failed attempt has published, and that roles may have read which do not
// follow it: they keep what they read, whatever the next attempt writes.
type Kept struct {
	Role    *status.Role
	Cell    contract.CellName
	Since   time.Time
	Readers []contract.RoleKey
	// Same says that the role's author vouches for the same value: it is idempotent.
	Same bool
}

// keptOutputs are those of the roles that are to run again. What a tool's resource writes once
// applied is always true, and left out.
func keptOutputs(v *status.Status, again []*status.Role) []Kept {
	var kept []Kept
	for _, r := range again {
		for _, o := range r.Plan.Outputs {
			record := v.Cell(o.Cell)
			if o.Resource != "" || record.State != protocol.Valued || record.Incarnation != r.Server.Incarnation.Number {
				continue
			}
			if readers := keepers(v, o.Cell); readers != nil {
				kept = append(kept, Kept{Role: r, Cell: o.Cell, Since: record.Since, Readers: readers, Same: r.Plan.Idempotent})
			}
		}
	}
	return kept
}

// keepers are the roles that may have read a cell and do not follow it.
func keepers(v *status.Status, cell contract.CellName) []contract.RoleKey {
	var keys []contract.RoleKey
	for r := range v.Roles() {
		reads := slices.ContainsFunc(r.Plan.Inputs, func(in contract.Input) bool { return slices.Contains(in.Reads, cell) })
		follows := slices.ContainsFunc(r.Plan.Follows, func(f contract.Follow) bool { return f.Watch && f.Cell == cell })
		if reads && !follows && (r.Status == protocol.RoleRunning || r.Status == protocol.RoleDone) {
			keys = append(keys, r.Key())
		}
	}
	return keys
}

// requests is what is posted for roles to run again, and the cells that are withdrawn with it:
// theirs, and those of the roles after them on their servers.
func requests(again []*status.Role) (posts []deploy.Posting, cells []contract.CellRef) {
	for _, a := range again {
		posts = append(posts, deploy.Posting{Server: a.Server.Path, Request: NewRequest(protocol.Retry, a)})
		for _, later := range a.Server.Roles[a.Index:] {
			cells = append(cells, contract.CellRef{Cell: later.Key().Completion(), Server: a.Server.Path})
			for _, o := range later.Plan.Outputs {
				cells = append(cells, contract.CellRef{Cell: o.Cell, Server: a.Server.Path})
			}
		}
	}
	return posts, cells
}
