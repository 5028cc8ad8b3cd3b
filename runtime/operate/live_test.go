package operate_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func TestMain(m *testing.M) { deploytest.Main(m) }

// grouped is the three-tier site, whose app is a member of a group that lb follows.
func grouped() *contract.Plan {
	p := deploytest.ThreeTier()
	lb := &p.Servers[2].Roles[0]
	lb.Idempotent = true
	lb.Follows = []contract.Follow{{Cell: "app.web:port", Watch: true, Member: &contract.Member{Group: "apps", Server: "app"}}}
	return p
}

func operatorOf(t *testing.T, b deploytest.Bed) *operate.Operator {
	return &operate.Operator{Session: b.Operator(t), Deployment: deploytest.Site, Secret: deploytest.Secret, Timeout: deploytest.Patience}
}

// The outputs of a member that has left its group are no longer shown; a machine that replaces it
// has its own.
func TestOutputsOfAMemberThatLeft(t *testing.T) {
	b := deploytest.InMemory()
	p := grouped()
	b.Publish(t, p)
	state := func() operate.Output {
		e := operatorOf(t, b).Evaluate(t.Context(), p)
		if err := e.Learn(); err != nil {
			t.Fatal(err)
		}
		all, err := e.All()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all.Roles, func(o operate.Output) bool { return o.Name == "app.web:port" })
		return all.Roles[i]
	}
	app := b.Agent(t, "app")
	if err := app.Put(t.Context(), "app.web:port", []byte("80"), deploytest.Noon); err != nil {
		t.Fatal(err)
	}
	if o := state(); o.State != operate.OutputValue || string(o.Value) != "80" {
		t.Errorf("of a member: %+v", o)
	}
	b.SaysGone(t, "apps", "app", 1)
	if o := state(); o.State != operate.OutputMissing || o.Value != nil || o.Message != "Heat has removed its machine from its group" {
		t.Errorf("of one that left: %+v", o)
	}
	m := member.Join(b.Session(t, "app"), deploytest.Site, "app", deploytest.TokenOf("app"))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := m.Enrol(t.Context(), "another journal", "i-new", false, deploytest.Noon)
	if err != nil {
		t.Fatal(err)
	}
	if o := state(); o.State != operate.OutputWaiting {
		t.Errorf("of a machine that has come: %+v", o)
	}
	if err := again.Put(t.Context(), "app.web:port", []byte("81"), deploytest.Noon); err != nil {
		t.Fatal(err)
	}
	if o := state(); o.State != operate.OutputValue || string(o.Value) != "81" {
		t.Errorf("of the machine in its place: %+v", o)
	}
}

// A role that is out of date because another has failed is brought up to date once that has run: it
// is not retried itself, and is no failure where it is at work by then.
func TestAllAreRetriedButThoseThatWaitForAnother(t *testing.T) {
	b := deploytest.InMemory()
	p := grouped()
	lb := &p.Servers[2].Roles[0]
	lb.Follows[0].Member = nil
	b.Publish(t, p)
	app, proxy := b.Agent(t, "app"), b.Agent(t, "lb")
	for _, agent := range []*member.Session{app, proxy} {
		if err := agent.Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1, Since: deploytest.Noon}); err != nil {
			t.Fatal(err)
		}
	}
	cause := &protocol.Cause{Role: "app.web", Reason: "exit status 3"}
	failed := protocol.ServerState{Phase: protocol.PhaseFailed, Since: deploytest.Noon}
	for _, r := range p.Servers[1].Roles {
		failed.Roles = append(failed.Roles, protocol.RoleState{Name: r.Name, Status: protocol.RoleFailed, Made: r.Made(), Cause: cause})
	}
	if err := app.Report(t.Context(), failed, map[contract.CellName]*protocol.Cause{"app.web:port": cause}); err != nil {
		t.Fatal(err)
	}
	done := protocol.ServerState{Phase: protocol.PhaseDone, Since: deploytest.Noon}
	for _, r := range p.Servers[2].Roles {
		done.Roles = append(done.Roles, protocol.RoleState{Name: r.Name, Status: protocol.RoleDone, Made: r.Made(),
			Followed: map[contract.CellName]protocol.Count{"app.web:port": {0, 1}}})
	}
	if err := proxy.Report(t.Context(), done, nil); err != nil {
		t.Fatal(err)
	}
	o := operatorOf(t, b)
	o.Command = func(words ...string) string { return strings.Join(words, " ") }
	v, err := o.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r := v.RoleOf("lb.proxy"); !r.Outdated() {
		t.Fatalf("lb.proxy is %s", r.Shown())
	}
	again := &operate.Retry{Operator: o, Settle: func(context.Context, []operate.Kept) error { return nil }}
	if _, err := again.Run(t.Context(), "lb.proxy"); err == nil || !strings.Contains(err.Error(), "lb.proxy is not updated because app.web has failed") {
		t.Errorf("lb.proxy is asked for: %v", err)
	}
	v.RoleOf("app.web").Runs-- // it has failed once more since
	if roles, err := again.RunAll(t.Context(), v, func(text string) { t.Error(text) }); err != nil || len(roles) > 0 {
		t.Errorf("%v run again, which have run for a change: %v", roles, err)
	}
	v.RoleOf("app.web").Runs++
	roles, err := again.RunAll(t.Context(), v, func(text string) { t.Error(text) })
	if err != nil || !slices.Equal(roles, []contract.RoleKey{"app.web"}) {
		t.Errorf("%v run again: %v", roles, err)
	}
	for of, want := range map[*member.Session]int{app: 1, proxy: 0} {
		if asked, err := of.Asked(t.Context()); err != nil || len(asked.Requests) != want {
			t.Errorf("asked for %+v: %v", asked.Requests, err)
		}
	}
}
