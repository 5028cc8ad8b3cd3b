package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/runtime/up"
)

// A parameter of the root reaches roles in nested stacks and groups, each in the way that it has;
// what the plan changes names it, too. Who has not run yet, or is built anew, runs with the newest.
func TestWhomAParameterReaches(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/script/changes-nested.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for signal, want := range map[contract.Signalling]string{
		contract.RelaySignals: "web/1.app [source parameter lvl] hook\nweb/0.app [parameter lvl] again\nlb.proxy [parameter token] kept\nlb.proxy [parameter salt] hook\ntier/inner/db.r [parameter lvl] not reached\ntier/inner/db.again [parameter lvl] again\n",
		contract.AgentsSignal: "web/1.app [source parameter lvl] hook\nweb/0.app [parameter lvl] kept\nlb.proxy [parameter token parameter salt] kept\ntier/inner/db.r [parameter lvl] kept\ntier/inner/db.again [parameter lvl] kept\n",
	} {
		var diags source.Diagnostics
		r := emit.Compile(emit.Options{Template: filepath.Join(dir, "site.yaml"), Limits: emit.DefaultLimits, Drivers: drivers(), Version: version, Coordinator: "zk://h/hotc", Signal: signal}, &diags)
		if r == nil || r.Built == nil {
			t.Fatal(diags.All())
		}
		p := r.Built.Plan
		snapshot := deploy.Snapshot{Servers: make([]deploy.ServerSnapshot, len(p.Servers))}
		for i, s := range p.Servers {
			snapshot.Servers[i] = deploy.ServerSnapshot{Path: s.Path}
			if s.Path == "web/2" {
				continue // it was never made
			}
			snapshot.Servers[i].Incarnation.Number = 1
			for _, role := range s.Roles {
				snapshot.Servers[i].State.Roles = append(snapshot.Servers[i].State.Roles, protocol.RoleState{Name: role.Name, Status: protocol.RoleDone})
			}
		}
		v := newUpView(t.Context(), streams{}, &target{}, p, true)
		v.compiled = r
		v.Known(status.New(p, &snapshot, func(json.RawMessage) int { return 2 }))
		plans := []deploy.RoleChange{{Server: "web/1", Role: "app", What: []string{"source"}, Effect: deploy.EffectHook}}
		is := func(want string, c up.Changes) {
			t.Helper()
			got := ""
			for _, x := range v.roles(c) {
				got += fmt.Sprintln(x.Key(), x.What, x.Effect)
			}
			if got != want {
				t.Errorf("%s:\n%swant\n%s", signal, got, want)
			}
		}
		is(want, up.Changes{Given: []string{"lvl", "token", "salt", "level", "more"}, Replaced: []string{"asg"}, Roles: plans})
		if !slices.Equal(plans[0].What, []string{"source"}) {
			t.Errorf("the plan's changes are others now: %v", plans)
		}
		// What decides how many members a group has reaches who follows the group, and so do members.
		size, leaves := "lb.proxy [parameter size] hook\n", "lb.proxy [web/1 leaves web] hook\n"
		if signal == contract.AgentsSignal { // agents see who joins; nobody tells them who leaves
			size, leaves = "", ""
		}
		is(size, up.Changes{Given: []string{"size"}})
		is(leaves, up.Changes{Deleted: []string{"web/1"}})
		is("lb.proxy [web/2 joins web] hook\n", up.Changes{Added: []string{"web/2", "webs/1"}})
		is("lb.proxy [timeout web/2 joins web] hook\n", up.Changes{Added: []string{"web/2"},
			Roles: []deploy.RoleChange{{Server: "lb", Role: "proxy", What: []string{"timeout"}, Effect: deploy.EffectNone}}})
		shown := v.preview(up.Changes{Added: []string{"web/2"}})
		if len(shown.Runs) != 2 || shown.Runs[0].Role != "web/2.app" || shown.Runs[1].Role != "lb.proxy" || shown.Runs[1].Each || !slices.Equal(shown.Runs[1].After, []contract.RoleKey{"web/2.app"}) {
			t.Errorf("%s: when web/2 joins, %+v runs", signal, shown.Runs)
		}
	}
}
