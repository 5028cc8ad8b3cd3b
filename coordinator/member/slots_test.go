package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// scaled is a group that scales, with so many slots; each member has a cache and a web
// server, which read a secret.
func scaled(slots int) *contract.Plan {
	p := &contract.Plan{Format: contract.Format, Compiler: "hotc test", Template: "site.yaml", Signal: "none",
		Secrets: []contract.Secret{{Name: "db_password", Cell: deploytest.GivenPassword, At: "site.yaml:2:3", Declaration: json.RawMessage(`{}`)}}}
	for i := range slots {
		for _, name := range []string{"web", "cache"} {
			path := contract.ServerPath(fmt.Sprintf("app/%d/%s", i, name))
			cell := contract.CellName(path) + ".r"
			p.Servers = append(p.Servers, contract.Server{Path: path, At: "node.yaml:3:3", Slot: &contract.Slot{Group: "app", Number: i, Shared: contract.ServerPath("app/*/" + name)},
				Roles: []contract.Role{deploytest.Reader(deploytest.GivenPassword)}})
			p.Cells = append(p.Cells, contract.Cell{Name: cell, Server: path, Role: "r"})
		}
	}
	return p
}

// claim is a member's wish for a slot, on behalf of one of its servers.
func claim(name string) *member.Claim {
	return &member.Claim{Deployment: deploytest.Site, Slot: &contract.BootSlot{Path: "app/*", Member: name}, Server: "app/*/web", Stack: "stack-1", IfDown: 50 * time.Millisecond, Now: func() time.Time { return deploytest.Noon }}
}

// Members that come at once get slots of their own, the lowest ones, and all servers of a
// member the same; one that comes back has the slot that it had.
func TestMembersTakeSlots(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		type result struct {
			member string
			number int
			err    error
		}
		results := make(chan result)
		waiting := make(chan string, 6)
		for _, member := range []string{"m1", "m2", "m3"} {
			for _, name := range []string{"web", "cache"} {
				s := b.Open(t, deploytest.SharedBy(name))
				go func() {
					c := claim(member)
					c.Waiting = func(why string) { waiting <- why }
					n, err := c.Take(t.Context(), s)
					results <- result{member, n, err}
				}()
			}
		}
		for range 6 {
			if why := deploytest.Soon(t, waiting); !strings.Contains(why, "is not applied yet") && !strings.Contains(why, "is being applied") {
				t.Errorf("it waits: %s", why)
			}
		}
		b.Publish(t, scaled(5))
		slots := map[string]int{}
		for range 6 {
			r := deploytest.Soon(t, results)
			if before, known := slots[r.member]; r.err != nil || known && before != r.number {
				t.Errorf("%+v, and its other server %d", r, before)
			}
			slots[r.member] = r.number
		}
		taken := []int{slots["m1"], slots["m2"], slots["m3"]}
		if slices.Sort(taken); !slices.Equal(taken, []int{0, 1, 2}) {
			t.Errorf("slots %v", slots)
		}
		again := claim("m2")
		again.Enrolled = true
		if n, err := again.Take(t.Context(), b.Open(t, deploytest.SharedBy("web"))); err != nil || n != slots["m2"] {
			t.Errorf("after a reboot: %d, %v", n, err)
		}
	})
}

// The tokens of slots are digests of the one that all members have; who has one is that
// slot's server and nobody else.
func TestRightsOfSlots(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := scaled(2)
		b.Publish(t, p)
		b.Give(t, p, `"hush-hush"`)
		c := claim("m1")
		m := deploytest.Enrolled(t, b.InSlot(t, c, "web", must(c.Take(t.Context(), b.Open(t, deploytest.SharedBy("web"))))), "life-1", false)
		if err := m.Put(t.Context(), "app/0/web.r", json.RawMessage(`null`), deploytest.Noon); err != nil {
			t.Errorf("its own cell: %v", err)
		}
		deploytest.ExpectValue(t, m, deploytest.GivenPassword, `"hush-hush"`)
		own := b.Open(t, protocol.ServerCredential("app/0/web", protocol.SlotToken(deploytest.Secret.ServerToken(deploytest.Site, "app/*/web"), 0)))
		group := b.Open(t, deploytest.SharedBy("web"))
		for _, c := range []struct {
			what  string
			store store.Session
			path  store.Path
			err   error
		}{
			{"its own plan", own, deploytest.Site.ServerPlan("app/0/web"), nil},
			{"the other slot's plan", own, deploytest.Site.ServerPlan("app/1/web"), store.ErrRefused},
			{"the member's other server's plan", own, deploytest.Site.ServerPlan("app/0/cache"), store.ErrRefused},
			{"the group", own, deploytest.Site.Group("app"), store.ErrRefused},
			{"the group, with the shared token", group, deploytest.Site.Group("app"), nil},
			{"a slot, with the shared token", group, deploytest.Site.ServerPlan("app/0/web"), store.ErrRefused},
			{"the plan, with the shared token", group, deploytest.Site.Plan(), store.ErrRefused},
		} {
			if _, err := c.store.Read(t.Context(), c.path); !errors.Is(err, c.err) {
				t.Errorf("%s: %v, want %v", c.what, err, c.err)
			}
		}
		if _, err := claim("m9").Take(t.Context(), b.Open(t, protocol.ServerCredential("app/*/web", deploytest.Another.ServerToken(deploytest.Site, "app/*/web")))); !errors.Is(err, store.ErrRefused) {
			t.Errorf("another secret's token: %v", err)
		}
		elsewhere := claim("m9")
		elsewhere.Slot.Path = "no/*"
		if _, err := elsewhere.Take(t.Context(), group); !errors.Is(err, member.ErrNotInPlan) {
			t.Errorf("a group that the plan has not: %v", err)
		}
	})
}

