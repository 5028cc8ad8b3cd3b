package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// One server's part of a change: what is looked at before, and the commit.

// standing is a server as it is, and what the change means for it.
type standing struct {
	planVersion, keysVersion, stateVersion coordinator.Version
	incarnation                            coordinator.IncarnationRecord
	incarnationVersion                     coordinator.Version
	keys                                   coordinator.KeysRecord
	files                                  []string // that it used so far
	same                                   bool     // its part of the plan is as it is to be
	changes                                []RoleChange
	lacking                                []RoleChange // those that need a hook which is not there
	watched                                bool         // the change counts on roles that have not started
	// linked are roles that follow other cells than before, or are followed otherwise: their
	// agent has to read its plan, though nothing runs.
	linked []string
}

// look reads how a server stands.
func (u *update) look(ctx context.Context, to *contract.Server) (*standing, error) {
	part, err := u.keys.part(to)
	if err != nil {
		return nil, err
	}
	slice, err := coordinator.Encode(part)
	if err != nil {
		return nil, err
	}
	text, version, err := coordinator.ReadParts(ctx, u.store, u.d.ServerPlan(to.Path))
	if err == nil {
		text, err = u.opened(coordinator.KindPlan, to.Path, text)
	}
	if err != nil {
		return nil, err
	}
	v := &standing{planVersion: version, same: string(text) == string(slice)}
	var from contract.Server
	if err := json.Unmarshal(text, &from); err != nil {
		return nil, fmt.Errorf("read the plan of server %s: %w", to.Path, err)
	}
	for i := range from.Roles {
		v.files = append(v.files, from.Roles[i].AllFiles()...)
	}
	if v.same {
		return v, nil
	}
	if text, v.keysVersion, err = coordinator.ReadParts(ctx, u.store, u.d.Keys(to.Path)); err == nil && string(text) != "{}" {
		text, err = u.opened(coordinator.KindKeys, to.Path, text)
	}
	if err == nil {
		v.keys, err = coordinator.Decode[coordinator.KeysRecord](u.d.Keys(to.Path), text)
	}
	if err != nil {
		return nil, err
	}
	state, err := u.readState(ctx, to.Path, to.Roles, v)
	if err != nil {
		return nil, err
	}
	compare(from.Roles, to.Roles, func(r contract.Role) string { return r.Name }, func(_ string, a, b contract.Role) {
		v.role(to.Path, &a, &b, state)
	})
	return v, nil
}

// opened is what the operator has signed for a server, without the signature.
func (u *update) opened(kind string, s contract.ServerPath, text []byte) ([]byte, error) {
	text, _, err := u.keys.signer.Public().Open(u.d.Place(u.record.ID, kind, s, ""), text)
	if err != nil {
		return nil, coordinator.Forged("the "+kind+" of server "+string(s), "the deployment's operator", err)
	}
	return text, nil
}

// readState reads the server's incarnation and, of the same, how its roles stand.
func (u *update) readState(ctx context.Context, server contract.ServerPath, roles []contract.Role, v *standing) (map[string]coordinator.RoleStatus, error) {
	node, err := u.store.Read(ctx, u.d.Server(server))
	if err != nil {
		return nil, err
	}
	v.incarnationVersion = node.Version
	v.incarnation = coordinator.ParseIncarnation(node)
	if node, err = u.store.Read(ctx, u.d.State(server)); err != nil {
		return nil, err
	}
	v.stateVersion = node.Version
	statuses := map[string]coordinator.RoleStatus{}
	state, err := u.keys.state(node.Data, server)
	if err != nil { // its agent, asked to run the hook, knows what has run
		for _, r := range roles {
			statuses[r.Name] = coordinator.RoleDone
		}
		return statuses, nil
	}
	if state.Incarnation != v.incarnation.Number {
		return nil, nil // of a machine that is the server no longer
	}
	for _, r := range state.Roles {
		statuses[r.Name] = r.Status
	}
	return statuses, nil
}

