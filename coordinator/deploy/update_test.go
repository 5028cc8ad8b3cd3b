package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// withoutHook takes the hook out again.
func withoutHook(p *contract.Plan) {
	p.Servers[1].Roles[0].Hooks = nil
	p.Files = p.Files[:2]
}

// A changed role that has run is asked to run its hook; its agent finds the new plan
// and the new files. What has not run is not asked for anything.
func TestALivePlanIsChangedInPlace(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		app := b.Agent(t, "app")
		deploytest.Stands(t, app, "web", protocol.RoleDone)
		to := deploytest.WithUpdate(func(p *contract.Plan) { p.Servers[2].Roles[0].Timeout = 60 })
		rehearsed, err := deploy.Rehearse(t.Context(), b.Open(t), deploytest.Publication(to))
		if err != nil {
			t.Fatal(err)
		}
		if err := app.CheckPlan(t.Context()); err != nil {
			t.Errorf("after a rehearsal: %v", err)
		}
		done := b.Publish(t, to)
		want := "app.web: source, hook update: hook; lb.proxy: timeout: none"
		for name, got := range map[string]deploy.Published{"rehearsed": rehearsed, "done": done} {
			if got.Outcome != deploy.Updated || told(got.Changes) != want || got.Record.Plan != deploytest.Digest(string(deploytest.Text(to))) || !got.Record.Created.Equal(deploytest.Noon) {
				t.Errorf("%s: %+v, want %s", name, got, want)
			}
		}
		if err := app.CheckPlan(t.Context()); !errors.Is(err, member.ErrPlanChanged) {
			t.Errorf("%v, want ErrPlanChanged", err)
		}
		asked, err := app.Asked(t.Context())
		if err != nil || len(asked.Requests) != 0 || asked.Coming != nil {
			t.Fatalf("%+v, %v", asked, err)
		}
		s, err := app.PlanAgain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := app.CheckPlan(t.Context()); err != nil {
			t.Errorf("read again: %v", err)
		}
		for _, file := range s.Roles[0].AllFiles() {
			if text, err := app.File(t.Context(), file); err != nil || string(text) != deploytest.Scripts[file] {
				t.Errorf("the file %s: %q, %v", file, text, err)
			}
		}
		if live, err := deploy.ReadPlan(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret); err != nil || live.Servers[1].Roles[0].Files[0] != deploytest.WebAgain {
			t.Errorf("the whole plan is %+v, %v", live, err)
		}
		if again := b.Publish(t, to); again.Outcome != deploy.Unchanged {
			t.Errorf("the same again: %s", again.Outcome)
		}
		// The file that nobody uses any more goes when the next plan has come.
		if _, exists, _ := b.Operator(t).Stat(t.Context(), deploytest.Site.File(deploytest.WebScript)); !exists {
			t.Error("the file of the plan before is gone already")
		}
		b.Publish(t, deploytest.WithUpdate())
		if _, exists, _ := b.Operator(t).Stat(t.Context(), deploytest.Site.File(deploytest.WebScript)); exists {
			t.Error("the file of the plan before the last is still there")
		}
	})
}

func told(changes []deploy.RoleChange) string {
	var all []string
	for _, c := range changes {
		all = append(all, fmt.Sprintf("%s: %s: %s", c.Key(), strings.Join(c.What, ", "), c.Effect))
	}
	return strings.Join(all, "; ")
}

// What becomes of a change depends on how the role stands.
func TestEffectsOfAChange(t *testing.T) {
	for _, c := range []struct {
		name   string
		status protocol.RoleStatus // "" is a server that never came
		hook   bool
		want   deploy.Effect // "" is refused
	}{
		{"never came", "", false, deploy.EffectRun},
		{"pending", protocol.RolePending, false, deploy.EffectRun},
		{"skipped", protocol.RoleSkipped, false, deploy.EffectRun},
		{"failed", protocol.RoleFailed, false, deploy.EffectRetry},
		{"running", protocol.RoleRunning, true, deploy.EffectHook},
		{"done", protocol.RoleDone, true, deploy.EffectHook},
		{"running without the hook", protocol.RoleRunning, false, ""},
		{"done without the hook", protocol.RoleDone, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := deploytest.InMemory()
			b.Publish(t, deploytest.ThreeTier())
			if c.status != "" {
				deploytest.Stands(t, b.Agent(t, "app"), "web", c.status)
			}
			to := deploytest.WithUpdate()
			if !c.hook {
				withoutHook(to)
			}
			done, err := b.Apply(t, to)
			if c.want == "" {
				var lacking *deploy.NoUpdateHookError
				if !errors.As(err, &lacking) || told(lacking.Roles) != "app.web: source: again" {
					t.Fatalf("%+v, %v, want a NoUpdateHookError", done, err)
				}
				if live, _ := deploy.ReadPlan(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret); live.Servers[1].Roles[0].Files[0] != deploytest.WebScript {
					t.Error("what was refused was written")
				}
				return
			}
			if err != nil || len(done.Changes) != 1 || done.Changes[0].Effect != c.want {
				t.Fatalf("%+v, %v, want %s", done.Changes, err, c.want)
			}
		})
	}
}

