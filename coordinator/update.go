package coordinator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/coordinator/plan"
)

// A live plan is changed in this order, and whoever makes the change again after it
// was interrupted goes on where it stopped (docs/coordination.md, "Changing a live
// plan"):
//
//  1. the deployment's record says what it is changed to
//  2. new files, and rights on those that other servers read now
//  3. for each server in one commit its part of the plan, its keys and the requests
//     for the hooks, while it is the machine that was looked at, and none of its
//     changed roles has started since
//  4. the whole plan and the record
//  5. what nobody reads any more is deleted

// ErrOvertaken says that another apply has begun while this one changed the plan.
var ErrOvertaken = errors.New("another apply of the deployment has begun meanwhile")

// Effect is what becomes of a change of a role.
type Effect string

// The effects of a change.
const (
	EffectHook  Effect = "hook"  // the role has run: its agent runs the hook update
	EffectRun   Effect = "run"   // it has not: it will run as changed
	EffectRetry Effect = "retry" // it has failed: it runs as changed when it is retried
	EffectNone  Effect = "none"  // nothing that has run is out of date
)

// RoleChange is a role that another plan changes.
type RoleChange struct {
	Server plan.ServerPath
	Role   string
	What   []string // the parts that change: "source", "input level", …
	Effect Effect
}

// Key names the role.
func (c *RoleChange) Key() plan.RoleKey { return plan.RoleKey(string(c.Server) + "." + c.Role) }

// NoUpdateHookError says that roles have run, or run now, whose source, files or inputs
// another plan changes, and which have no hook that would bring them up to date.
type NoUpdateHookError struct{ Roles []RoleChange }

func (e *NoUpdateHookError) Error() string {
	var lines []string
	for _, r := range e.Roles {
		lines = append(lines, fmt.Sprintf("role %s: %s changed", r.Key(), strings.Join(r.What, ", ")))
	}
	return "these roles have run, and have no hook update: " + strings.Join(lines, "; ")
}

// update is the change of a live plan.
type update struct {
	store    Store
	d        Deployment
	secret   Secret
	keys     *keyring
	live, to *plan.Plan
	planJSON []byte
	files    Files
	digest   string // of planJSON
	now      time.Time
	record   DeploymentRecord // as it is to be while the change lasts
	version  Version          // of the record
	found    DeploymentRecord // as it was found
}

// newUpdate looks at what is there. *ChangedPlanError.
func newUpdate(ctx context.Context, s Store, d Deployment, secret Secret, to *plan.Plan, planJSON []byte, files Files, now time.Time, digest string) (*update, error) {
	u := &update{store: s, d: d, secret: secret, to: to, planJSON: planJSON, files: files, digest: digest, now: now}
	if err := u.begin(ctx); err != nil {
		return nil, err
	}
	text, _, err := readParts(ctx, s, d.Plan())
	if err != nil {
		return nil, operatorError(err)
	}
	if !hasDigest(text, u.found.Plan) {
		return nil, ErrOvertaken
	}
	if u.live, err = parsePlan(text); err != nil {
		return nil, err
	}
	if lines := refusals(differences(u.live, to)); len(lines) > 0 {
		return nil, &ChangedPlanError{Differences: lines}
	}
	return u, nil
}

// begin works out the record of the change, without writing it.
func (u *update) begin(ctx context.Context) error {
	node, err := u.store.Read(ctx, u.d.Root())
	if err != nil {
		return err
	}
	if u.found, err = decode[DeploymentRecord](u.d.Root(), node.Data); err != nil {
		return err
	}
	u.record, u.version = u.found, node.Version
	if u.record.Updating != u.digest {
		u.record.Updating = u.digest
		u.record.Updates++
	}
	u.keys = newKeyring(u.secret, u.d, u.record)
	for _, s := range u.to.Servers {
		u.keys.server(s.Path, 0) // computed once, before many ask for it
	}
	return nil
}

