package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A live plan is changed in this order, and an interrupted change is resumed where it stopped
// (docs/coordination.md, "Changing a live plan"):
//
//  1. the deployment's record names the new plan
//  2. new files and nodes, and rights on those that servers use now; roles that the
//     change reaches on several paths are told which cells to wait for
//  3. for each server, in one commit, its part of the plan and its keys, if it is
//     still the same machine, and none of its changed roles has started since
//  4. new servers may join
//  5. rights, nodes and servers that the plan does not have are removed
//  6. the whole plan and the record
//  7. files that are no longer used are deleted

// ErrOvertaken says that another apply has begun while this one changed the plan.
var ErrOvertaken = errors.New("another apply of the deployment has started meanwhile")

// Effect is what a change of a role leads to.
type Effect string

// The effects of a change.
const (
	EffectHook  Effect = "hook"  // the role has run: its agent runs the update hook
	EffectAgain Effect = "again" // it has run, is idempotent and has no such hook: it runs again
	EffectRun   Effect = "run"   // it has not run: it will run as changed
	EffectRetry Effect = "retry" // it has failed: it runs as changed when it is retried
	EffectNone  Effect = "none"  // nothing that has run is out of date
	// EffectNoValue: outputs added to a role that has run, or is running, have no value until it
	// runs again.
	EffectNoValue Effect = "no value"
	EffectRemoved Effect = "removed" // its server no longer has it
	// EffectUnreached: the role keeps the external value with which it ran, though there is a new
	// one.
	EffectUnreached Effect = "not reached"
	// EffectKept: the value is in its server's user-data, which is not updated.
	EffectKept Effect = "kept"
)

// RoleChange is a role that another plan changes.
type RoleChange struct {
	Server contract.ServerPath
	Role   string
	What   []string // the parts that change: "source", "input level", …
	Effect Effect
	// Joins says that nothing changes but that members join a group: it runs when they have.
	Joins bool
}

// Key names the role.
func (c *RoleChange) Key() contract.RoleKey { return c.Server.Role(c.Role) }

// NoUpdateHookError says that another plan changes the source, files or inputs of roles that have
// run, or are running, and that have no hook to bring them up to date.
type NoUpdateHookError struct{ Roles []RoleChange }

// Lines describe the changes of each role.
func (e *NoUpdateHookError) Lines() []string {
	return lists.Map(e.Roles, func(c RoleChange) string {
		return fmt.Sprintf("role %s: %s changed", c.Key(), strings.Join(c.What, ", "))
	})
}

func (e *NoUpdateHookError) Error() string {
	return "these roles have run, have no hook update, and are not idempotent: " + strings.Join(e.Lines(), "; ")
}

// RunningError says that a change has to wait for running roles.
type RunningError struct{ Lines []string }

func (e *RunningError) Error() string { return strings.Join(e.Lines, "; ") }

// update is the change of a live plan.
type update struct {
	store    store.Session
	d        protocol.Deployment
	tokens   tokens
	root     *store.Principal
	keys     *keyring
	live, to *contract.Plan
	planJSON []byte
	given    map[contract.CellName]int // Publication.After
	lock     *Lock
	files    Files
	digest   string // of planJSON
	now      time.Time
	laid     []node                    // the files of to
	record   protocol.DeploymentRecord // as it has to be during the change
	version  store.Version             // of the record
	found    protocol.DeploymentRecord // as it was found
	missing  map[store.Path]bool       // nodes of the live plan that were deleted
	newer    newer                     // what servers have seen that is not there
	// resumed says that an earlier change, perhaps to another plan, was interrupted.
	resumed          bool
	leaving          []RoleChange        // of removed servers
	nodes, liveNodes map[store.Path]node // nodesOf to, and of live
	liveKeys         *keyring
}