// Where all slots have been taken, one that nobody is seen in goes to the next member. Who
// had it is fenced, and so is one that was too slow to enrol; and who comes back without
// it takes no other.
func TestSlotsOfMembersThatAreGone(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, scaled(2))
		enrol := func(c *member.Claim, name, id string) (*member.Session, error) {
			m := b.InSlot(t, c, name, must(c.Take(t.Context(), b.Open(t, deploytest.SharedBy(name)))))
			return m.Enrol(t.Context(), id, "i-"+id, false, deploytest.Noon)
		}
		c1, c2 := claim("m1"), claim("m2")
		present := deploytest.Within(t, deploytest.Patience)
		stays, err := enrol(c1, "cache", "stays") // one of its servers is enough
		if err != nil || stays.Announce(present, protocol.PresenceRecord{Incarnation: 1}) != nil {
			t.Fatal(err)
		}
		gone, err := enrol(c2, "web", "gone")
		if err != nil {
			t.Fatal(err)
		}
		slow := b.InSlot(t, c2, "cache", 1)

		c3 := claim("m3")
		c3.Full = func(int) { t.Error("there is room") }
		next, err := enrol(c3, "web", "next")
		if err != nil {
			t.Fatal(err)
		}
		if err := next.Put(t.Context(), "app/1/web.r", json.RawMessage(`null`), deploytest.Noon); err != nil {
			t.Error(err)
		}
		if err := gone.Put(t.Context(), "app/1/web.r", json.RawMessage(`null`), deploytest.Noon); !errors.Is(err, member.ErrFenced) {
			t.Errorf("who had the slot writes: %v", err)
		}
		if _, err := slow.Enrol(t.Context(), "slow", "i-slow", false, deploytest.Noon); !errors.Is(err, member.ErrFenced) {
			t.Errorf("who was slow enrols: %v", err)
		}
		c2.Enrolled = true
		if _, err := c2.Take(t.Context(), b.Open(t, deploytest.SharedBy("web"))); !errors.Is(err, member.ErrFenced) || !strings.Contains(err.Error(), "another member took its slot") {
			t.Errorf("who comes back: %v", err)
		}

		if err := next.Announce(present, protocol.PresenceRecord{Incarnation: 2}); err != nil {
			t.Fatal(err)
		}
		full := make(chan int, 1)
		c4 := claim("m4")
		c4.Full = func(slots int) { full <- slots }
		ended := make(chan error, 1)
		ctx := deploytest.Within(t, deploytest.Patience)
		store := b.Open(t, deploytest.SharedBy("web"))
		go func() {
			_, err := c4.Take(ctx, store)
			ended <- err
		}()
		if slots := deploytest.Soon(t, full); slots != 2 {
			t.Errorf("%d slots", slots)
		}
		select {
		case err := <-ended:
			t.Errorf("a third member of two: %v", err)
		default:
		}
	})
}

// A member whose slot goes to another one while its server enrols is fenced like one that
// comes later.
func TestASlotThatIsLostWhileItsServerEnrols(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, scaled(1))
		c := claim("m1")
		number := must(c.Take(t.Context(), b.Open(t, deploytest.SharedBy("web"))))
		lost := false
		m := b.JoinSlot(t, c, "web", number, func(s store.Session) store.Session {
			return &deploytest.Between{Session: s, When: func(ops []store.Op) bool { return writes(ops, deploytest.Site.Server("app/0/web")) }, Do: func() {
				lost = must(claim("m2").Take(t.Context(), b.Open(t, deploytest.SharedBy("web")))) == number
			}}
		})
		if _, err := m.Enrol(t.Context(), "slow", "i-slow", false, deploytest.Noon); !errors.Is(err, member.ErrFenced) || !lost {
			t.Errorf("it enrols: %v (its slot was taken: %v)", err, lost)
		}
	})
}

