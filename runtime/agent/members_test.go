package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
)

// joined makes a role follow who is in the group web, of which Heat was told to make so many.
func joined(count, possible int, change ...func(*contract.Input)) func(*contract.Role) {
	return func(r *contract.Role) {
		in := contract.Input{Name: "list", Time: contract.Run, At: map[string]contract.Position{"": "site.yaml:9:9"}, Watch: true}
		var items []any
		for n := range possible {
			cell := contract.CellName(fmt.Sprintf("web/%d.r:out", n))
			items = append(items, map[string]any{"$cell": cell})
			in.Reads = append(in.Reads, cell)
			r.Follows = append(r.Follows, contract.Follow{Cell: cell, Watch: true, Member: &contract.Member{Group: "web", Number: n, Server: contract.ServerPath(fmt.Sprintf("web/%d", n))}})
		}
		in.Expr, _ = json.Marshal(map[string]any{"$joined": []any{"web", count, items}})
		for _, c := range change {
			c(&in)
		}
		r.Inputs = append(r.Inputs, in)
	}
}

// balanced is a group of at most four members and a balancer that follows who is in it.
func balanced(t *testing.T, count int, web func(b *bed, n int) contract.Role, change ...func(*contract.Input)) (*bed, *running) {
	t.Helper()
	b := newBed(t)
	for n := range 4 {
		b.server(contract.ServerPath(fmt.Sprintf("web/%d", n)), web(b, n))
	}
	text := `echo $HOTC_HOOK $(hotc-agent get list) >>../count`
	b.server("lb", with(b.sh("r", text), joined(count, 4, change...), b.onUpdate(text)))
	b.apply(func(w *deploy.Publication) { w.Plan.Signal = contract.RelaySignals })
	return b, b.start("lb", stays)
}

// named is a member that publishes its name, and which machine it is.
func named(b *bed, n int) contract.Role {
	return with(b.sh("r", fmt.Sprintf(`printf w%d$INSTANCE | hotc-agent put out`, n)), output("out", contract.String))
}

// heat is a relay that says which machines are gone.
func (b *bed) heat(group string, gone map[contract.ServerPath]int) {
	b.t.Helper()
	key, err := b.secret.Relay(deployment)
	if err != nil {
		b.t.Fatal(err)
	}
	store := b.tree.Open(key.Credential())
	defer store.Close()
	s, err := relay.Join(b.t.Context(), store, key)
	if err != nil {
		b.t.Fatal(err)
	}
	before, err := s.Members(b.t.Context(), group)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := s.SayMembers(b.t.Context(), before, protocol.MembersRecord{Gone: gone}); err != nil {
		b.t.Fatal(err)
	}
}

// Members join, leave and come back on other machines: the balancer's role runs for each, once.
func TestABalancerFollowsWhoIsInItsGroup(t *testing.T) {
	b, lb := balanced(t, 2, named)
	b.awaitState("lb", blockedOn("web/0.r:out"))
	b.start("web/0", stays)
	b.awaitState("lb", blockedOn("web/1.r:out"))
	one := b.start("web/1", stays)
	b.awaitState("lb", inPhase(protocol.PhaseDone))
	b.start("web/2", stays)
	b.awaitState("lb", upTo(2, protocol.RoleDone))
	one.cancel() // that its agent is gone deletes nothing
	one.gone()
	b.heat("web", map[contract.ServerPath]int{"web/1": 1})
	b.awaitState("lb", upTo(3, protocol.RoleDone))
	b.start("web/1", stays, machine("again"))
	b.awaitState("lb", upTo(4, protocol.RoleDone))
	b.heat("web", map[contract.ServerPath]int{"web/0": 1, "web/1": 2, "web/2": 1})
	b.awaitState("lb", upTo(5, protocol.RoleDone))
	lb.ran(`["w0","w1"]` + "\n" + `update ["w0","w1","w2"]` + "\n" + `update ["w0","w2"]` + "\n" + `update ["w0","w1again","w2"]` + "\n" + "update []\n")
}

func runs(s protocol.ServerState) bool {
	return len(s.Roles) > 0 && s.Roles[0].Status == protocol.RoleRunning
}

// gone waits for an agent's end.
func (r *running) gone() {
	err := <-r.ended
	r.ended <- err
}

func machine(id string) func(*agent.Config) {
	return func(c *agent.Config) {
		c.Instance, c.State = id, c.State+id
		c.IfDown = time.Millisecond // no relay is there to say whether Heat has it
		c.Environment = append(c.Environment, "INSTANCE="+id)
	}
}