// role notes what the change means for a role.
func (v *standing) role(server contract.ServerPath, a, b *contract.Role, state map[string]coordinator.RoleStatus) {
	_, what := roleDifferences(*a, *b)
	if !sameRecord(a.Follows, b.Follows) || !sameRecord(a.Carries, b.Carries) {
		v.linked = append(v.linked, b.Name)
	}
	if len(what) == 0 {
		return
	}
	c := RoleChange{Server: server, Role: b.Name, What: what, Effect: EffectNone}
	if a.Definition() != b.Definition() {
		switch state[b.Name] {
		case coordinator.RoleRunning, coordinator.RoleDone:
			c.Effect = EffectHook
			if contract.FindTask(b.Hooks, contract.HookUpdate) == nil {
				c.Effect = EffectAgain
			}
		case coordinator.RoleFailed:
			c.Effect, v.watched = EffectRetry, true
		case coordinator.RolePending, coordinator.RoleSkipped, "":
			c.Effect, v.watched = EffectRun, true
		}
	}
	v.changes = append(v.changes, c)
	if c.Effect == EffectAgain && !b.Idempotent {
		v.lacking = append(v.lacking, c)
	}
}

// server changes one server's part, and says which files it used until then.
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
		}
		changes, keep = v.changes, v.files
		old, err := u.commit(ctx, to, v)
		if err == nil {
			return changes, keep, u.dropParts(ctx, to.Path, old)
		}
		if !errors.Is(err, coordinator.ErrVersion) {
			return nil, nil, err
		}
		if err := u.check(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// commit writes a server's part, while everything is as it was looked at, and says which
// parts of texts it has replaced.
func (u *update) commit(ctx context.Context, to *contract.Server, v *standing) (old map[coordinator.Path][]string, err error) {
	slice, err := u.keys.signedPart(to)
	if err != nil {
		return nil, err
	}
	for id, password := range u.keys.members[to.Path] {
		if v.keys.Sets == nil {
			v.keys.Sets = map[string]string{}
		}
		v.keys.Sets[id] = password
	}
	keys, err := u.keys.keys(to.Path, v.keys.Sets)
	if err != nil {
		return nil, err
	}
	old = map[coordinator.Path][]string{}
	ops := []coordinator.Op{{Path: u.d.Root(), Version: u.version}, {Path: u.d.Server(to.Path), Version: v.incarnationVersion}}
	if v.watched {
		ops = append(ops, coordinator.Op{Path: u.d.State(to.Path), Version: v.stateVersion})
	}
	for _, x := range []struct {
		path    coordinator.Path
		version coordinator.Version
		text    []byte
		class   class
	}{{u.d.ServerPlan(to.Path), v.planVersion, slice, ofServerPlan}, {u.d.Keys(to.Path), v.keysVersion, keys, ofKeys}} {
		head, parts := coordinator.ReplaceParts(x.path, u.record.Updates, x.text, u.keys.grants(x.class, to.Path))
		if err := u.store.Create(ctx, parts); err != nil {
			return nil, err
		}
		if old[x.path], err = coordinator.OldParts(ctx, u.store, x.path, head); err != nil {
			return nil, err
		}
		ops = append(ops, coordinator.Op{Path: x.path, Version: x.version, Write: true, Data: head})
	}
	if requests := u.requests(to, v); len(requests) > 0 {
		op, err := (&Reader{u.store, u.keys}).queue(ctx, to.Path, requests)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return old, u.store.Commit(ctx, ops...)
}

// requests are those for the hooks of a server's roles.
func (u *update) requests(to *contract.Server, v *standing) []coordinator.Request {
	asked := v.linked
	for _, c := range v.changes {
		if c.Effect == EffectHook || c.Effect == EffectAgain {
			asked = append(asked, c.Role)
		}
	}
	var all []coordinator.Request
	for _, r := range to.Roles {
		if !slices.Contains(asked, r.Name) {
			continue
		}
		number := v.incarnation.Number
		id := sha256.Sum256(fmt.Appendf(nil, "hotc update 1\n%d\n%s\n%s\n%d", u.record.Updates, u.digest, to.Path.Role(r.Name), number))
		all = append(all, coordinator.Request{ID: hex.EncodeToString(id[:13]), Kind: coordinator.Hook, Name: contract.HookUpdate, Role: r.Name,
			Incarnation: number, Change: r.Definition(), Since: u.now.UTC()})
	}
	return all
}

func (u *update) dropParts(ctx context.Context, server contract.ServerPath, old map[coordinator.Path][]string) error {
	for _, path := range []coordinator.Path{u.d.ServerPlan(server), u.d.Keys(server)} {
		if err := coordinator.DropParts(ctx, u.store, path, old[path]); err != nil {
			return err
		}
	}
	return nil
}