// Two members take a slot at the same time: each gets its own.
func TestTwoMembersTakeASlotAtOnce(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, scaled(2))
	second := -1
	s := &deploytest.Between{Session: b.Open(t, deploytest.SharedBy("web")), When: func(ops []store.Op) bool { return writes(ops, deploytest.Site.Group("app")) }, Do: func() {
		second = must(claim("m2").Take(t.Context(), b.Open(t, deploytest.SharedBy("web"))))
	}}
	if first := must(claim("m1").Take(t.Context(), s)); first != 1 || second != 0 {
		t.Errorf("the slots are %d and %d", first, second)
	}
	for want, name := range []string{"m2", "m1"} {
		if n := must(claim(name).Take(t.Context(), b.Open(t, deploytest.SharedBy("web")))); n != want {
			t.Errorf("%s is in slot %d", name, n)
		}
	}
}

func writes(ops []store.Op, path store.Path) bool {
	return slices.ContainsFunc(ops, func(op store.Op) bool { return op.Write && op.Path == path })
}

// A slot is given to another member when nobody has been seen in it for IfDown without a
// break. (The clock stands while anybody can do something.)
func TestASlotThatSomebodyComesBackTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := deploytest.InMemory()
		b.Publish(t, scaled(2))
		come := func(number int) (leave func()) {
			server := contract.ServerPath(fmt.Sprintf("app/%d/web", number))
			s := b.Open(t, protocol.ServerCredential(server, protocol.SlotToken(deploytest.Secret.ServerToken(deploytest.Site, "app/*/web"), number)))
			session, leave := context.WithCancel(t.Context())
			if err := s.Announce(session, deploytest.Site.Presence(server), nil); err != nil {
				t.Fatal(err)
			}
			return leave
		}
		for i, member := range []string{"m1", "m2"} {
			if n := must(claim(member).Take(t.Context(), b.Open(t, deploytest.SharedBy("web")))); n != i {
				t.Fatalf("%s has slot %d", member, n)
			}
		}
		defer come(0)()
		leave := come(1)
		full := 0
		c, taken := claim("m3"), make(chan string, 1)
		c.IfDown, c.Full = time.Minute, func(int) { full++ }
		s := b.Open(t, deploytest.SharedBy("web"))
		go func() {
			n, err := c.Take(t.Context(), s)
			taken <- fmt.Sprint(n, " ", err)
		}()
		expect := func(when string, told int) {
			t.Helper()
			synctest.Wait()
			if len(taken) > 0 || full != told {
				t.Fatalf("%s: taken %v, told %d times that the group is full", when, len(taken) > 0, full)
			}
		}
		const nearly = time.Minute * 9 / 10 // it looks now and then
		time.Sleep(time.Minute / 2)
		leave()
		time.Sleep(nearly)
		expect("somebody has been gone for less than a minute", 0)
		leave = come(1)
		time.Sleep(time.Hour)
		expect("everybody is there", 1)
		leave()
		time.Sleep(nearly)
		expect("somebody is gone again", 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case got := <-taken:
			if got != "1 <nil>" {
				t.Errorf("it takes slot %s", got)
			}
		default:
			t.Error("nobody has been seen for more than a minute, and the slot is not taken")
		}
	})
}

// The members of a stack that is made anew under the same name begin with the first slot:
// those of the stack before are gone.
func TestSlotsOfAStackMadeAnew(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, scaled(3))
	take := func(stack, member string, want int) {
		t.Helper()
		c := claim(member)
		c.Stack = stack
		if n, err := c.Take(t.Context(), b.Open(t, deploytest.SharedBy("web"))); err != nil || n != want {
			t.Errorf("%s of %s has slot %d, want %d (%v)", member, stack, n, want, err)
		}
	}
	take("stack-1", "m1", 0)
	take("stack-1", "m2", 1)
	take("stack-2", "m3", 0)
	take("stack-2", "m4", 1)
	take("stack-2", "m5", 2)
	take("stack-2", "m3", 0)
}

// A deployment that was made anew knows nobody.
func TestSlotsOfADeploymentMadeAnew(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, scaled(2))
	c := claim("m1")
	c.Enrolled = true
	if _, err := c.Take(t.Context(), b.Open(t, deploytest.SharedBy("web"))); !errors.Is(err, member.ErrDestroyed) {
		t.Errorf("%v", err)
	}
}