// A member that fails is left out, in the first list too, and in it once it has been mended: whether
// it fails before it has published or after that.
func TestAMemberThatFailsIsLeftOut(t *testing.T) {
	const fails, publishes = `[ -e ../go ] || exit 3`, `printf w1 | hotc-agent put out`
	for name, source := range map[string]string{"before": fails + "; " + publishes, "after": publishes + "; " + fails} {
		t.Run(name, func(t *testing.T) {
			b, lb := balanced(t, 2, func(b *bed, n int) contract.Role {
				if n == 1 {
					return with(b.sh("r", source), output("out", contract.String))
				}
				return named(b, n)
			})
			one := b.start("web/1", stays)
			b.awaitState("web/1", inPhase(protocol.PhaseFailed))
			b.start("web/0", stays)
			b.awaitState("lb", inPhase(protocol.PhaseDone))
			goOn(t, one)
			b.post("web/1", protocol.Request{ID: "retry", Kind: protocol.Retry, Role: "r"}, "web/1.r", "web/1.r:out")
			b.awaitState("lb", upTo(2, protocol.RoleDone))
			lb.ran(`["w0"]` + "\n" + `update ["w0","w1"]` + "\n")
		})
	}
}

// With at_least the first list needs no more; those that come then are news.
func TestAtLeastSoManyMembers(t *testing.T) {
	b, lb := balanced(t, 4, named, func(in *contract.Input) { in.AtLeast = 2 })
	b.start("web/3", stays)
	b.awaitState("web/3", inPhase(protocol.PhaseDone))
	b.start("web/1", stays)
	b.awaitState("lb", inPhase(protocol.PhaseDone))
	b.start("web/0", stays)
	b.awaitState("lb", upTo(2, protocol.RoleDone))
	lb.ran(`["w1","w3"]` + "\n" + `update ["w0","w1","w3"]` + "\n")
}

// Who is gone before it has written anything is not waited for, and neither is one whose
// agent has gone.
func TestTheFirstListWaitsForNobodyWhoIsGone(t *testing.T) {
	slow := func(b *bed, n int) contract.Role {
		if n == 0 {
			return named(b, n)
		}
		return with(b.sh("r", `echo >../began; while ! [ -e ../go ]; do sleep 0.05; done; printf w | hotc-agent put out`), output("out", contract.String))
	}
	b, lb := balanced(t, 3, slow, func(in *contract.Input) { in.IfDown = 0.2 })
	b.start("web/0", stays)
	b.start("web/1", stays)
	b.awaitState("lb", blockedOn("web/1.r:out"))
	b.awaitState("web/1", runs)
	b.heat("web", map[contract.ServerPath]int{"web/1": 1})
	b.awaitState("lb", blockedOn("web/2.r:out"))
	two := b.start("web/2", stays)
	b.awaitState("web/2", runs)
	two.cancel()
	two.gone()
	b.awaitState("lb", inPhase(protocol.PhaseDone))
	lb.ran(`["w0"]` + "\n")
}

// What nobody's relay has signed is not believed, and neither is what is older.
func TestForgedMembers(t *testing.T) {
	b, lb := balanced(t, 2, named)
	b.start("web/0", stays)
	b.start("web/1", stays)
	b.awaitState("lb", inPhase(protocol.PhaseDone))
	path, operator := deployment.Members("web"), b.operator()
	write := func(data []byte) {
		t.Helper()
		if err := operator.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte(`{"gone":{"web/0":1}}`))
	lb.await("a relay")
	b.heat("web", map[contract.ServerPath]int{})
	older, err := operator.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	b.heat("web", map[contract.ServerPath]int{"web/0": 1})
	b.awaitState("lb", upTo(2, protocol.RoleDone))
	write(older.Data)
	b.start("web/2", stays)
	b.awaitState("lb", upTo(3, protocol.RoleDone))
	lb.ran(strings.Join([]string{`["w0","w1"]`, `update ["w1"]`, `update ["w1","w2"]`, ""}, "\n"))
}

