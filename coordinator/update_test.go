package coordinator_test

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
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
)

var (
	webAgain  = script("echo web again\n")
	webUpdate = script("echo web is updated\n")
)

// withUpdate is the plan whose role app.web has the hook update and another source.
func withUpdate(changes ...func(*contract.Plan)) *contract.Plan {
	p := threeTier()
	web := &p.Servers[1].Roles[0]
	web.Source, web.Files = json.RawMessage(`{"file":"`+webAgain+`"}`), []string{webAgain}
	web.Hooks = []contract.Task{{Name: contract.HookUpdate, At: "site.yaml:17:9", Source: json.RawMessage(`{"file":"` + webUpdate + `"}`), Files: []string{webUpdate}}}
	p.Files = append(p.Files[:1], contract.File{Digest: webAgain, Size: 15, Name: "web.sh"}, contract.File{Digest: webUpdate, Size: 20, Name: "update.sh"})
	for _, change := range changes {
		change(p)
	}
	return p
}

// withoutHook takes the hook out again.
func withoutHook(p *contract.Plan) {
	p.Servers[1].Roles[0].Hooks = nil
	p.Files = p.Files[:2]
}

// stands makes a server's agent report how its one role stands.
func stands(t *testing.T, m *member.Member, role string, status coordinator.RoleStatus) {
	t.Helper()
	err := m.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseRunning, Roles: []coordinator.RoleState{{Name: role, Status: status}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// A changed role that has run is asked to run its hook; its agent finds the new plan
// and the new files. What has not run is not asked for anything.
func TestALivePlanIsChangedInPlace(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		app := b.agent(t, "app")
		stands(t, app, "web", coordinator.RoleDone)
		to := withUpdate(func(p *contract.Plan) { p.Servers[2].Roles[0].Timeout = 60 })
		rehearsed, err := deploy.Rehearse(t.Context(), b.open(t), publication(to))
		if err != nil {
			t.Fatal(err)
		}
		if err := app.CheckPlan(t.Context()); err != nil {
			t.Errorf("after a rehearsal: %v", err)
		}
		done := b.publish(t, to)
		want := "app.web: source, hook update: hook; lb.proxy: timeout: none"
		for name, got := range map[string]deploy.Published{"rehearsed": rehearsed, "done": done} {
			if got.Outcome != deploy.Updated || told(got.Changes) != want || got.Record.Plan != digest(string(text(to))) || !got.Record.Created.Equal(noon) {
				t.Errorf("%s: %+v, want %s", name, got, want)
			}
		}
		if err := app.CheckPlan(t.Context()); !errors.Is(err, member.ErrPlanChanged) {
			t.Errorf("%v, want ErrPlanChanged", err)
		}
		requests, err := app.Requests(t.Context())
		if err != nil || len(requests) != 1 {
			t.Fatalf("%+v, %v", requests, err)
		}
		if r := requests[0]; r.Kind != coordinator.Hook || r.Name != contract.HookUpdate || r.Role != "web" || r.Incarnation != 1 || r.Change != to.Servers[1].Roles[0].Definition() {
			t.Errorf("asked for %+v", r)
		}
		s, err := app.PlanAgain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := app.CheckPlan(t.Context()); err != nil {
			t.Errorf("read again: %v", err)
		}
		for _, file := range s.Roles[0].AllFiles() {
			if text, err := app.File(t.Context(), file); err != nil || string(text) != scripts[file] {
				t.Errorf("the file %s: %q, %v", file, text, err)
			}
		}
		if live, err := deploy.ReadPlan(t.Context(), b.operator(t), site, secret); err != nil || live.Servers[1].Roles[0].Files[0] != webAgain {
			t.Errorf("the whole plan is %+v, %v", live, err)
		}
		if again := b.publish(t, to); again.Outcome != deploy.Unchanged {
			t.Errorf("the same again: %s", again.Outcome)
		}
		// The file that nobody uses any more goes when the next plan has come.
		if _, exists, _ := b.operator(t).Stat(t.Context(), site.File(webScript)); !exists {
			t.Error("the file of the plan before is gone already")
		}
		b.publish(t, withUpdate())
		if _, exists, _ := b.operator(t).Stat(t.Context(), site.File(webScript)); exists {
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
		status coordinator.RoleStatus // "" is a server that never came
		hook   bool
		want   deploy.Effect // "" is refused
	}{
		{"never came", "", false, deploy.EffectRun},
		{"pending", coordinator.RolePending, false, deploy.EffectRun},
		{"skipped", coordinator.RoleSkipped, false, deploy.EffectRun},
		{"failed", coordinator.RoleFailed, false, deploy.EffectRetry},
		{"running", coordinator.RoleRunning, true, deploy.EffectHook},
		{"done", coordinator.RoleDone, true, deploy.EffectHook},
		{"running without the hook", coordinator.RoleRunning, false, ""},
		{"done without the hook", coordinator.RoleDone, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := inMemory()
			b.publish(t, threeTier())
			if c.status != "" {
				stands(t, b.agent(t, "app"), "web", c.status)
			}
			to := withUpdate()
			if !c.hook {
				withoutHook(to)
			}
			done, err := b.apply(t, to)
			if c.want == "" {
				var lacking *deploy.NoUpdateHookError
				if !errors.As(err, &lacking) || told(lacking.Roles) != "app.web: source: again" {
					t.Fatalf("%+v, %v, want a NoUpdateHookError", done, err)
				}
				if live, _ := deploy.ReadPlan(t.Context(), b.operator(t), site, secret); live.Servers[1].Roles[0].Files[0] != webScript {
					t.Error("what was refused was written")
				}
				return
			}
			if err != nil || len(done.Changes) != 1 || done.Changes[0].Effect != c.want {
				t.Fatalf("%+v, %v, want %s", done.Changes, err, c.want)
			}
			requests, err := reading(t, b.operator(t)).Requests(t.Context(), "app")
			if asked := len(requests) == 1; err != nil || asked != (c.want == deploy.EffectHook) {
				t.Errorf("asked for %+v, %v", requests, err)
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
		"signal: none becomes heat":                    func(p *contract.Plan) { p.Signal = "heat" },
		"cell db.mysql:endpoint: secret, or no longer": func(p *contract.Plan) { p.Cells[1].Sealed = true },
	} {
		t.Run(want, func(t *testing.T) {
			b := inMemory()
			b.publish(t, threeTier())
			before := fmt.Sprint(treeOf(t, b.operator(t), site.Root()))
			to := threeTier()
			change(to)
			_, err := b.apply(t, to)
			var refused *deploy.ChangedPlanError
			if !errors.As(err, &refused) || !slices.Contains(refused.Differences, want) {
				t.Errorf("%v, want %q", err, want)
			}
			if after := fmt.Sprint(treeOf(t, b.operator(t), site.Root())); after != before {
				t.Error("what was refused was written")
			}
		})
	}
}

// A relay may take over from agents: no role runs for it.
func TestALivePlanTakesARelay(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		plan := func(signal contract.Signalling, handle string) *contract.Plan {
			p := threeTier()
			p.Signal, p.Servers[1].Roles[0].Signals = signal, []contract.Signal{{Handle: handle, ID: "app", Outputs: []string{"port"}}}
			return p
		}
		b.publish(t, plan(contract.AgentsSignal, "hotc_handle_app.web"))
		stands(t, b.agent(t, "app"), "web", coordinator.RoleDone)
		done, err := b.apply(t, plan(contract.RelaySignals, "hotc_done_app.web"))
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

// A role that starts while its plan is changed does so either before, and is asked to
// run its hook, or as changed.
func TestARoleStartsBeforeTheChangeOrAfterIt(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		app := b.agent(t, "app")
		stands(t, app, "web", coordinator.RolePending)
		running := coordinator.ServerState{Phase: coordinator.PhaseRunning, Roles: []coordinator.RoleState{{Name: "web", Status: coordinator.RoleRunning}}}
		// The operator looks, and before it writes the role starts.
		s := &between{Store: b.open(t), when: func(ops []coordinator.Op) bool {
			return slices.ContainsFunc(ops, func(op coordinator.Op) bool { return op.Write && op.Path == site.ServerPlan("app") })
		}}
		s.do = func() {
			if err := app.ReportStart(t.Context(), running); err != nil {
				t.Errorf("the start: %v", err)
			}
		}
		to := withUpdate()
		done, err := deploy.Publish(t.Context(), s, publication(to))
		if err != nil || told(done.Changes) != "app.web: source, hook update: hook" {
			t.Errorf("%s, %v", told(done.Changes), err)
		}
		if requests, err := app.Requests(t.Context()); err != nil || len(requests) != 1 {
			t.Errorf("%+v, %v", requests, err)
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

// between does something once, before a certain commit.
type between struct {
	coordinator.Store
	when func([]coordinator.Op) bool
	do   func()
}

func (s *between) Commit(ctx context.Context, ops ...coordinator.Op) error {
	if s.do != nil && s.when(ops) {
		do := s.do
		s.do = nil
		do()
	}
	return s.Store.Commit(ctx, ops...)
}

// dying is a store that dies at its n-th write, before or after that has been done.
type dying struct {
	coordinator.Store
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

func (s *dying) Create(ctx context.Context, nodes []coordinator.NewNode) error {
	for _, n := range nodes {
		if err := s.write(func() error { return s.Store.Create(ctx, []coordinator.NewNode{n}) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *dying) Commit(ctx context.Context, ops ...coordinator.Op) error {
	return s.write(func() error { return s.Store.Commit(ctx, ops...) })
}

func (s *dying) Allow(ctx context.Context, path coordinator.Path, grants ...coordinator.Grant) error {
	return s.write(func() error { return s.Store.Allow(ctx, path, grants...) })
}

func (s *dying) SetRights(ctx context.Context, path coordinator.Path, guard coordinator.Op, grants ...coordinator.Grant) error {
	return s.write(func() error { return s.Store.SetRights(ctx, path, guard, grants...) })
}

func (s *dying) DeleteTree(ctx context.Context, path coordinator.Path) error {
	return s.write(func() error { return s.Store.DeleteTree(ctx, path) })
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
	play := func(t *testing.T, b bed, n int, after, back bool) (died bool) {
		from, to := hooked(threeTier()), withUpdate(change)
		b.publish(t, from)
		for server, role := range roles {
			stands(t, b.agent(t, server), role, coordinator.RoleDone)
		}
		s := &dying{Store: b.open(t), left: n, after: after}
		_, err := deploy.Publish(t.Context(), s, publication(to))
		if err == nil {
			return false
		}
		if !errors.Is(err, errPlug) {
			t.Fatal(err)
		}
		then, most := to, 1
		if back {
			then, most = from, 2
		}
		if _, err := b.apply(t, then); err != nil {
			t.Fatalf("again: %v", err)
		}
		if got := b.publish(t, then); got.Outcome != deploy.Unchanged {
			t.Errorf("once more: %s", got.Outcome)
		}
		for server := range roles {
			requests, err := reading(t, b.operator(t)).Requests(t.Context(), server)
			if err != nil || len(requests) > most || !back && len(requests) != 1 || back && len(requests) == 1 {
				t.Errorf("%s was asked for %+v, %v", server, requests, err)
			}
			m := member.Join(b.session(t, server), site, server, tokenOf(server))
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
				if !play(t, inMemory(), n, after, back) {
					break
				}
				if n > 100 {
					t.Fatal("it never comes to its end")
				}
			}
		}
	}
	for _, n := range []int{1, 4, 6, 8} {
		play(t, inZooKeeper(t), n, n%2 == 0, false)
	}
}

// Of two that change the plan at once one wins.
func TestTwoChangesAtOnce(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	other := threeTier()
	other.Servers[2].Roles[0].Timeout = 5
	s := &between{Store: b.open(t), when: func(ops []coordinator.Op) bool { return len(ops) > 1 }}
	s.do = func() {
		if _, err := b.apply(t, other); err != nil {
			t.Errorf("the second: %v", err)
		}
	}
	to := withUpdate()
	_, err := deploy.Publish(t.Context(), s, publication(to))
	if !errors.Is(err, deploy.ErrOvertaken) {
		t.Errorf("%v, want ErrOvertaken", err)
	}
	if got := b.publish(t, other); got.Outcome != deploy.Unchanged {
		t.Errorf("the winner's plan is not live: %s", got.Outcome)
	}
}

// A plan that lies in parts, and a file that more servers read than an access list
// names, change too.
func TestLargePlansAndManyReadersChange(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		from := fanOut(10)
		for i := range 2 { // at first two servers read it, then all
			from.Servers[1+i].Roles[0].Files = []string{mysqlScript}
		}
		from.Files = append(from.Files, contract.File{Digest: mysqlScript, Size: 11, Name: "mysql.sh"})
		wide := func(n int) json.RawMessage { return jsonString(n) }
		from.Servers[0].Roles[0].Source = wide(1_000_000)
		b.publish(t, from)
		for round, size := range []int{900_000, 2_000_000, 10} {
			to := fanOut(10)
			to.Servers[0].Roles[0].Source = wide(size)
			for i := range 10 {
				to.Servers[1+i].Roles[0].Files = []string{mysqlScript, webScript}[round%2:]
			}
			to.Files = append(to.Files, contract.File{Digest: mysqlScript, Size: 11, Name: "mysql.sh"})
			b.publish(t, to)
			m := member.Join(b.session(t, "head"), site, "head", tokenOf("head"))
			if s, err := m.Plan(t.Context()); err != nil || string(s.Roles[0].Source) != string(wide(size)) {
				t.Fatalf("round %d: the plan did not arrive whole: %v", round, err)
			}
			if live, err := deploy.ReadPlan(t.Context(), b.operator(t), site, secret); err != nil || len(live.Servers[0].Roles[0].Source) != size {
				t.Fatalf("round %d: the whole plan did not arrive: %v", round, err)
			}
			for i := range 10 {
				m := member.Join(b.session(t, contract.ServerPath(fmt.Sprintf("node/%d", i))), site, contract.ServerPath(fmt.Sprintf("node/%d", i)), tokenOf(contract.ServerPath(fmt.Sprintf("node/%d", i))))
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
		names, err := b.operator(t).Children(t.Context(), site.ServerPlan("head"))
		if err != nil || len(names) != 0 {
			t.Errorf("parts are left over: %q, %v", names, err)
		}
	})
}

// An agent that reads a plan in parts while these are replaced gets one or the other.
func TestReadingAPlanWhileItChanges(t *testing.T) {
	b := inMemory()
	at := func(n int) *contract.Plan {
		p := fanOut(1)
		p.Servers[0].Roles[0].Source = json.RawMessage(`"` + strings.Repeat(fmt.Sprint(n%10), 1_000_000) + `"`)
		return p
	}
	b.publish(t, at(0))
	over := make(chan error)
	go func() {
		var err error
		for n := 1; n < 8 && err == nil; n++ {
			p := at(n)
			_, err = deploy.Publish(context.Background(), b.open(t), publication(p, func(w *deploy.Publication) { w.Now = noon.Add(time.Duration(n)) }))
		}
		over <- err
	}()
	m := member.Join(b.session(t, "head"), site, "head", tokenOf("head"))
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
