package deploytest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

var (
	WebAgain  = Script("echo web again\n")
	webUpdate = Script("echo web is updated\n")
)

// WithUpdate is the plan whose role app.web has the update hook and another source.
func WithUpdate(changes ...func(*contract.Plan)) *contract.Plan {
	p := ThreeTier()
	web := &p.Servers[1].Roles[0]
	web.Source, web.Files = json.RawMessage(`{"file":"`+WebAgain+`"}`), []string{WebAgain}
	web.Hooks = []contract.Task{{Name: contract.HookUpdate, At: "site.yaml:17:9", Source: json.RawMessage(`{"file":"` + webUpdate + `"}`), Files: []string{webUpdate}}}
	p.Files = append(p.Files[:1], contract.File{Digest: WebAgain, Size: 15, Name: "web.sh"}, contract.File{Digest: webUpdate, Size: 20, Name: "update.sh"})
	for _, change := range changes {
		change(p)
	}
	return p
}

// Stands makes a server's agent report the status of its one role.
func Stands(t *testing.T, m *member.Session, role string, status protocol.RoleStatus) {
	t.Helper()
	err := m.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseRunning, Roles: []protocol.RoleState{{Name: role, Status: status}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// Between does something once, before a certain commit.
type Between struct {
	store.Session
	When func([]store.Op) bool
	Do   func()
}

func (s *Between) Commit(ctx context.Context, ops ...store.Op) error {
	if s.Do != nil && s.When(ops) {
		do := s.Do
		s.Do = nil
		do()
	}
	return s.Session.Commit(ctx, ops...)
}
