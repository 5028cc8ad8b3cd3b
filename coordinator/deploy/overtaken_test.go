package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// stalled is a store that does something else, once, before it lists or deletes a node.
// It is asked by several at the same time.
type stalled struct {
	store.Session
	list, drop func(store.Path) bool
	do         func(drop func())
	begun      atomic.Bool
}

func (s *stalled) Children(ctx context.Context, path store.Path) ([]string, error) {
	if s.list != nil && s.list(path) && s.begun.CompareAndSwap(false, true) {
		s.do(nil)
	}
	return s.Session.Children(ctx, path)
}

func (s *stalled) DeleteTree(ctx context.Context, path store.Path) (err error) {
	drop := func() { err = s.Session.DeleteTree(ctx, path) }
	if s.drop != nil && s.drop(path) && s.begun.CompareAndSwap(false, true) {
		s.do(drop)
		return err
	}
	drop()
	return err
}

// large is a plan that lies in parts, which differ by a mark.
func large(mark string) *contract.Plan {
	value, _ := json.Marshal(mark + strings.Repeat("x", 70<<10))
	return deploytest.WithUpdate(func(p *contract.Plan) {
		r := &p.Servers[0].Roles[0]
		r.Inputs = append(r.Inputs, contract.Input{Name: "big", Time: contract.Static, Expr: value, At: map[string]contract.Position{}})
	})
}

// A change that has been made deletes the parts of what it replaced: not those of the
// next change, even if that brings the same text back.
func TestPartsOfALaterChangeStay(t *testing.T) {
	below := func(path store.Path) bool {
		return strings.HasPrefix(string(path), string(deploytest.Site.Plan())+"/")
	}
	for name, at := range map[string]*stalled{
		"before it lists":   {list: func(path store.Path) bool { return path == deploytest.Site.Plan() }},
		"before it deletes": {drop: below},
		"before a server's": {drop: func(path store.Path) bool {
			return strings.HasPrefix(string(path), string(deploytest.Site.ServerPlan("db")))
		}},
		"before it lists one": {list: func(path store.Path) bool { return path == deploytest.Site.ServerPlan("db") }},
	} {
		t.Run(name, func(t *testing.T) {
			b := deploytest.InMemory()
			b.Publish(t, deploytest.WithUpdate())
			before := large("before")
			b.Publish(t, before)
			s, played := at, false
			s.Session = b.Open(t)
			s.do = func(drop func()) {
				played = true
				b.Publish(t, before)
				if drop != nil {
					drop()
				}
			}
			to := large("to")
			_, err := deploy.Publish(t.Context(), s, deploytest.Publication(to))
			if err != nil && !errors.Is(err, deploy.ErrOvertaken) || !played {
				t.Errorf("the first change: %v, overtaken: %v", err, played)
			}
			if live, err := deploy.ReadPlan(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret); err == nil && string(deploytest.Text(live)) == string(deploytest.Text(to)) {
				before = to // it came after the other
			}
			b.ExpectWhole(t, before)
		})
	}
}

// A change that has been made deletes files that nobody uses: not those that the next
// change has begun to use.
func TestFilesOfALaterChangeStay(t *testing.T) {
	with := func(content string) *contract.Plan {
		return deploytest.WithUpdate(func(p *contract.Plan) {
			file := deploytest.Script(content)
			r := &p.Servers[0].Roles[0]
			r.Files = append(r.Files, file)
			p.Files = append(p.Files, contract.File{Digest: file, Size: int64(len(content)), Name: "more.sh"})
		})
	}
	first := deploytest.Script("echo one\n")
	moments := map[string]*stalled{
		"before it lists":   {list: func(path store.Path) bool { return path == deploytest.Site.Files() }},
		"before it deletes": {drop: func(path store.Path) bool { return path == deploytest.Site.File(first) }},
	}
	for name, at := range moments {
		t.Run(name, func(t *testing.T) {
			b := deploytest.InMemory()
			b.Publish(t, with("echo one\n"))
			b.Publish(t, with("echo two\n"))
			last := with("echo one\n") // of which a file is left over
			s, played := at, false
			s.Session = b.Open(t)
			s.do = func(drop func()) {
				played = true
				// The next change begins, and the file goes when that has seen it.
				second := &deploytest.Between{Session: b.Open(t), When: func(ops []store.Op) bool { return len(ops) > 2 }, Do: func() {
					if drop != nil {
						drop()
					}
				}}
				if _, err := deploy.Publish(t.Context(), second, deploytest.Publication(last)); err != nil {
					t.Errorf("the second change: %v", err)
				}
			}
			to := with("echo three\n")
			_, err := deploy.Publish(t.Context(), s, deploytest.Publication(to))
			if err != nil && !errors.Is(err, deploy.ErrOvertaken) || !played {
				t.Errorf("the first change: %v, overtaken: %v", err, played)
			}
			b.ExpectWhole(t, last)
		})
	}
	t.Run("after it was made", func(t *testing.T) {
		b := deploytest.InMemory()
		b.Publish(t, with("echo one\n"))
		b.Publish(t, with("echo two\n"))
		last := with("echo one\n")
		s := &afterwards{Session: b.Open(t), path: deploytest.Site.Plan(), do: func() { b.Publish(t, last) }}
		to := with("echo three\n")
		if _, err := deploy.Publish(t.Context(), s, deploytest.Publication(to)); err != nil || s.do != nil {
			t.Errorf("the first change: %v", err)
		}
		b.ExpectWhole(t, last)
	})
}