// The token that all members have cannot be good for one enrolment, and a live group keeps
// its slots.
func TestPlansWithSlotsThatAreRefused(t *testing.T) {
	b := deploytest.InMemory()
	p := scaled(2)
	_, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(p, deploytest.Enrolling(protocol.EnrolOnce)))
	if shared := (*deploy.SharedTokenError)(nil); !errors.As(err, &shared) || shared.Group != "app" {
		t.Errorf("tokens that are good for one enrolment: %v", err)
	}
	b.Publish(t, p)
	p.Servers[0].Slot = nil
	_, err = b.Apply(t, p)
	if changed := (*deploy.ChangedPlanError)(nil); !errors.As(err, &changed) || !strings.Contains(err.Error(), "server app/0/web: slot in a scaling group changed") {
		t.Errorf("a slot less: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A member of a group writes anything where it stands who has which slot: its siblings take
// that for no news of the deployment, and have their slots again.
func TestHostileSlots(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, scaled(2))
		shared := deploytest.Secret.ServerToken(deploytest.Site, "app/*/web")
		known := map[string]*protocol.Identity{}
		for i, name := range []string{"m1", "m2"} {
			c := claim(name)
			if n := must(c.Take(t.Context(), b.Open(t, deploytest.SharedBy("web")))); n != i {
				t.Fatalf("%s has slot %d", name, n)
			}
			server, d := c.Slot.Within("app/*/web", i), &deploytest.Disk{}
			token := protocol.SlotToken(shared, i)
			m := member.Join(b.Open(t, protocol.ServerCredential(server, token)), deploytest.Site, server, token)
			m.UseMemory(d)
			if _, err := m.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			known[name] = d.Remembered().Identity
		}
		again := func(member string) (int, error) {
			c := claim(member)
			c.Enrolled, c.Token, c.Known = true, shared, known[member]
			return c.Take(t.Context(), b.Open(t, deploytest.SharedBy("web")))
		}
		sibling := b.Open(t, deploytest.SharedBy("web"))
		for _, text := range []string{``, `{}`, `{"slots":[]}`, `{"slots":[{},{}]}`, `null`, `{"within":["/web"],"slots":[{}]}`, `{"within":["/web"],"slots":[{"member":"m2"},{"member":"m1"}]}`, `{"slots":[{},{},{},{"member":"m1"},{"member":"m2"}]}`} {
			deploytest.Write(t, sibling, deploytest.Site.Group("app"), text)
			for want, member := range []string{"m1", "m2"} {
				if n, err := again(member); err != nil || n != want {
					t.Errorf("%s: %s has slot %d, %v", text, member, n, err)
				}
			}
			if n, err := claim("m1").Take(t.Context(), sibling); err != nil || n != 0 { // it stands there again
				t.Errorf("%s: the first member is in slot %d, %v", text, n, err)
			}
		}
		// nor does a new member take the slot of one that is there
		there := b.Open(t, protocol.ServerCredential("app/0/web", protocol.SlotToken(shared, 0)))
		if err := there.Announce(t.Context(), deploytest.Site.Presence("app/0/web"), nil); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{`{"within":["/web"],"slots":[{},{}]}`, `{"within":[],"slots":[{},{}]}`, `{"within":["/web"],"slots":[{"member":"m1","stack":"x"},{}]}`} {
			deploytest.Write(t, sibling, deploytest.Site.Group("app"), text)
			if n, err := claim("m9").Take(t.Context(), sibling); err != nil || n != 1 {
				t.Errorf("%s: a new member takes slot %d, %v", text, n, err)
			}
		}
		var unreadable *protocol.RecordError
		for _, text := range []string{`{{{`, `[]`, `{"slots":5}`, `{"slots":[` + strings.Repeat(`{},`, 200_000) + `{}]}`, `{"slots":` + deploytest.Deep("[", "", "]") + `}`} {
			deploytest.Write(t, sibling, deploytest.Site.Group("app"), text)
			if _, err := again("m1"); !errors.As(err, &unreadable) || unreadable.Server != "app/*" {
				t.Errorf("%.40s: %v", text, err)
			}
		}
		deploytest.Write(t, sibling, deploytest.Site.Group("app"), `{}`)
		if _, err := claim("m3").Take(t.Context(), sibling); !errors.As(err, &unreadable) {
			t.Errorf("a new member finds no slots: %v", err)
		}

		// the deployment is made anew: who knows the one before has no place
		if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
			t.Fatal(err)
		}
		b.Publish(t, scaled(2))
		if _, err := again("m1"); !errors.Is(err, member.ErrDestroyed) {
			t.Errorf("in a deployment made anew: %v", err)
		}
	})
}
