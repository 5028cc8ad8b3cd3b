package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/live"
	"github.com/hotc-dev/hotc/runtime/operate"
)

func TestMain(m *testing.M) { deploytest.Main(m) }

// observerOf looks at the three-tier site, whose app is a member of a group that lb follows.
func observerOf(t *testing.T, b deploytest.Bed) (*live.Observer, *contract.Plan) {
	t.Helper()
	t.Setenv("OS_CLOUD", "") // Heat is not asked
	t.Setenv("OS_AUTH_URL", "")
	p := deploytest.ThreeTier()
	lb := &p.Servers[2].Roles[0]
	lb.Idempotent = true
	lb.Follows = []contract.Follow{{Cell: "app.web:port", Watch: true, Member: &contract.Member{Group: "apps", Server: "app"}}}
	b.Publish(t, p)
	return &live.Observer{Operator: &operate.Operator{Session: b.Operator(t), Deployment: deploytest.Site, Secret: deploytest.Secret, Timeout: deploytest.Patience}}, p
}

// report makes an agent report all its roles in one state.
func report(t *testing.T, agent *member.Session, s contract.Server, phase protocol.Phase, is protocol.RoleStatus) {
	t.Helper()
	state := protocol.ServerState{Phase: phase, Since: deploytest.Noon}
	for _, r := range s.Roles {
		role := protocol.RoleState{Name: r.Name, Status: is, Made: r.Made(), Started: deploytest.Noon}
		if is == protocol.RoleDone {
			role.Ended = deploytest.Noon.Add(2 * time.Second)
		}
		state.Roles = append(state.Roles, role)
	}
	if err := agent.Report(t.Context(), state, nil); err != nil {
		t.Fatal(err)
	}
}

// Views show another plan as soon as it is published, what relays say of members, and that all has
// finished; then they go on.
func TestViewsGoOn(t *testing.T) {
	b := deploytest.InMemory()
	o, p := observerOf(t, b)
	more := *p
	more.Servers = append(slices.Clone(p.Servers), contract.Server{Path: "cache", At: "site.yaml:40:3", Writes: []contract.CellName{"cache.redis"},
		Roles: []contract.Role{{Name: "redis", Driver: "script", Source: p.Servers[2].Roles[0].Source}}})
	more.Cells = append(slices.Clone(p.Cells), contract.Cell{Name: "cache.redis", Server: "cache", Role: "redis"})
	agents := map[contract.ServerPath]*member.Session{}
	looks, settled := 0, 0
	for v, err := range o.Views(deploytest.Within(t, deploytest.Patience)) {
		if err != nil {
			t.Fatal(err)
		}
		looks++
		switch {
		case len(v.Servers) == 3 && looks == 1:
			b.Publish(t, &more) // no server reports any of that
		case len(v.Servers) == 4 && len(agents) == 0:
			for _, s := range more.Servers {
				if agents[s.Path] = b.Agent(t, s.Path); s.Path != "app" { // its role never ends
					report(t, agents[s.Path], s, protocol.PhaseDone, protocol.RoleDone)
				}
			}
		case len(v.Servers) == 4 && v.ByPath["app"].Came() && !v.ByPath["app"].Left && v.ByPath["cache"].State.Phase == protocol.PhaseDone:
			b.SaysGone(t, "apps", "app", 1) // nor this
		case len(v.Servers) == 4 && v.ByPath["app"].Left && v.Finished():
			if settled++; settled == 1 {
				report(t, agents["lb"], more.Servers[2], protocol.PhaseUp, protocol.RoleRunning)
			}
		case settled > 0 && v.RoleOf("lb.proxy").Status == protocol.RoleRunning:
			return
		}
	}
	t.Error("the views have ended")
}

// The first view has no events, the next one those since; a caller that leaves is not called again,
// and one whose context ends gets one last error.
func TestViewsHaveEvents(t *testing.T) {
	b := deploytest.InMemory()
	o, p := observerOf(t, b)
	app := b.Agent(t, "app")
	report(t, app, p.Servers[1], protocol.PhaseUp, protocol.RoleRunning)
	for v, err := range o.Views(deploytest.Within(t, deploytest.Patience)) {
		if err != nil {
			t.Fatal(err)
		}
		if v.RoleOf("app.web").Status == protocol.RoleRunning {
			if len(v.Events) > 0 {
				t.Errorf("it begins with %v", v.Events)
			}
			report(t, app, p.Servers[1], protocol.PhaseDone, protocol.RoleDone)
			continue
		}
		if i := slices.IndexFunc(v.Events, func(e status.Event) bool { return e.Subject == "app.web" }); i < 0 || v.Events[i].Text != "done in 2.0s" {
			t.Errorf("the events are %v", v.Events)
		}
		break
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var said []string
	for v, err := range o.Views(ctx) {
		said = append(said, fmt.Sprint(v != nil, errors.Is(err, operate.ErrInterrupted)))
		stop()
	}
	if fmt.Sprint(said) != "[true false false true]" {
		t.Errorf("a context that ends: %v", said)
	}
}