// afterwards is a store that does something else, once, after a node was written.
type afterwards struct {
	store.Session
	path store.Path
	do   func()
}

func (s *afterwards) Commit(ctx context.Context, ops ...store.Op) error {
	err := s.Session.Commit(ctx, ops...)
	for _, op := range ops {
		if do := s.do; do != nil && op.Write && op.Path == s.path {
			s.do = nil
			do()
		}
	}
	return err
}

// publishing applies a plan, and does something else before the part of a server is written.
func publishing(t *testing.T, b deploytest.Bed, p *contract.Plan, of contract.ServerPath, do func()) error {
	t.Helper()
	s := &deploytest.Between{Session: b.Open(t), Do: do, When: func(ops []store.Op) bool {
		return slices.ContainsFunc(ops, func(op store.Op) bool { return op.Write && op.Path == deploytest.Site.ServerPlan(of) })
	}}
	_, err := deploy.Publish(t.Context(), s, deploytest.Publication(p))
	return err
}

// A change is overtaken by one that leaves a server as it is: the first one writes nothing for it.
func TestAnOvertakenChangeWritesNoServersPart(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.WithUpdate())
	before := b.Attacker(t).Read(deploytest.Site.ServerPlan("app"))
	first := deploytest.WithUpdate(func(p *contract.Plan) { p.Servers[1].Roles[0].Timeout = 77 })
	err := publishing(t, b, first, "app", func() {
		b.Publish(t, deploytest.WithUpdate(func(p *contract.Plan) { p.Servers[0].Roles[0].Timeout = 88 }))
	})
	if !errors.Is(err, deploy.ErrOvertaken) {
		t.Errorf("the first one: %v", err)
	}
	if now := b.Attacker(t).Read(deploytest.Site.ServerPlan("app")); now != before {
		t.Errorf("it has written %s", now)
	}
}

// A machine is replaced before a change reaches its server: nothing is asked of the one before.
func TestAChangeAsksTheMachineThatIsThere(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.WithUpdate())
	m := b.Agent(t, "app")
	done := protocol.ServerState{Phase: protocol.PhaseDone, Roles: []protocol.RoleState{{Name: "web", Status: protocol.RoleDone}}}
	if err := m.Report(t.Context(), done, nil); err != nil {
		t.Fatal(err)
	}
	changed := deploytest.WithUpdate(func(p *contract.Plan) {
		p.Servers[1].Roles[0].Source = p.Servers[0].Roles[0].Source
		p.Servers[1].Roles[0].Hooks = []contract.Task{{Name: contract.HookUpdate}}
	})
	replace := func() {
		next := member.Join(b.Session(t, "app"), deploytest.Site, "app", deploytest.TokenOf("app"))
		if _, err := next.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		deploytest.Enrolled(t, next, "the next", false)
	}
	if err := publishing(t, b, changed, "app", replace); err != nil {
		t.Fatal(err)
	}
	asked, err := deploytest.Reading(t, b.Operator(t)).Requests(t.Context(), "app")
	if err != nil || len(asked.Requests) > 0 {
		t.Errorf("%+v, %v", asked, err)
	}
}
