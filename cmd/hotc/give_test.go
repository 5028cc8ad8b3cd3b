package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// A role that waits for a secret which no operator has given is led to the command that
// gives it.
func TestWhySecretIsNotGiven(t *testing.T) {
	const cell = "/operator:db_password"
	p := &contract.Plan{Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "mysql"}}}}, Secrets: []contract.Secret{{Name: "db_password", Cell: cell}}}
	snapshot := func(given time.Time) *deploy.Snapshot {
		return &deploy.Snapshot{Ready: true, Given: []deploy.Supplied{{Since: given}}, Servers: []deploy.ServerSnapshot{{Path: "db", Alive: true,
			Incarnation: protocol.IncarnationRecord{Number: 1},
			State:       protocol.ServerState{Roles: []protocol.RoleState{running("mysql", wait(cell, "password", "site.yaml:9:9"))}}}}}
	}
	tell := func(given time.Time) string {
		v := status.New(p, snapshot(given), hot.DecidedSize)
		at := (&target{stack: "blog", url: "zk://zk1/hotc"}).session(nil, "blog", protocol.Secret{})
		roles, err := operate.Questioned(v, "")
		if err != nil {
			t.Fatal(err)
		}
		i := status.Explain(v, roles)
		at.Advise(i)
		return explanationText(at, i, noon)
	}
	for _, want := range []string{
		"db.mysql waits for /operator:db_password (input password, site.yaml:9:9)",
		"the secret parameter db_password is not supplied yet, or not since its reader was replaced; to supply it: hotc apply DIR blog --coordinator zk://zk1/hotc --secret-param db_password=FILE\n",
		"Root causes: the secret parameter db_password is not supplied.",
	} {
		if got := tell(time.Time{}); !strings.Contains(got, want) {
			t.Errorf("it says\n%s\nwant %q", got, want)
		}
	}
	if got := tell(noon); !strings.Contains(got, "db.mysql has just received what it waited for") {
		t.Errorf("of one that is given it says\n%s", got)
	}
}