// What lies in user-data, or in a cell's other form, is refused, by name.
func TestWhatALivePlanDoesNotTake(t *testing.T) {
	for want, change := range map[string]func(*contract.Plan){
		"server db: values from Heat added": func(p *contract.Plan) {
			p.Servers[0].Deploy = map[string]contract.DeployValue{"k": {Expr: json.RawMessage("1")}}
		},
		"signal: heat becomes none, which needs --signal=relay in between": func(p *contract.Plan) { p.Signal = contract.NobodySignals },
		"cell db.mysql:endpoint: became secret, or is no longer":           func(p *contract.Plan) { p.Cells[1].Sealed = true },
	} {
		t.Run(want, func(t *testing.T) {
			b := deploytest.InMemory()
			agents := func() *contract.Plan {
				p := deploytest.ThreeTier()
				p.Signal = contract.AgentsSignal
				return p
			}
			b.Publish(t, agents())
			before := fmt.Sprint(treeOf(t, b.Operator(t), deploytest.Site.Root()))
			to := agents()
			change(to)
			_, err := b.Apply(t, to)
			var refused *deploy.ChangedPlanError
			if !errors.As(err, &refused) || !slices.Contains(refused.Differences, want) {
				t.Errorf("%v, want %q", err, want)
			}
			if after := fmt.Sprint(treeOf(t, b.Operator(t), deploytest.Site.Root())); after != before {
				t.Error("what was refused was written")
			}
		})
	}
}

// A relay may take over from agents: no role runs for it.
func TestALivePlanTakesARelay(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		plan := func(signal contract.Signalling, handle string) *contract.Plan {
			p := deploytest.ThreeTier()
			p.Signal, p.Servers[1].Roles[0].Signals = signal, []contract.Signal{{Handle: handle, ID: "app", Outputs: []string{"port"}}}
			return p
		}
		b.Publish(t, plan(contract.AgentsSignal, "hotc_handle_app.web"))
		deploytest.Stands(t, b.Agent(t, "app"), "web", protocol.RoleDone)
		done, err := b.Apply(t, plan(contract.RelaySignals, "hotc_done_app.web"))
		if err != nil || done.Outcome != deploy.Updated {
			t.Fatalf("%+v, %v", done, err)
		}
		for _, c := range done.Changes {
			if c.Effect != deploy.EffectNone {
				t.Errorf("%+v", c)
			}
		}
	})
}

// A role that starts while its plan is changed does so either before, and its hook runs, or as
// changed.
func TestARoleStartsBeforeTheChangeOrAfterIt(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		app := b.Agent(t, "app")
		deploytest.Stands(t, app, "web", protocol.RolePending)
		running := protocol.ServerState{Phase: protocol.PhaseRunning, Roles: []protocol.RoleState{{Name: "web", Status: protocol.RoleRunning}}}
		// The operator looks, and before it writes the role starts.
		s := &deploytest.Between{Session: b.Open(t), When: func(ops []store.Op) bool {
			return slices.ContainsFunc(ops, func(op store.Op) bool { return op.Write && op.Path == deploytest.Site.ServerPlan("app") })
		}}
		s.Do = func() {
			if err := app.ReportStart(t.Context(), running); err != nil {
				t.Errorf("the start: %v", err)
			}
		}
		to := deploytest.WithUpdate()
		done, err := deploy.Publish(t.Context(), s, deploytest.Publication(to))
		if err != nil || told(done.Changes) != "app.web: source, hook update: hook" {
			t.Errorf("%s, %v", told(done.Changes), err)
		}
		// One that has not noticed the change does not start.
		if err := app.ReportStart(t.Context(), running); !errors.Is(err, member.ErrPlanChanged) {
			t.Errorf("%v, want ErrPlanChanged", err)
		}
		if _, err := app.PlanAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := app.ReportStart(t.Context(), running); err != nil {
			t.Error(err)
		}
	})
}