// A reader that comes late waits for the machine that is to come: what the one before has left,
// a value or a failure, is nothing to it.
func TestAFirstRunReadsNothingOfAMachineThatIsGone(t *testing.T) {
	for _, first := range []string{"printf x1 | hotc-agent put out", "exit 3"} {
		b := newBed(t)
		b.server("opt", with(b.sh("r", "[ $INSTANCE = 2 ] || { "+first+"; exit; }; printf x2 | hotc-agent put out"), output("out", contract.String)))
		text := `echo $HOTC_HOOK $(hotc-agent get in) >>../count`
		reader := with(b.sh("r", text), b.onUpdate(text), input("in", "opt.r:out", func(in *contract.Input) {
			in.Expr = json.RawMessage(`{"if@2018-08-31":[{"$deploy":"there"},{"$cell":"opt.r:out"},{"$absent":"it is not there"}]}`)
			in.Watch, in.Default = true, json.RawMessage(`"none"`)
		}))
		there := contract.HeatCell("there")
		reader.Follows = []contract.Follow{{Cell: there, Watch: true, Optional: true},
			{Cell: "opt.r:out", Watch: true, Optional: true, Perhaps: &contract.Perhaps{Server: "opt", If: []contract.CellName{there}}}}
		carried(b.server("web", reader), "there")
		b.apply(func(w *deploy.Publication) { w.Plan.Signal = contract.RelaySignals })
		one := b.start("opt", stays, machine("1"))
		b.awaitState("opt", func(s protocol.ServerState) bool {
			return s.Phase == protocol.PhaseDone || s.Phase == protocol.PhaseFailed
		})
		one.cancel()
		one.gone()
		b.heat("opt", map[contract.ServerPath]int{"opt": 1})
		web := b.start("web", stays, booted("there", "true"))
		b.awaitState("web", blockedOn("opt.r:out"))
		b.start("opt", stays, machine("2"))
		b.awaitState("web", inPhase(protocol.PhaseDone))
		web.ran("x2\n")
	}
}

// A server behind a condition comes and goes by what Heat decides. Its reader runs once for each:
// with the default at once, and with its value when that of the new machine is there, never with
// the one of a machine that is gone; whether its input says watch or not.
func TestAServerBehindAConditionIsFollowed(t *testing.T) {
	for _, watched := range []bool{true, false} {
		t.Run(fmt.Sprint("watched ", watched), func(t *testing.T) {
			b := newBed(t)
			b.server("opt", with(b.sh("r", `printf x$INSTANCE | hotc-agent put out`), output("out", contract.String)))
			text := `echo $HOTC_HOOK $(hotc-agent get in) >>../count`
			reader := with(b.sh("r", text), b.onUpdate(text), input("in", "opt.r:out", func(in *contract.Input) {
				in.Expr = json.RawMessage(`{"if@2018-08-31":[{"$deploy":"there"},{"$cell":"opt.r:out"},{"$absent":"it is not there"}]}`)
				in.Watch, in.Default = watched, json.RawMessage(`"none"`)
			}))
			there := contract.HeatCell("there")
			reader.Follows = []contract.Follow{{Cell: there, Watch: true, Optional: true},
				{Cell: "opt.r:out", Watch: watched, Optional: true, Perhaps: &contract.Perhaps{Server: "opt", If: []contract.CellName{there}}}}
			carried(b.server("web", reader), "there")
			b.apply(func(w *deploy.Publication) { w.Plan.Signal = contract.RelaySignals })
			decide := func(value string) {
				b.gives(map[contract.ServerPath]protocol.HeatValues{"web": {Instance: "i-web", Values: map[string]json.RawMessage{"there": json.RawMessage(value)}}})
			}
			web := b.start("web", stays, booted("there", "false"))
			b.awaitState("web", inPhase(protocol.PhaseDone))
			decide("true")
			first := b.start("opt", stays, machine("1"))
			b.awaitState("web", upTo(2, protocol.RoleDone))
			first.cancel()
			first.gone()
			b.heat("opt", map[contract.ServerPath]int{"opt": 1})
			decide("false")
			b.awaitState("web", upTo(3, protocol.RoleDone))
			decide("true")
			b.start("opt", stays, machine("2")) // what the machine before has left is nothing
			b.awaitState("web", upTo(4, protocol.RoleDone))
			decide("true")
			web.ran("none\nupdate x1\nupdate none\nupdate x2\n")
		})
	}
}

// A plan in which a group is larger is nothing to run for: who follows the group runs when the member
// joins, once. In one that is smaller it runs at once.
func TestAFollowedGroupGrowsByThePlan(t *testing.T) {
	b := newBed(t)
	text := `echo $HOTC_HOOK $(hotc-agent get list) >>../count`
	web := func(count int) {
		b.anew()
		for n := range count {
			b.server(contract.ServerPath(fmt.Sprintf("web/%d", n)), named(b, n))
		}
		b.server("lb", with(b.sh("r", text), joined(count, count), b.onUpdate(text)))
		b.apply(func(w *deploy.Publication) { w.Plan.Signal = contract.RelaySignals })
	}
	web(1)
	lb := b.start("lb", stays)
	b.start("web/0", stays)
	b.awaitState("lb", inPhase(protocol.PhaseDone))
	web(2)
	b.asPlanned("lb")
	b.start("web/1", stays)
	b.awaitState("lb", upTo(2, protocol.RoleDone))
	web(1)
	b.asPlanned("lb")
	lb.ran(`["w0"]` + "\n" + `update ["w0","w1"]` + "\n" + `update ["w0"]` + "\n")
}
