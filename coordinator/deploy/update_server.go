package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// One server's part of a change: what is read before, and the commit.

// serverChange is the state of a server, and what the change means for it.
type serverChange struct {
	planVersion, keysVersion, stateVersion store.Version
	incarnation                            protocol.IncarnationRecord
	incarnationVersion                     store.Version
	files                                  []string // that it has used so far
	same                                   bool     // its part of the plan is up to date
	changes                                []RoleChange
	lacking                                []RoleChange // those that lack a hook
	busy                                   []string     // why the change has to wait
	watched                                bool         // the change relies on roles that have not started, or are not running
}

// look reads the state of a server.
func (u *update) look(ctx context.Context, to *contract.Server) (*serverChange, error) {
	part, err := u.keys.part(to)
	if err != nil {
		return nil, err
	}
	slice, err := protocol.Encode(part)
	if err != nil {
		return nil, err
	}
	v := &serverChange{}
	text, number, err := u.told(ctx, protocol.KindPlan, to.Path, u.d.ServerPlan(to.Path), &v.planVersion)
	if err != nil {
		return nil, err
	}
	var from contract.Server
	if text != nil {
		if err := json.Unmarshal(text, &from); err != nil {
			return nil, fmt.Errorf("read the plan of server %s: %w", to.Path, err)
		}
	} else if live := slices.IndexFunc(u.live.Servers, func(s contract.Server) bool { return s.Path == to.Path }); live >= 0 && !u.resumed {
		from = u.live.Servers[live] // somebody has deleted its plan, or a part of that
	}
	for i := range from.Roles {
		v.files = append(v.files, from.Roles[i].AllFiles()...)
	}
	sets, keysNumber, err := u.told(ctx, protocol.KindKeys, to.Path, u.d.Keys(to.Path), &v.keysVersion)
	if err != nil {
		return nil, err
	}
	keys, err := protocol.Decode[protocol.KeysRecord](u.d.Keys(to.Path), []byte(cmp.Or(string(sets), "{}")))
	if err != nil {
		return nil, err
	}
	waits := u.newer.waits(to.Path, protocol.KindPlan, number) || sets != nil && u.newer.waits(to.Path, protocol.KindKeys, keysNumber)
	if v.same = text != nil && string(text) == string(slice) && maps.Equal(keys.Sets, u.keys.members[to.Path]) && !waits; v.same {
		return v, nil
	}
	if from.Path == "" {
		for _, r := range to.Roles {
			v.changes = append(v.changes, RoleChange{Server: to.Path, Role: r.Name, What: []string{"added with its server"}, Effect: EffectRun})
		}
		_, err := u.readState(ctx, to.Path, nil, v)
		if errors.Is(err, store.ErrNotFound) { // nothing was created yet
			err = nil
		}
		return v, err
	}
	state, err := u.readState(ctx, to.Path, to.Roles, v)
	if err != nil {
		return nil, err
	}
	v.compare(&from, to, state)
	return v, nil
}

