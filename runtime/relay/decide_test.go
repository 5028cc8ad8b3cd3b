package relay

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// site is a plan with a database, of which Heat reads an output and waits for one role, and
// a group that scales.
func site() *contract.Plan {
	role := func(name string, outputs ...contract.Output) contract.Role {
		return contract.Role{Name: name, Driver: "script", Source: json.RawMessage(`{"text":"true"}`), Outputs: outputs}
	}
	mysql := role("mysql", contract.Output{Name: "endpoint", Cell: "db.mysql:endpoint", Heat: true, Attribute: "url"}, contract.Output{Name: "own", Cell: "db.mysql:own"})
	mysql.Signals = []contract.Signal{{Handle: "hotc_done_db.mysql", ID: "db", Outputs: []string{"own"}}}
	p := &contract.Plan{Format: contract.Format, Signal: contract.RelaySignals,
		Servers: []contract.Server{{Path: "db", Roles: []contract.Role{mysql, role("backup")}}}}
	for i := range 2 {
		p.Servers = append(p.Servers, contract.Server{Path: contract.ServerPath(fmt.Sprintf("g/%d", i)),
			Slot: &contract.Slot{Group: "g", Number: i, Shared: "g/*"}, Roles: []contract.Role{role("join")}})
	}
	return p
}

// ran is a server whose roles stand so: "mysql=done backup=failed".
func ran(p *contract.Plan, path contract.ServerPath, instance, roles string) relay.Server {
	s := relay.Server{Instance: instance}
	i := slices.IndexFunc(p.Servers, func(x contract.Server) bool { return x.Path == path })
	for n, word := range strings.Fields(roles) {
		name, status, _ := strings.Cut(word, "=")
		at := slices.IndexFunc(p.Servers[i].Roles, func(r contract.Role) bool { return r.Name == name })
		x := protocol.RoleState{Name: name, Status: protocol.RoleStatus(status), Ended: noon.Add(time.Duration(n) * time.Second), Made: p.Servers[i].Roles[at].Made()}
		switch status {
		case "failed":
			x.Cause = &protocol.Cause{Role: path.Role(name), Reason: "exit status 3", At: "site.yaml:5:9"}
		case "old":
			x.Status, x.Made = protocol.RoleDone, "of another plan"
		case "by-hand":
			x.Status, x.Made, x.ByHand = protocol.RoleDone, "", true
		case "updating", "not-updated":
			x.Status, x.Update = protocol.RoleDone, &protocol.UpdateState{Status: protocol.RoleRunning}
			if status == "not-updated" {
				x.Update.Status, x.Update.Cause = protocol.RoleFailed, &protocol.Cause{Role: path.Role(name), Reason: "exit status 4"}
			}
		}
		s.State.Roles = append(s.State.Roles, x)
	}
	return s
}

