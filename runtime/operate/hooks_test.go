package operate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// An agent may be away for a moment: its hook is waited for, and not refused or skipped. The hook
// of one that stays away is refused, or skipped where only some are to run; a machine that has left
// its group is not waited for.
func TestHooksWaitForAgentsThatReturn(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.ThreeTier()
	p.Servers[0].Roles[0].Hooks = []contract.Task{{Name: contract.HookDelete, Source: []byte(`{"text":"true"}`)}}
	b.Publish(t, p)
	deploytest.Stands(t, b.Agent(t, "db"), "mysql", protocol.RoleDone)
	o := &Operator{Session: b.Operator(t), Deployment: deploytest.Site, Secret: deploytest.Secret, Timeout: deploytest.Patience, Size: hot.DecidedSize}
	only := map[contract.RoleKey]bool{"db.mysql": true}
	for _, some := range []map[contract.RoleKey]bool{nil, only} {
		o.Away = 0
		v, err := o.Status(t.Context())
		if err != nil || v.ByPath["db"].Alive {
			t.Fatalf("%v, %+v", err, v.ByPath["db"])
		}
		h := &hooking{Operator: o, hook: contract.HookDelete, only: some}
		roles, err := h.present(t.Context(), v)
		if _, absent := errors.AsType[*AbsentError](err); absent == (some != nil) || len(roles) != 0 || len(h.result.Without) != len(some) {
			t.Errorf("an agent that stays away: %v, %v, without %v", roles, err, h.result.Without)
		}

		here := b.Session(t, "db")
		h = &hooking{Operator: o, hook: contract.HookDelete, only: some, say: func(text string) {
			if !strings.Contains(text, "agents that are not running: db") {
				t.Errorf("it says %q", text)
			}
			if err := here.Announce(t.Context(), deploytest.Site.Presence("db"), nil); err != nil {
				t.Error(err)
			}
		}}
		o.Away = time.Hour
		roles, err = h.present(t.Context(), v)
		if err != nil || len(roles) != 1 || roles[0].Key() != "db.mysql" || len(h.result.Without) != 0 {
			t.Errorf("an agent that comes back: %v, %v, without %v", roles, err, h.result.Without)
		}
		here.Close()

		v.ByPath["db"].Left = true
		h = &hooking{Operator: o, hook: contract.HookDelete, only: some}
		if roles, err := h.present(t.Context(), v); err != nil || len(roles) != 0 || len(h.result.Without) != 1 {
			t.Errorf("a machine that has left: %v, %v, without %v", roles, err, h.result.Without)
		}
	}
}

// A delete hook that is done does not run again, though its server's clock was set back since the
// machine was created.
func TestADeleteHookThatIsDoneStaysDone(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.ThreeTier()
	p.Servers[0].Roles[0].Hooks = []contract.Task{{Name: contract.HookDelete, Source: []byte(`{"text":"true"}`)}}
	b.Publish(t, p)
	agent := b.Agent(t, "db")
	deploytest.Stands(t, agent, "mysql", protocol.RoleDone)
	o := &Operator{Session: b.Operator(t), Deployment: deploytest.Site, Secret: deploytest.Secret, Timeout: deploytest.Patience, Size: hot.DecidedSize}
	v, err := o.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	role := v.Role("db", "mysql")
	request := NewRequest(protocol.Hook, role)
	request.Name = contract.HookDelete
	if err := o.Ask(t.Context(), v.Plan, "db", request); err != nil {
		t.Fatal(err)
	}
	err = agent.Answer(t.Context(), []protocol.Answer{{ID: request.ID, Kind: protocol.Hook, Role: "mysql", Name: contract.HookDelete,
		Status: protocol.AnswerDone, Ended: role.Server.Incarnation.Since.Add(-time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	h := &hooking{Operator: o, plan: v.Plan, hook: contract.HookDelete}
	if _, final, err := h.earlier(t.Context(), role); err != nil || final.ID != request.ID {
		t.Errorf("%+v, %v", final, err)
	}
}