// after is the record when the change is made.
func (u *update) after() DeploymentRecord {
	r := u.record
	r.Plan, r.Updating = u.digest, ""
	return r
}

// rehearse says what run would do, and refuses what it would refuse.
func (u *update) rehearse(ctx context.Context) ([]RoleChange, error) {
	found := make([]*standing, len(u.to.Servers))
	err := each(ctx, len(u.to.Servers), func(ctx context.Context, i int) (err error) {
		found[i], err = u.look(ctx, &u.to.Servers[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var all, lacking []RoleChange
	for _, s := range found {
		all = append(all, s.changes...)
		lacking = append(lacking, s.lacking...)
	}
	if len(lacking) > 0 {
		return all, &NoUpdateHookError{Roles: lacking}
	}
	return all, nil
}

// run makes the change.
func (u *update) run(ctx context.Context) ([]RoleChange, error) {
	if _, err := u.rehearse(ctx); err != nil {
		return nil, err
	}
	if err := u.mark(ctx); err != nil {
		return nil, err
	}
	if err := u.layFiles(ctx); err != nil {
		return nil, err
	}
	changes := make([][]RoleChange, len(u.to.Servers))
	keep := make([][]string, len(u.to.Servers))
	err := each(ctx, len(u.to.Servers), func(ctx context.Context, i int) (err error) {
		changes[i], keep[i], err = u.server(ctx, &u.to.Servers[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := u.finish(ctx); err != nil {
		return nil, err
	}
	return slices.Concat(changes...), u.clean(ctx, slices.Concat(keep...))
}

// mark writes the record of the change.
func (u *update) mark(ctx context.Context) error {
	for u.record != u.found {
		data, err := encode(u.record)
		if err != nil {
			return err
		}
		err = u.store.Commit(ctx, Op{Path: u.d.Root(), Version: u.version, Write: true, Data: data})
		if err == nil {
			u.found = u.record
			u.version++
			return nil
		}
		if !errors.Is(err, ErrVersion) {
			return err
		}
		before := u.found
		if err := u.begin(ctx); err != nil {
			return err
		}
		if before.Plan != u.found.Plan { // it was compared with another plan
			return ErrOvertaken
		}
	}
	return nil
}

// layFiles makes the files that are new, and lets all that use one now read it. What
// was found of readers' sets for that belongs to the servers' keys.
func (u *update) layFiles(ctx context.Context) error {
	nodes, err := layFiles(u.d, u.keys, u.to, u.files)
	if err == nil {
		err = u.store.Create(ctx, nodes)
	}
	if err != nil {
		return err
	}
	before, now := usersOf(u.live), usersOf(u.to)
	nodes = slices.DeleteFunc(nodes, func(n NewNode) bool {
		digest, _, _ := strings.Cut(strings.TrimPrefix(string(n.Path), string(u.d.Files())+"/"), "/")
		return slices.Equal(before[digest], now[digest])
	})
	return each(ctx, len(nodes), func(ctx context.Context, i int) error {
		return u.store.Allow(ctx, nodes[i].Path, nodes[i].Grants...)
	})
}

// standing is a server as it is, and what the change means for it.
type standing struct {
	planVersion, keysVersion, stateVersion Version
	incarnation                            fence
	keys                                   KeysRecord
	files                                  []string // that it used so far
	same                                   bool     // its part of the plan is as it is to be
	changes                                []RoleChange
	lacking                                []RoleChange // those that need a hook which is not there
	watched                                bool         // the change counts on roles that have not started
}

// look reads how a server stands.
func (u *update) look(ctx context.Context, to *plan.Server) (*standing, error) {
	slice, err := encode(to)
	if err != nil {
		return nil, err
	}
	text, version, err := readParts(ctx, u.store, u.d.ServerPlan(to.Path))
	if err != nil {
		return nil, err
	}
	v := &standing{planVersion: version, same: string(text) == string(slice)}
	var from plan.Server
	if err := json.Unmarshal(text, &from); err != nil {
		return nil, fmt.Errorf("read the plan of server %s: %w", to.Path, err)
	}
	for i := range from.Roles {
		v.files = append(v.files, from.Roles[i].AllFiles()...)
	}
	if v.same {
		return v, nil
	}
	if text, v.keysVersion, err = readParts(ctx, u.store, u.d.Keys(to.Path)); err == nil {
		v.keys, err = decode[KeysRecord](u.d.Keys(to.Path), text)
	}
	if err != nil {
		return nil, err
	}
	state, err := u.readState(ctx, to.Path, v)
	if err != nil {
		return nil, err
	}
	compare(from.Roles, to.Roles, func(r plan.Role) string { return r.Name }, func(_ string, a, b plan.Role) {
		v.role(to.Path, &a, &b, state)
	})
	return v, nil
}

// readState reads the server's incarnation and, of the same, how its roles stand.
func (u *update) readState(ctx context.Context, server plan.ServerPath, v *standing) (map[string]RoleStatus, error) {
	node, err := u.store.Read(ctx, u.d.Server(server))
	if err != nil {
		return nil, err
	}
	v.incarnation.version = node.Version
	if v.incarnation.record, err = decode[IncarnationRecord](u.d.Server(server), node.Data); err != nil {
		return nil, err
	}
	if node, err = u.store.Read(ctx, u.d.State(server)); err != nil {
		return nil, err
	}
	v.stateVersion = node.Version
	state, err := decode[ServerState](u.d.State(server), node.Data)
	if err != nil || state.Incarnation != v.incarnation.record.Number {
		return nil, err // of a machine that is the server no longer
	}
	statuses := map[string]RoleStatus{}
	for _, r := range state.Roles {
		statuses[r.Name] = r.Status
	}
	return statuses, nil
}

// role notes what the change means for a role.
func (v *standing) role(server plan.ServerPath, a, b *plan.Role, state map[string]RoleStatus) {
	_, what := roleDifferences(*a, *b)
	if len(what) == 0 {
		return
	}
	c := RoleChange{Server: server, Role: b.Name, What: what, Effect: EffectNone}
	if a.Definition() != b.Definition() {
		switch state[b.Name] {
		case RoleRunning, RoleDone:
			c.Effect = EffectHook
		case RoleFailed:
			c.Effect, v.watched = EffectRetry, true
		case RolePending, RoleSkipped, "":
			c.Effect, v.watched = EffectRun, true
		}
	}
	v.changes = append(v.changes, c)
	if c.Effect == EffectHook && plan.FindTask(b.Hooks, plan.HookUpdate) == nil {
		v.lacking = append(v.lacking, c)
	}
}

// server changes one server's part, and says which files it used until then.
func (u *update) server(ctx context.Context, to *plan.Server) (changes []RoleChange, keep []string, err error) {
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
		heads, err := u.commit(ctx, to, v)
		if err == nil {
			return changes, keep, u.dropParts(ctx, to.Path, heads)
		}
		if !errors.Is(err, ErrVersion) {
			return nil, nil, err
		}
		if err := u.check(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// commit writes a server's part, while everything is as it was looked at.
func (u *update) commit(ctx context.Context, to *plan.Server, v *standing) (heads map[Path][]byte, err error) {
	slice, err := encode(to)
	if err != nil {
		return nil, err
	}
	for id, password := range u.keys.members[to.Path] {
		if v.keys.Sets == nil {
			v.keys.Sets = map[string]string{}
		}
		v.keys.Sets[id] = password
	}
	keys, err := encode(v.keys)
	if err != nil {
		return nil, err
	}
	heads = map[Path][]byte{}
	ops := []Op{{Path: u.d.Root(), Version: u.version}, {Path: u.d.Server(to.Path), Version: v.incarnation.version}}
	if v.watched {
		ops = append(ops, Op{Path: u.d.State(to.Path), Version: v.stateVersion})
	}
	for _, x := range []struct {
		path    Path
		version Version
		text    []byte
	}{{u.d.ServerPlan(to.Path), v.planVersion, slice}, {u.d.Keys(to.Path), v.keysVersion, keys}} {
		head, parts := replaceParts(x.path, x.text, u.keys.own(to.Path, MayRead))
		if err := u.store.Create(ctx, parts); err != nil {
			return nil, err
		}
		heads[x.path] = head
		ops = append(ops, Op{Path: x.path, Version: x.version, Write: true, Data: head})
	}
	if requests := u.requests(to, v); len(requests) > 0 {
		op, err := queue(ctx, u.store, u.d, to.Path, requests)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return heads, u.store.Commit(ctx, ops...)
}

// requests are those for the hooks of a server's roles.
func (u *update) requests(to *plan.Server, v *standing) []Request {
	var all []Request
	for _, c := range v.changes {
		if c.Effect != EffectHook {
			continue
		}
		i := slices.IndexFunc(to.Roles, func(r plan.Role) bool { return r.Name == c.Role })
		number := v.incarnation.record.Number
		id := sha256.Sum256(fmt.Appendf(nil, "hotc update 1\n%d\n%s\n%s\n%d", u.record.Updates, u.digest, c.Key(), number))
		all = append(all, Request{ID: hex.EncodeToString(id[:13]), Kind: Hook, Name: plan.HookUpdate, Role: c.Role,
			Incarnation: number, Change: to.Roles[i].Definition(), Since: u.now.UTC()})
	}
	return all
}

func (u *update) dropParts(ctx context.Context, server plan.ServerPath, heads map[Path][]byte) error {
	for _, path := range []Path{u.d.ServerPlan(server), u.d.Keys(server)} {
		if err := dropParts(ctx, u.store, path, heads[path]); err != nil {
			return err
		}
	}
	return nil
}

// check says whether the change is still this one's to make.
func (u *update) check(ctx context.Context) error {
	version, _, err := u.store.Stat(ctx, u.d.Root())
	if err == nil && version != u.version {
		err = ErrOvertaken
	}
	return err
}

// finish writes the whole plan and the record. Where the answer was lost, the record
// is as it is to be.
func (u *update) finish(ctx context.Context) error {
	node, err := u.store.Read(ctx, u.d.Plan())
	if err != nil {
		return err
	}
	head, parts := replaceParts(u.d.Plan(), u.planJSON, []Grant{u.keys.operator})
	if err := u.store.Create(ctx, parts); err != nil {
		return err
	}
	data, err := encode(u.after())
	if err != nil {
		return err
	}
	err = u.store.Commit(ctx,
		Op{Path: u.d.Root(), Version: u.version, Write: true, Data: data},
		Op{Path: u.d.Plan(), Version: node.Version, Write: true, Data: head})
	if errors.Is(err, ErrVersion) {
		there, readErr := readRecord(ctx, u.store, u.d)
		switch {
		case readErr != nil:
			err = readErr
		case there.Plan == u.digest && there.Updates == u.record.Updates:
			err = nil
		default:
			err = ErrOvertaken
		}
	}
	if err != nil {
		return err
	}
	return dropParts(ctx, u.store, u.d.Plan(), head)
}

// clean deletes the files of plans before the last one: what servers used until now
// they may be about to read.
func (u *update) clean(ctx context.Context, keep []string) error {
	names, err := u.store.Children(ctx, u.d.Files())
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, digest := range keep {
		used[digest] = true
	}
	for _, p := range []*plan.Plan{u.live, u.to} {
		for _, f := range p.Files {
			used[f.Digest] = true
		}
	}
	for _, name := range names {
		if used[name] {
			continue
		}
		if err := u.store.DeleteTree(ctx, u.d.File(name)); err != nil {
			return err
		}
	}
	return nil
}
