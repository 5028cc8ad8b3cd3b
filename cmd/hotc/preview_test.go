package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/up"
)

// What `hotc up` asks about names who runs, with what Heat replaces, as long as each took last.
func TestUpShowsWhatAChangeSetsGoing(t *testing.T) {
	follows := func(cell contract.CellName) contract.Role {
		return contract.Role{Name: "r", Idempotent: true, Follows: []contract.Follow{{Cell: cell, Watch: true}}}
	}
	db := contract.Role{Name: "r", Outputs: []contract.Output{{Name: "x", Cell: "db.r:x"}}}
	p := &contract.Plan{Format: contract.Format, Servers: []contract.Server{{Path: "db", Facts: []contract.Fact{"address"}, Roles: []contract.Role{db}},
		{Path: "app", Roles: []contract.Role{follows("db.r:x")}}, {Path: "dns", Roles: []contract.Role{follows("db:address")}}}}
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var snapshot deploy.Snapshot
	for i, s := range p.Servers {
		ended := noon.Add(time.Duration(i+1) * 10 * time.Second)
		snapshot.Servers = append(snapshot.Servers, deploy.ServerSnapshot{Path: s.Path, Incarnation: protocol.IncarnationRecord{Number: 1},
			State: protocol.ServerState{Roles: []protocol.RoleState{{Name: "r", Status: protocol.RoleDone, Started: noon, Ended: ended}}}})
	}
	more := *p // web has no roles so far
	more.Servers = append(slices.Clone(p.Servers), contract.Server{Path: "web", Roles: []contract.Role{{Name: "r"}}})
	now := status.New(p, &snapshot, func(json.RawMessage) int { return 1 })
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	for want, c := range map[string]up.Changes{
		"    0s  db.r: its update hook runs, since source changes\n   10s  app.r: it runs again after db.r\nAbout 30s in all; critical path: db.r → app.r.": {
			Roles: []deploy.RoleChange{{Server: "db", Role: "r", What: []string{"source"}, Effect: deploy.EffectHook}}},
		"    0s  dns.r: it runs again\n   45s  db.r: it runs, since its machine is new\n   55s  app.r: it runs again after db.r\nAbout 1m15s in all; critical path: db → db.r → app.r.": {
			Replaced: []string{"db"}},
		"    0s  dns.r: it runs, since it has failed\nAbout 30s in all.": {Again: []contract.RoleKey{"dns.r"}},
		"Heat replaces web: it gets its first roles, and has no agent to run them (user_data_format) web.r: it is added: it runs for the first time In this order: 45s web.r: it runs, since its machine is new": {
			Replaced: []string{"web"}, Roles: []deploy.RoleChange{{Server: "web", Role: "r", What: []string{"added"}, Effect: deploy.EffectRun}}},
		"none known": {Heat: true},
	} {
		var out strings.Builder
		to := p
		if slices.Contains(c.Replaced, "web") {
			to = &more
		}
		v := newUpView(t.Context(), streams{err: &out, out: &out}, &target{stack: "blog"}, to, true)
		v.Known(now)
		if err := v.Confirm(c); err != nil || !strings.Contains(words(out.String()), words(want)) {
			t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
		}
	}
}

// Servers that Heat has not made, and does not make by this change, run nothing; those that it
// makes boot first, and take as long as others from the same place of the template.
func TestPreviewOfServersThatAreNotMade(t *testing.T) {
	role := func(at contract.Position) []contract.Role {
		return []contract.Role{{Name: "r", At: at, Idempotent: true, Follows: []contract.Follow{{Cell: "db.r:x", Watch: true}}}}
	}
	p := &contract.Plan{Format: contract.Format, Servers: []contract.Server{
		{Path: "db", Roles: []contract.Role{{Name: "r", Outputs: []contract.Output{{Name: "x", Cell: "db.r:x"}}}}},
		{Path: "web/0", Roles: role("site.yaml:5:1")},
		{Path: "web/1", If: []contract.Condition{{Decision: "n", Least: 2, Why: "fewer than 2"}}, Roles: role("site.yaml:5:1")}}}
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	state := protocol.ServerState{Roles: []protocol.RoleState{{Name: "r", Status: protocol.RoleDone, Started: noon, Ended: noon.Add(10 * time.Second)}}}
	state.Decided = map[string]json.RawMessage{"n": json.RawMessage("1")}
	var snapshot deploy.Snapshot
	for _, s := range p.Servers[:2] {
		snapshot.Servers = append(snapshot.Servers, deploy.ServerSnapshot{Path: s.Path, Incarnation: protocol.IncarnationRecord{Number: 1}, State: state})
	}
	snapshot.Servers = append(snapshot.Servers, deploy.ServerSnapshot{Path: "web/1"})
	now := status.New(p, &snapshot, func(v json.RawMessage) int { return int(v[0] - '0') })
	runs := func(decided map[string]value.Value) (all []string) {
		r := previewOf(p, now, []deploy.RoleChange{{Server: "db", Role: "r", Effect: deploy.EffectHook}}, nil, func(contract.ServerPath) bool { return false }, decided)
		for _, x := range r.Runs {
			all = append(all, fmt.Sprintf("%s %s %g-%g", x.Role, x.How, x.Start, x.End))
		}
		return all
	}
	if got, want := runs(nil), []string{"db.r hook 0-10", "web/0.r again 10-20"}; !slices.Equal(got, want) {
		t.Errorf("without web/1: %q, want %q", got, want)
	}
	if got, want := runs(map[string]value.Value{"n": nil}), []string{"db.r hook 0-10", "web/0.r again 10-20", "web/1.r run 45-55"}; !slices.Equal(got, want) {
		t.Errorf("with it: %q, want %q", got, want)
	}
	for n, want := range map[int64]int{1: 2, 2: 3} {
		if got := runs(map[string]value.Value{"n": n}); len(got) != want {
			t.Errorf("with %d members: %q", n, got)
		}
	}
	more := *p // members that a plan allows, and that Heat does not make
	more.Servers = append(slices.Clone(p.Servers), contract.Server{Path: "web/2", If: []contract.Condition{{Decision: "n", Least: 3}}, Roles: role("site.yaml:5:1")})
	p = &more
	if got := runs(nil); len(got) != 2 {
		t.Errorf("with a plan for more: %q", got)
	}
}