// told is a record that the operator has written for a server, with its number; nil if there is none
// yet.
func (u *update) told(ctx context.Context, kind string, s contract.ServerPath, path store.Path, version *store.Version) (text []byte, number int64, err error) {
	text, at, err := protocol.ReadParts(ctx, u.store, path)
	*version = at
	if errors.Is(err, store.ErrNotFound) || err == nil && (len(text) == 0 || string(text) == "{}") {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if text, number, err = u.keys.signer.Public().Open(u.d.Place(u.record.ID, kind, s, ""), text); err != nil {
		return nil, 0, protocol.Forged("the "+kind+" of server "+string(s), "the deployment's operator", err)
	}
	return text, number, nil
}

// readState reads the server's incarnation and the status of its roles.
func (u *update) readState(ctx context.Context, server contract.ServerPath, roles []contract.Role, v *serverChange) (map[string]protocol.RoleStatus, error) {
	node, err := u.store.Read(ctx, u.d.Server(server))
	if err != nil {
		return nil, err
	}
	v.incarnationVersion = node.Version
	v.incarnation = protocol.ParseIncarnation(node)
	if node, err = u.store.Read(ctx, u.d.State(server)); err != nil {
		return nil, err
	}
	v.stateVersion = node.Version
	statuses := map[string]protocol.RoleStatus{}
	state, err := u.keys.state(node.Data, server)
	if err != nil { // its agent knows what has run
		for _, r := range roles {
			statuses[r.Name] = protocol.RoleDone
		}
		return statuses, nil
	}
	if state.Incarnation != v.incarnation.Number {
		return nil, nil // of an earlier machine
	}
	for _, r := range state.Roles {
		statuses[r.Name] = r.Status
	}
	return statuses, nil
}

// compare notes what the change means for a server's roles.
func (v *serverChange) compare(from, to *contract.Server, state map[string]protocol.RoleStatus) {
	lost := map[contract.CellName]bool{}
	for _, r := range from.Reads {
		lost[r.Cell] = true
	}
	for _, r := range to.Reads {
		delete(lost, r.Cell)
	}
	compare(from.Roles, to.Roles, func(r contract.Role) string { return r.Name }, func(kind string, a, b contract.Role) {
		switch kind {
		case "added":
			v.changes = append(v.changes, RoleChange{Server: to.Path, Role: b.Name, What: []string{v.added(to, b.Name, state)}, Effect: EffectRun})
			return
		case "removed":
			v.watched = true
			v.changes = append(v.changes, RoleChange{Server: to.Path, Role: a.Name, What: []string{"removed"}, Effect: EffectRemoved})
			if state[a.Name] == protocol.RoleRunning {
				v.busy = append(v.busy, fmt.Sprintf("role %s.%s is running, and would be removed", to.Path, a.Name))
			}
			return
		}
		if state[a.Name] == protocol.RoleRunning {
			v.reads(to.Path, &a, lost)
			if a.Declares(&b) {
				v.watched = true
				v.busy = append(v.busy, fmt.Sprintf("role %s.%s is running, and would lose an output, or its type", to.Path, a.Name))
			}
		}
		v.role(to.Path, &a, &b, state)
	})
}

// added describes how a role is added: one that is placed before others that have begun still runs
// after them.
func (v *serverChange) added(to *contract.Server, role string, state map[string]protocol.RoleStatus) string {
	after := false
	for _, r := range to.Roles {
		after = after || r.Name == role
		if s := state[r.Name]; after && (s == protocol.RoleDone || s == protocol.RoleRunning) {
			return "added before " + r.Name + ", which has begun"
		}
	}
	return "added"
}

// reads notes that a running role may still read a cell that is removed, without a default.
func (v *serverChange) reads(server contract.ServerPath, r *contract.Role, lost map[contract.CellName]bool) {
	v.watched = v.watched || len(lost) > 0
	note := func(cell contract.CellName, at contract.Position) {
		v.busy = append(v.busy, fmt.Sprintf("role %s.%s is running, and reads %s (%s), which would be removed, without a default", server, r.Name, cell, at))
	}
	for _, in := range r.Inputs {
		for _, cell := range in.Reads {
			if lost[cell] && in.Default == nil && !in.Optional {
				note(cell, in.At[""])
			}
		}
	}
}

// role notes what the change means for a role.
func (v *serverChange) role(server contract.ServerPath, a, b *contract.Role, state map[string]protocol.RoleStatus) {
	what := roleDifferences(*a, *b)
	if len(what) == 0 {
		return
	}
	c := RoleChange{Server: server, Role: b.Name, What: what, Effect: EffectNone}
	ran, asked := state[b.Name] == protocol.RoleRunning || state[b.Name] == protocol.RoleDone, EffectHook
	if contract.FindTask(b.Hooks, contract.HookUpdate) == nil {
		asked = EffectAgain
	}
	switch changed := a.Definition() != b.Definition(); {
	case !changed && ran && b.Declares(a):
		if c.Effect = asked; b.Updating() == nil {
			c.Effect = EffectNoValue
		}
	case changed:
		switch {
		case ran:
			c.Effect = asked
		case state[b.Name] == protocol.RoleFailed:
			c.Effect, v.watched = EffectRetry, true
		default:
			c.Effect, v.watched = EffectRun, true
		}
	}
	v.changes = append(v.changes, c)
	if c.Effect == EffectAgain && !b.Idempotent {
		v.lacking = append(v.lacking, c)
	}
}

// server changes one server's part, and returns the files that it used until then.
func (u *update) server(ctx context.Context, to *contract.Server) (changes []RoleChange, keep []string, err error) {
	for {
		v, err := u.look(ctx, to)
		switch {
		case err != nil:
			return nil, nil, err
		case v.same:
			return changes, append(keep, v.files...), nil
		case len(v.lacking) > 0:
			return nil, nil, &NoUpdateHookError{Roles: v.lacking}
		case len(v.busy) > 0:
			return nil, nil, &RunningError{Lines: v.busy}
		}
		changes, keep = v.changes, v.files
		clean, err := u.commit(ctx, to, v)
		if err == nil {
			return changes, keep, store.InTurn(ctx, clean...)
		}
		if !errors.Is(err, store.ErrVersion) {
			return nil, nil, err
		}
		if err := u.check(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// commit writes a server's part if nothing has changed since it was read, and returns what cleans
// up after it.
func (u *update) commit(ctx context.Context, to *contract.Server, v *serverChange) (clean []func(context.Context) error, err error) {
	slice, err := u.keys.signedPart(to)
	if err != nil {
		return nil, err
	}
	keys, err := u.keys.keys(to.Path, u.keys.members[to.Path])
	if err != nil {
		return nil, err
	}
	ops := []store.Op{{Path: u.d.Root(), Version: u.version}, {Path: u.d.Server(to.Path), Version: v.incarnationVersion}}
	if v.watched {
		ops = append(ops, store.Op{Path: u.d.State(to.Path), Version: v.stateVersion})
	}
	for _, x := range []struct {
		path    store.Path
		version store.Version
		text    []byte
		class   class
	}{{u.d.ServerPlan(to.Path), v.planVersion, slice, ofServerPlan}, {u.d.Keys(to.Path), v.keysVersion, keys, ofKeys}} {
		write, after, err := u.replace(ctx, x.path, x.version, x.text, x.class, to.Path)
		if err != nil {
			return nil, err
		}
		ops, clean = append(ops, write), append(clean, after)
	}
	return clean, u.store.Commit(ctx, ops...)
}