// dying is a store that dies at its n-th write, before or after that has been done.
type dying struct {
	store.Session
	mu    sync.Mutex
	left  int
	after bool
}

func (s *dying) write(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left--
	if s.left < 0 || s.left == 0 && !s.after {
		s.left = -1
		return errPlug
	}
	if err := do(); err != nil || s.left > 0 {
		return err
	}
	return errPlug
}

func (s *dying) Create(ctx context.Context, nodes []store.NewNode) error {
	for _, n := range nodes {
		if err := s.write(func() error { return s.Session.Create(ctx, []store.NewNode{n}) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *dying) Commit(ctx context.Context, ops ...store.Op) error {
	return s.write(func() error { return s.Session.Commit(ctx, ops...) })
}

func (s *dying) ChangeRights(ctx context.Context, path store.Path, c store.RightsChange) error {
	return s.write(func() error { return s.Session.ChangeRights(ctx, path, c) })
}

func (s *dying) DeleteTree(ctx context.Context, path store.Path) error {
	return s.write(func() error { return s.Session.DeleteTree(ctx, path) })
}

// Wherever a change is interrupted, the same one again brings it to its end, and each
// hook is asked for once. So does the way back to the plan before.
func TestAnInterruptedChangeIsMadeOnce(t *testing.T) {
	change := func(p *contract.Plan) {
		for i := range p.Servers {
			r := &p.Servers[i].Roles[0]
			r.Inputs = append(slices.Clone(r.Inputs), contract.Input{Name: "level", Time: contract.Static, Expr: json.RawMessage(`9`)})
			if contract.FindTask(r.Hooks, contract.HookUpdate) == nil {
				r.Hooks = []contract.Task{{Name: contract.HookUpdate, Source: json.RawMessage(`{"text":"true"}`)}}
			}
		}
	}
	hooked := func(p *contract.Plan) *contract.Plan {
		for i := range p.Servers {
			p.Servers[i].Roles[0].Hooks = []contract.Task{{Name: contract.HookUpdate, Source: json.RawMessage(`{"text":"true"}`)}}
		}
		return p
	}
	roles := map[contract.ServerPath]string{"db": "mysql", "app": "web", "lb": "proxy"}
	play := func(t *testing.T, b deploytest.Bed, n int, after, back bool) (died bool) {
		from, to := hooked(deploytest.ThreeTier()), deploytest.WithUpdate(change)
		b.Publish(t, from)
		for server, role := range roles {
			deploytest.Stands(t, b.Agent(t, server), role, protocol.RoleDone)
		}
		s := &dying{Session: b.Open(t), left: n, after: after}
		_, err := deploy.Publish(t.Context(), s, deploytest.Publication(to))
		if err == nil {
			return false
		}
		if !errors.Is(err, errPlug) {
			t.Fatal(err)
		}
		then := to
		if back {
			then = from
		}
		if _, err := b.Apply(t, then); err != nil {
			t.Fatalf("again: %v", err)
		}
		if got := b.Publish(t, then); got.Outcome != deploy.Unchanged {
			t.Errorf("once more: %s", got.Outcome)
		}
		for server := range roles {
			m := member.Join(b.Session(t, server), deploytest.Site, server, deploytest.TokenOf(server))
			got, err := m.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range then.Servers {
				if want.Path == server && got.Roles[0].Definition() != want.Roles[0].Definition() {
					t.Errorf("the plan of %s is %+v", server, got.Roles[0])
				}
			}
			for _, file := range got.Roles[0].AllFiles() {
				if _, err := m.File(t.Context(), file); err != nil {
					t.Errorf("%s: %v", server, err)
				}
			}
		}
		return true
	}
	for _, back := range []bool{false, true} {
		for _, after := range []bool{false, true} {
			for n := 1; ; n++ {
				if !play(t, deploytest.InMemory(), n, after, back) {
					break
				}
				if n > 100 {
					t.Fatal("it never comes to its end")
				}
			}
		}
	}
	for _, n := range []int{1, 4, 6, 8} {
		play(t, deploytest.InZooKeeper(t), n, n%2 == 0, false)
	}
}

// Of two that change the plan at once one wins.
func TestTwoChangesAtOnce(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	other := deploytest.ThreeTier()
	other.Servers[2].Roles[0].Timeout = 5
	s := &deploytest.Between{Session: b.Open(t), When: func(ops []store.Op) bool { return len(ops) > 1 }}
	s.Do = func() {
		if _, err := b.Apply(t, other); err != nil {
			t.Errorf("the second: %v", err)
		}
	}
	to := deploytest.WithUpdate()
	_, err := deploy.Publish(t.Context(), s, deploytest.Publication(to))
	if !errors.Is(err, deploy.ErrOvertaken) {
		t.Errorf("%v, want ErrOvertaken", err)
	}
	if got := b.Publish(t, other); got.Outcome != deploy.Unchanged {
		t.Errorf("the winner's plan is not live: %s", got.Outcome)
	}
}

// A plan that lies in parts, and a file that more servers read than an access list
// names, change too.
func TestLargePlansAndManyReadersChange(t *testing.T) {
	seedtest.SkipShort(t)
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		from := deploytest.FanOut(10)
		for i := range 2 { // at first two servers read it, then all
			from.Servers[1+i].Roles[0].Files = []string{deploytest.MysqlScript}
		}
		from.Files = append(from.Files, contract.File{Digest: deploytest.MysqlScript, Size: 11, Name: "mysql.sh"})
		wide := func(n int) json.RawMessage { return deploytest.JsonString(n) }
		from.Servers[0].Roles[0].Source = wide(1_000_000)
		b.Publish(t, from)
		for round, size := range []int{900_000, 2_000_000, 10} {
			to := deploytest.FanOut(10)
			to.Servers[0].Roles[0].Source = wide(size)
			for i := range 10 {
				to.Servers[1+i].Roles[0].Files = []string{deploytest.MysqlScript, deploytest.WebScript}[round%2:]
			}
			to.Files = append(to.Files, contract.File{Digest: deploytest.MysqlScript, Size: 11, Name: "mysql.sh"})
			b.Publish(t, to)
			m := member.Join(b.Session(t, "head"), deploytest.Site, "head", deploytest.TokenOf("head"))
			if s, err := m.Plan(t.Context()); err != nil || string(s.Roles[0].Source) != string(wide(size)) {
				t.Fatalf("round %d: the plan did not arrive whole: %v", round, err)
			}
			if live, err := deploy.ReadPlan(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret); err != nil || len(live.Servers[0].Roles[0].Source) != size {
				t.Fatalf("round %d: the whole plan did not arrive: %v", round, err)
			}
			for i := range 10 {
				m := member.Join(b.Session(t, contract.ServerPath(fmt.Sprintf("node/%d", i))), deploytest.Site, contract.ServerPath(fmt.Sprintf("node/%d", i)), deploytest.TokenOf(contract.ServerPath(fmt.Sprintf("node/%d", i))))
				s, err := m.Plan(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range s.Roles[0].Files {
					if _, err := m.File(t.Context(), file); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				}
			}
		}
		names, err := b.Operator(t).Children(t.Context(), deploytest.Site.ServerPlan("head"))
		if err != nil || len(names) != 0 {
			t.Errorf("parts are left over: %q, %v", names, err)
		}
	})
}

// An agent that reads a plan in parts while these are replaced gets one or the other.
func TestReadingAPlanWhileItChanges(t *testing.T) {
	b := deploytest.InMemory()
	at := func(n int) *contract.Plan {
		p := deploytest.FanOut(1)
		p.Servers[0].Roles[0].Source = json.RawMessage(`"` + strings.Repeat(fmt.Sprint(n%10), 1_000_000) + `"`)
		return p
	}
	b.Publish(t, at(0))
	over := make(chan error)
	go func() {
		var err error
		for n := 1; n < seedtest.Cases(8, 4) && err == nil; n++ {
			p := at(n)
			_, err = deploy.Publish(context.Background(), b.Open(t), deploytest.Publication(p, func(w *deploy.Publication) { w.Now = deploytest.Noon.Add(time.Duration(n)) }))
		}
		over <- err
	}()
	m := member.Join(b.Session(t, "head"), deploytest.Site, "head", deploytest.TokenOf("head"))
	for {
		s, err := m.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if source := string(s.Roles[0].Source); strings.Trim(source, source[1:2]+`"`) != "" {
			t.Fatal("two plans were mixed")
		}
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}