// newUpdate reads the current state. *ChangedPlanError.
func newUpdate(ctx context.Context, s store.Session, w *Publication, t tokens, digest string) (*update, error) {
	d := w.Deployment
	u := &update{store: s, d: d, tokens: t, root: w.rootPrincipal(), to: w.Plan, planJSON: w.JSON, given: w.After, lock: w.Lock, files: w.Files, digest: digest, now: w.Now}
	if err := u.begin(ctx); err != nil {
		return nil, err
	}
	o := &owner{store: s, keys: u.keys}
	if err := o.node(ctx, u.keys.node(d.Plan(), nil, ofPlan, "")); err != nil {
		return nil, operatorError(err)
	}
	text, _, err := protocol.ReadParts(ctx, s, d.Plan())
	if err != nil {
		return nil, operatorError(err)
	}
	if !protocol.HasDigest(text, u.found.Plan) {
		return nil, ErrOvertaken
	}
	if u.live, err = protocol.ParsePlan(text); err != nil {
		return nil, err
	}
	if lines := lines(differences(u.live, w.Plan), func(d difference) bool { return !d.inPlace }); len(lines) > 0 {
		return nil, &ChangedPlanError{Differences: lines}
	}
	u.resumed = u.found.Updating != ""
	for _, s := range u.live.Servers { // removed servers have tokens, too
		if s.Slot != nil && u.tokens.slots[s.Path] == nil {
			u.tokens.slots[s.Path] = s.Slot
		}
	}
	return u, u.changeNodes()
}

func (u *update) reader() *Reader { return &Reader{u.store, u.keys} }

// begin computes the record of the change, without writing it.
func (u *update) begin(ctx context.Context) error {
	node, err := u.store.Read(ctx, u.d.Root())
	if err != nil {
		return err
	}
	if u.found, err = openRecord(u.d, u.tokens.secret, node.Data); err != nil {
		return err
	}
	u.record, u.version = u.found, node.Version
	keys, err := newKeyring(u.tokens, u.found, u.root)
	if err == nil {
		u.newer, err = readNewer(ctx, u.store, keys, u.to)
	}
	if err != nil {
		return err
	}
	if u.record.Updating != u.digest || u.newer.someWait() {
		u.record.Updating = u.digest
		u.record.Updates++
		u.record.Counter = u.newer.next(u.found.Counter)
	}
	if u.keys, err = newKeyring(u.tokens, u.record, u.root); err != nil {
		return err
	}
	if u.live != nil { // it was begun before
		return u.changeNodes()
	}
	return nil
}

// newer are the states of servers that have seen records of the operator's, newer than those which are
// there: an older state of the coordinator was restored.
type newer map[contract.ServerPath]protocol.ServerState

func readNewer(ctx context.Context, s store.Session, keys *keyring, p *contract.Plan) (newer, error) {
	states := make([]protocol.ServerState, len(p.Servers))
	err := store.Each(ctx, len(states), func(ctx context.Context, i int) error {
		node, err := s.Read(ctx, keys.deployment.State(p.Servers[i].Path))
		if errors.Is(err, store.ErrNotFound) { // the change adds the server
			return nil
		}
		states[i], _ = keys.state(node.Data, p.Servers[i].Path) // one that cannot be read says nothing
		return err
	})
	all := newer{}
	for i, state := range states {
		if len(state.Newer) > 0 {
			all[p.Servers[i].Path] = state
		}
	}
	return all, err
}

// next is the number of the records that replace those with this number.
func (n newer) next(there int64) int64 {
	next := there + 1
	for _, kind := range numbered {
		next = max(next, protocol.NextNumber(there, kind, slices.Collect(maps.Values(n))...))
	}
	return next
}

// someWait reports whether any server waits for newer records.
func (n newer) someWait() bool {
	for _, state := range n {
		for _, kind := range numbered {
			if state.Newer[kind] > 0 {
				return true
			}
		}
	}
	return false
}

// numbered are the kinds of records that a change of the plan numbers.
var numbered = []string{protocol.KindIdentity, protocol.KindPlan, protocol.KindKeys}

// waits reports whether a server has seen a record of a kind that is newer than the one with this number.
func (n newer) waits(s contract.ServerPath, kind string, number int64) bool {
	return protocol.NextNumber(number, kind, n[s]) > number+1
}

// after is the record when the change is complete.
func (u *update) after() protocol.DeploymentRecord {
	r := u.record
	r.Plan, r.Updating = u.digest, ""
	return r
}