func TestDecide(t *testing.T) {
	type servers = map[contract.ServerPath]relay.Server
	p := site()
	db := func(roles string) servers { return servers{"db": ran(p, "db", "id-1", roles)} }
	named := []contract.HeatServer{{Server: "db", ID: "id-1"}}
	group := []contract.HeatServer{{Server: "g/*", ID: "m-2"}, {Server: "g/*", ID: "m-1"}}
	whole, mysql := contract.HeatWaitAbout{Wait: "hotc_done"}, contract.HeatWaitAbout{Wait: "hotc_done_db.mysql", Role: "mysql"}
	for name, c := range map[string]struct {
		about   contract.HeatWaitAbout
		named   []contract.HeatServer
		servers servers
		want    protocol.HeatWaitState
		reason  string
		values  int
	}{
		"nothing was ever there":                     {about: whole, want: protocol.HeatDone},
		"nobody has come":                            {whole, named, nil, protocol.HeatWaits, "its agent has not joined", 0},
		"a machine that is not there yet":            {whole, []contract.HeatServer{{Server: "db"}}, servers{"db": {}}, protocol.HeatWaits, "its agent has not joined", 0},
		"another machine, done":                      {whole, named, servers{"db": ran(p, "db", "id-0", "mysql=done backup=done")}, protocol.HeatWaits, "its agent has not joined", 0},
		"another machine, failed":                    {whole, named, servers{"db": ran(p, "db", "id-0", "mysql=failed")}, protocol.HeatWaits, "its agent has not joined", 0},
		"a server that no plan has":                  {whole, []contract.HeatServer{{Server: "new", ID: "x"}}, nil, protocol.HeatWaits, "not in the applied plan", 0},
		"the machine has come":                       {whole, named, db(""), protocol.HeatWaits, "db.mysql: pending", 0},
		"a role runs":                                {whole, named, db("mysql=done backup=running"), protocol.HeatWaits, "db.backup: running", 0},
		"all are done":                               {whole, named, db("mysql=done backup=done"), protocol.HeatDone, "all roles are done", 1},
		"done by hand":                               {whole, named, db("mysql=done backup=by-hand"), protocol.HeatDone, "", 1},
		"done as another plan had it":                {whole, named, db("mysql=old backup=done"), protocol.HeatWaits, "to be updated", 0},
		"the update hook runs":                       {whole, named, db("mysql=updating backup=done"), protocol.HeatWaits, "to be updated", 0},
		"the update hook failed":                     {whole, named, db("mysql=not-updated backup=done"), protocol.HeatFailed, "the update hook failed: db.mysql: exit status 4", 0},
		"one failed, one runs":                       {whole, named, db("mysql=failed backup=running"), protocol.HeatFailed, "db.mysql: exit status 3 (site.yaml:5:9)", 0},
		"the first failure is told":                  {whole, named, db("backup=failed mysql=failed"), protocol.HeatFailed, "db.backup:", 0},
		"one role, and the other runs":               {mysql, named, db("mysql=done backup=running"), protocol.HeatDone, "role mysql is done", 1},
		"one role, and the other failed":             {mysql, named, db("mysql=done backup=failed"), protocol.HeatDone, "", 1},
		"one role failed":                            {mysql, named, db("mysql=failed"), protocol.HeatFailed, "db.mysql: exit status 3", 0},
		"one role, since agents tell Heat":           {contract.HeatWaitAbout{Wait: "hotc_handle_db.mysql", Role: "mysql"}, named, db("mysql=done"), protocol.HeatDone, "role mysql is done", 1},
		"one role, which no plan tells of":           {contract.HeatWaitAbout{Wait: "hotc_done_db.backup", Role: "backup"}, named, db("mysql=done backup=done"), protocol.HeatWaits, "waiting for an update of the stack", 0},
		"one role, which no plan has":                {contract.HeatWaitAbout{Wait: "hotc_done_db.gone", Role: "gone"}, named, db("mysql=done backup=done"), protocol.HeatWaits, "waiting for an update of the stack", 0},
		"one role failed, which no plan tells of":    {contract.HeatWaitAbout{Wait: "hotc_done_db.backup", Role: "backup"}, named, db("mysql=done backup=failed"), protocol.HeatFailed, "db.backup", 0},
		"one role, of servers without it":            {mysql, group, servers{"g/0": ran(p, "g/0", "m-1", ""), "g/1": ran(p, "g/1", "m-2", "")}, protocol.HeatDone, "", 0},
		"members, whichever slots they have":         {whole, group, servers{"g/1": ran(p, "g/1", "m-1", "join=done"), "g/0": ran(p, "g/0", "m-2", "join=done")}, protocol.HeatDone, "", 0},
		"a member has gone, and its slot failed":     {whole, group[:1], servers{"g/1": ran(p, "g/1", "m-1", "join=failed"), "g/0": ran(p, "g/0", "m-2", "join=done")}, protocol.HeatDone, "", 0},
		"a member that has no slot yet":              {whole, group, servers{"g/0": ran(p, "g/0", "m-2", "join=done")}, protocol.HeatWaits, "server g/* (m-1)", 0},
		"what it wrote is forged":                    {whole, named, servers{"db": {Instance: "id-1", Unreadable: "not as server db wrote it"}}, protocol.HeatWaits, "not as server db wrote it", 0},
		"a failure is not waited out by one to come": {whole, append(slices.Clone(group), named...), db("mysql=failed"), protocol.HeatFailed, "db.mysql", 0},
	} {
		got := decide(contract.HeatWait{About: c.about, Servers: c.named}, p, c.servers, nil)
		if got.state != c.want || !strings.Contains(got.reason, c.reason) || len(got.values) != c.values {
			t.Errorf("%s: %+v, want %s: %s with %d values", name, got, c.want, c.reason, c.values)
		}
	}
	// An output that is new in the plan gets no value where the role has no hook to run for it.
	before := db("mysql=done backup=done")
	backup := &p.Servers[0].Roles[1]
	backup.Outputs = append(backup.Outputs, contract.Output{Name: "more", Cell: "db.backup:more"})
	for _, hooked := range []bool{false, true} {
		want := protocol.HeatDone
		if hooked {
			backup.Hooks, want = []contract.Task{{Name: contract.HookUpdate}}, protocol.HeatWaits
		}
		if got := decide(contract.HeatWait{About: whole, Servers: named}, p, before, nil); got.state != want {
			t.Errorf("an output is new, with a hook %v: %+v, want %s", hooked, got, want)
		}
	}
	got := decide(contract.HeatWait{About: mysql, Servers: named}, p, db("mysql=done"), nil)
	if len(got.values) != 1 || got.values[0].server != "db" || got.values[0].name != "own" {
		t.Errorf("what a resource reads: %+v", got.values)
	}
}

// What stands in a software deployment is Heat's, or anybody's in the project: what is not
// the compiler's is not taken for a wait.
func TestWaitsOf(t *testing.T) {
	of := func(id, about, servers string) heat.Deployment {
		return heat.Deployment{ID: id, Inputs: map[string]json.RawMessage{"hotc": json.RawMessage(about), "servers": json.RawMessage(servers)}}
	}
	deep := strings.Repeat("[", 1000) + `{"server":"x","id":"y"}` + strings.Repeat("]", 1000)
	got := waitsOf("blog", []heat.Deployment{
		of("1", `{"format":1,"deployment":"blog","wait":"hotc_done"}`, `[{"server":"db","id":"a"},null,[[{"server":"g/0","id":"b"}],[]],{"server":7}]`),
		of("2", `{"format":2,"deployment":"blog","wait":"hotc_done"}`, `[]`),
		of("3", `{"format":1,"deployment":"shop","wait":"hotc_done"}`, `[]`),
		of("4", `"text"`, `[]`),
		of("5", `{"format":1,"deployment":"blog","wait":"hotc_done"}`, `{`),
		of("6", `{"format":1,"deployment":"blog","wait":"z"}`, deep),
		{ID: "7"},
	})
	if len(got) != 2 || got[0].ID != "1" || got[1].ID != "6" || len(got[1].Servers) != 0 {
		t.Fatalf("%+v", got)
	}
	want := contract.HeatServers{{Server: "db", ID: "a"}, {Server: "g/0", ID: "b"}, {}}
	if !reflect.DeepEqual(got[0].Servers, want) {
		t.Errorf("servers: %+v", got[0].Servers)
	}
}