// rehearse says what run would do, and refuses what it would refuse.
func (u *update) rehearse(ctx context.Context) ([]RoleChange, error) {
	found := make([]*serverChange, len(u.to.Servers))
	err := store.Each(ctx, len(u.to.Servers), func(ctx context.Context, i int) (err error) {
		found[i], err = u.look(ctx, &u.to.Servers[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var all, lacking []RoleChange
	var busy []string
	for _, s := range found {
		all = append(all, s.changes...)
		lacking = append(lacking, s.lacking...)
		busy = append(busy, s.busy...)
	}
	switch {
	case len(lacking) > 0:
		return all, &NoUpdateHookError{Roles: lacking}
	case len(busy) > 0:
		return all, &RunningError{Lines: busy}
	}
	u.leaving, err = u.leave(ctx)
	return append(all, u.leaving...), err
}

// leave are the roles of removed servers that ever had a machine.
func (u *update) leave(ctx context.Context) (all []RoleChange, err error) {
	for _, s := range u.live.Servers {
		if slices.ContainsFunc(u.to.Servers, func(other contract.Server) bool { return other.Path == s.Path }) {
			continue
		}
		node, err := u.store.Read(ctx, u.d.Server(s.Path))
		if errors.Is(err, store.ErrNotFound) || err == nil && protocol.ParseIncarnation(node).Number == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, r := range s.Roles {
			all = append(all, RoleChange{Server: s.Path, Role: r.Name, What: []string{"removed with its server"}, Effect: EffectRemoved})
		}
	}
	return all, nil
}

// run makes the change.
func (u *update) run(ctx context.Context) ([]RoleChange, error) {
	expected, err := u.rehearse(ctx)
	if err != nil {
		return nil, err
	}
	announce := func(ctx context.Context) error { return u.announce(ctx, expected) }
	if err := store.InTurn(ctx, u.mark, u.layFiles, u.grow, announce); err != nil {
		return nil, err
	}
	changes := make([][]RoleChange, len(u.to.Servers))
	keep := make([][]string, len(u.to.Servers))
	err = store.Each(ctx, len(u.to.Servers), func(ctx context.Context, i int) (err error) {
		changes[i], keep[i], err = u.server(ctx, &u.to.Servers[i])
		return err
	})
	if err == nil {
		err = store.InTurn(ctx, u.tellRelays, u.welcome, u.shrink)
	}
	if err != nil {
		return nil, err
	}
	old, err := u.unused(ctx, slices.Concat(keep...))
	if err == nil {
		err = u.finish(ctx)
	}
	if err != nil {
		return nil, err
	}
	return append(slices.Concat(changes...), u.leaving...), u.clean(ctx, old)
}

// mark writes the record of the change.
func (u *update) mark(ctx context.Context) error {
	for {
		if u.lock != nil {
			if err := u.lock.Check(ctx); err != nil {
				return err
			}
		}
		if u.record == u.found {
			return nil
		}
		data, err := u.keys.deploymentRecord(u.record)
		if err != nil {
			return err
		}
		err = u.store.Commit(ctx, append(u.lock.guards(), store.Op{Path: u.d.Root(), Version: u.version, Write: true, Data: data})...)
		if err == nil {
			u.found = u.record
			u.version++
			return nil
		}
		if !errors.Is(err, store.ErrVersion) {
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
}

// layFiles creates the new files, and grants access to their users. Reader sets found for that
// become part of the servers' keys.
func (u *update) layFiles(ctx context.Context) error {
	nodes, err := layFiles(u.keys, u.to, u.files)
	if err != nil {
		return err
	}
	u.laid = nodes
	if err := u.layAgain(ctx); err != nil {
		return err
	}
	before, now := usersOf(u.live), usersOf(u.to)
	o := &owner{store: u.store, keys: u.keys}
	return store.Each(ctx, len(nodes), func(ctx context.Context, i int) error {
		n := nodes[i]
		digest, _, _ := strings.Cut(strings.TrimPrefix(string(n.Path), string(u.d.Files())+"/"), "/")
		if slices.Equal(before[digest], now[digest]) {
			return nil
		}
		err := store.Allow(ctx, u.store, n.Path, n.Grants...)
		if err == nil {
			err = o.rights(ctx, n)
		}
		if errors.Is(err, store.ErrNotFound) {
			return nil // the change before deletes it just now: see layAgain
		}
		return err
	})
}

// layAgain creates missing files. The previous change may have been deleting unused files just as
// this one began to use them again.
func (u *update) layAgain(ctx context.Context) error {
	gone, err := u.absent(ctx, u.laid)
	if err != nil {
		return err
	}
	return u.store.Create(ctx, bare(gone))
}

// absent are those nodes that do not exist.
func (u *update) absent(ctx context.Context, nodes []node) ([]node, error) {
	return store.Those(ctx, nodes, func(ctx context.Context, n node) (bool, error) {
		_, exists, err := u.store.Stat(ctx, n.Path)
		return !exists, err
	})
}

// check returns ErrOvertaken if another apply has begun.
func (u *update) check(ctx context.Context) error {
	version, _, err := u.store.Stat(ctx, u.d.Root())
	if err == nil && version != u.version {
		err = ErrOvertaken
	}
	return err
}

// finish writes the whole plan and the record.
func (u *update) finish(ctx context.Context) error {
	node, err := u.store.Read(ctx, u.d.Plan())
	if err != nil {
		return err
	}
	write, clean, err := u.replace(ctx, u.d.Plan(), node.Version, u.planJSON, ofPlan, "")
	if err == nil {
		err = u.layAgain(ctx)
	}
	if err != nil {
		return err
	}
	if u.to.Signal == contract.AgentsSignal && u.live.Signal != u.to.Signal {
		if u.record.Handles, err = u.store.Written(ctx, u.d.Root()); err != nil { // when the change began
			return err
		}
	}
	if err := u.end(ctx, write); err != nil {
		return err
	}
	return clean(ctx)
}

// end writes the final record, with further writes. If it is there already, only the answer was
// lost.
func (u *update) end(ctx context.Context, with ...store.Op) error {
	data, err := u.keys.deploymentRecord(u.after())
	if err != nil {
		return err
	}
	err = u.store.Commit(ctx, append(with, store.Op{Path: u.d.Root(), Version: u.version, Write: true, Data: data})...)
	if errors.Is(err, store.ErrVersion) {
		there, readErr := readRecord(ctx, u.store, u.d, u.tokens.secret)
		switch {
		case readErr != nil:
			err = readErr
		case there.Plan == u.digest && there.Updates == u.record.Updates:
			err = nil
		default:
			err = ErrOvertaken
		}
	}
	if err == nil {
		u.version++
	}
	return err
}

// replace is the write that replaces a node's text, and what cleans up after it (ReplaceParts).
func (u *update) replace(ctx context.Context, path store.Path, version store.Version, text []byte, c class, own contract.ServerPath) (store.Op, func(context.Context) error, error) {
	head, clean, err := protocol.ReplaceParts(ctx, u.store, path, u.record.Updates, text, u.keys.grants(c, own))
	return store.Op{Path: path, Version: version, Write: true, Data: head}, clean, err
}

// unused are files that only plans before the live one used: servers may still be about to read
// those of the live one.
func (u *update) unused(ctx context.Context, keep []string) ([]string, error) {
	names, err := u.store.Children(ctx, u.d.Files())
	if err != nil {
		return nil, err
	}
	used := lists.Set(keep)
	for _, f := range slices.Concat(u.live.Files, u.to.Files) {
		used[f.Digest] = true
	}
	return slices.DeleteFunc(names, func(name string) bool { return used[name] }), nil
}

// clean deletes files that were unused before this change, unless another change has begun since,
// which may use them.
func (u *update) clean(ctx context.Context, old []string) error {
	for _, name := range old {
		err := u.check(ctx)
		if errors.Is(err, ErrOvertaken) {
			return nil
		}
		if err == nil {
			err = u.store.DeleteTree(ctx, u.d.File(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
