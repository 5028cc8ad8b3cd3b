package agent_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
)

// given makes an input of what Heat gives, which a relay carries; whether the role runs for
// it is said by what it has.
func given(name string, sources ...contract.Source) func(*contract.Role) {
	return func(r *contract.Role) {
		r.Inputs = append(r.Inputs, contract.Input{Name: name, Time: contract.Deploy, Expr: json.RawMessage(`{"$deploy":"` + name + `"}`), At: map[string]contract.Position{"": "site.yaml:9:9"}})
		r.Follows = append(r.Follows, contract.Follow{Cell: contract.HeatCell(name), Watch: r.Idempotent || len(r.Hooks) > 0, Sources: sources})
	}
}

// relayed says in the plan that a relay carries the server's values.
func carried(s *contract.Server, keys ...string) {
	s.Deploy = map[string]contract.DeployValue{}
	for _, key := range keys {
		s.Deploy[key] = contract.DeployValue{Expr: json.RawMessage(`{"get_param":"` + key + `"}`), At: "site.yaml:9:9", Carried: true}
	}
}

// booted is a machine whose user-data has a value.
func booted(key, value string) func(*agent.Config) {
	return func(c *agent.Config) { c.Boot.Deploy = map[string]json.RawMessage{key: json.RawMessage(value)} }
}

// gives is a relay that says what Heat gives machines, by their servers.
func (b *bed) gives(now map[contract.ServerPath]protocol.HeatValues) {
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
	before, err := s.Values(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := s.Say(b.t.Context(), before, now); err != nil {
		b.t.Fatal(err)
	}
}

func level(instance, value string) protocol.HeatValues {
	return protocol.HeatValues{Instance: instance, Values: map[string]json.RawMessage{"level": json.RawMessage(value)}}
}

// relayed is a server a whose role writes down the level that Heat gives, in one way or another.
func relayed(t *testing.T, changes ...func(*contract.Role)) *bed {
	t.Helper()
	b := newBed(t)
	carried(b.server("a", with(b.sh("r", `echo $HOTC_HOOK $(hotc-agent get level) >>../count`), append(changes, given("level"))...)), "level")
	b.apply(func(w *deploy.Publication) { w.Plan.Signal = contract.RelaySignals })
	return b
}

func idempotent(r *contract.Role) { r.Idempotent = true }

// What Heat gives otherwise than before reaches who can be brought to it, once; the same again
// is nothing, whoever says it and however it is written.
func TestWhatHeatGivesIsFollowed(t *testing.T) {
	b := relayed(t, idempotent)
	a := b.start("a", stays, booted("level", `{"a": 1, "b": [2]}`))
	b.awaitState("a", inPhase(protocol.PhaseDone))
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `{"b":[2],"a":1}`)})
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `null`)})
	b.awaitState("a", upTo(2, protocol.RoleDone))
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("another", `"not for this machine"`)})
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `"<high>"`)})
	b.awaitState("a", upTo(3, protocol.RoleDone))
	a.ran(`{"a":1,"b":[2]}` + "\nupdate null\nupdate <high>\n")
}

// A relay says what the plan lets it carry. What else its key signs, a hidden parameter for example,
// does not reach a role, neither before its run nor after, nor once the agent has started again;
// until a plan lets relays carry it.
func TestARelaySaysWhatItCarries(t *testing.T) {
	b := newBed(t)
	text := `echo $HOTC_HOOK $(hotc-agent get level) $(hotc-agent get pw) >>../count`
	pw := func(r *contract.Role) {
		r.Inputs = append(r.Inputs, contract.Input{Name: "pw", Time: contract.Deploy, Expr: json.RawMessage(`{"$deploy":"pw"}`), At: map[string]contract.Position{"": "site.yaml:10:9"}})
	}
	carried(b.server("a", with(b.sh("r", text), idempotent, given("level"), pw)), "level", "pw")
	server := &b.plan.Servers[0]
	hidden := server.Deploy["pw"]
	server.Deploy["pw"] = contract.DeployValue{Expr: hidden.Expr, At: hidden.At}
	relays := func(p *deploy.Publication) { p.Plan.Signal = contract.RelaySignals }
	b.apply(relays)
	says := func(level string) {
		b.gives(map[contract.ServerPath]protocol.HeatValues{"a": {Instance: "i-a", Values: map[string]json.RawMessage{
			"level": json.RawMessage(level), "pw": json.RawMessage(`"chosen"`), "other": json.RawMessage(`"chosen"`)}}})
	}
	boots := func(c *agent.Config) {
		c.Boot.Deploy = map[string]json.RawMessage{"level": json.RawMessage(`1`), "pw": json.RawMessage(`"hidden"`)}
	}
	says(`2`)
	a := b.start("a", stays, boots)
	b.awaitState("a", inPhase(protocol.PhaseDone))
	says(`3`)
	b.awaitState("a", upTo(2, protocol.RoleDone))
	a.cancel()
	a.gone()
	a = b.start("a", stays, boots)
	says(`4`)
	b.awaitState("a", upTo(3, protocol.RoleDone))
	server.Deploy["pw"] = hidden
	server.Roles[0] = with(b.sh("r", text), idempotent, given("level"), given("pw"))
	b.apply(relays)
	b.awaitState("a", upTo(4, protocol.RoleDone))
	a.ran("2 hidden\nupdate 3 hidden\nupdate 4 hidden\nupdate 4 chosen\n")
}

// A machine that was rebuilt boots with old user-data: what the relay says of it counts. A
// new machine of the name has newer user-data than what was said of the one before.
func TestTheNewestOfWhatHeatGivesCounts(t *testing.T) {
	b := relayed(t, idempotent)
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("one", `"second"`)})
	rebuilt := b.start("a", booted("level", `"first"`), machine("one"))
	rebuilt.mustBeDone()
	replaced := b.start("a", booted("level", `"third"`), machine("two"))
	replaced.mustBeDone()
	replaced.ran("second\nthird\n")
}

// An agent that was away runs once for the last of what Heat gave meanwhile; one that is
// killed in the middle begins again, or says that it was interrupted.
func TestWhatHeatGaveMeanwhile(t *testing.T) {
	b := relayed(t, idempotent)
	b.start("a", booted("level", `1`)).mustBeDone()
	for _, v := range []string{`2`, `3`} {
		b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", v)})
	}
	a := b.start("a", stays, booted("level", `1`))
	b.awaitState("a", upTo(2, protocol.RoleDone))
	a.ran("1\nupdate 3\n")
}

// What stood there before is not believed again, nor what nobody's relay has signed, nor that
// nothing was ever said.
func TestWhatHeatGaveBefore(t *testing.T) {
	b := relayed(t, idempotent)
	a := b.start("a", stays, booted("level", `1`))
	b.awaitState("a", inPhase(protocol.PhaseDone))
	path, operator := deployment.HeatValues("a"), b.operator()
	write := func(data []byte) {
		t.Helper()
		if err := operator.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	read := func() []byte {
		node, err := operator.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return node.Data
	}
	first := read()
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `2`)})
	b.awaitState("a", upTo(2, protocol.RoleDone))
	second := read()
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `3`)})
	b.awaitState("a", upTo(3, protocol.RoleDone))
	write(second)
	a.await("older")
	write([]byte(`{"number":9999999999999,"instance":"i-a","values":{"level":66}}`))
	a.await("is not as")
	write(first)
	a.cancel()
	a.gone()
	again := b.start("a", stays, booted("level", `1`)) // it remembers that more was said
	again.await("older")
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `4`)})
	b.awaitState("a", upTo(4, protocol.RoleDone))
	again.ran("1\nupdate 2\nupdate 3\nupdate 4\n")
}

// Who cannot be brought to it goes on with what it has run with, and says so.
func TestWhatHeatGivesReachesNobody(t *testing.T) {
	b := relayed(t)
	a := b.start("a", stays, booted("level", `1`))
	state := b.awaitState("a", inPhase(protocol.PhaseDone))
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `2`)})
	b.change("a", with(b.sh("r", `echo other $(hotc-agent get level) >>../count`), given("level"), b.onUpdate(`echo $HOTC_HOOK $(hotc-agent get level) >>../count`)))
	b.awaitState("a", upTo(2, protocol.RoleDone))
	a.ran("1\nupdate 2\n")
	if now := protocol.HeatRecordOf(json.RawMessage(`1`), 0); state.Roles[0].Followed[contract.HeatCell("level")] != now.At() {
		t.Errorf("it has not said what it has run with: %+v", state.Roles[0])
	}
}

// A key that the machine's user-data lacks is waited for: Heat gives it at the next update.
func TestWhatHeatWillGive(t *testing.T) {
	b := relayed(t, idempotent)
	a := b.start("a", stays)
	b.awaitState("a", blockedOn(contract.HeatCell("level")))
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `"now"`)})
	b.awaitState("a", inPhase(protocol.PhaseDone))
	a.ran("now\n")
}

// A server that reads what another makes of Heat's value runs once, when both are there; also
// where that one is told last, or is given the same.
func TestHeatsValuesComeTogether(t *testing.T) {
	b := newBed(t)
	text := `echo $HOTC_HOOK $(hotc-agent get level) >>../count; printf made$(hotc-agent get level) | hotc-agent put out`
	carried(b.server("a", with(b.sh("r", text), output("out", contract.String), b.onUpdate(text), given("level"), carries(contract.HeatSource))), "level")
	reads := `echo $HOTC_HOOK $(hotc-agent get level) $(hotc-agent get in) >>../count`
	carried(b.server("b", with(b.sh("r", reads), b.onUpdate(reads), given("level", contract.HeatSource), watch("in", "a.r:out", contract.HeatSource))), "level")
	b.apply(func(w *deploy.Publication) { w.Plan.Signal = contract.RelaySignals })
	a := b.start("a", stays, booted("level", `1`))
	b.awaitState("a", inPhase(protocol.PhaseDone))
	reader := b.start("b", stays, booted("level", `1`))
	b.awaitState("b", inPhase(protocol.PhaseDone))
	for n := 2; n < 5; n++ {
		v := fmt.Sprint(n)
		b.gives(map[contract.ServerPath]protocol.HeatValues{"b": level("i-b", v), "a": level("i-a", v)})
		b.awaitState("b", upTo(n, protocol.RoleDone))
	}
	b.gives(map[contract.ServerPath]protocol.HeatValues{"b": level("i-b", `5`)})
	b.awaitState("b", upTo(5, protocol.RoleDone))
	reader.ran("1 made1\nupdate 2 made2\nupdate 3 made3\nupdate 4 made4\nupdate 5 made4\n")
	a.ran("1\nupdate 2\nupdate 3\nupdate 4\n")
}

// What a relay has carried holds when the stack does without one: its record is gone then, and
// the boot file is as old as the machine.
func TestWhatWasCarriedHoldsWithoutARelay(t *testing.T) {
	b := relayed(t, idempotent)
	a := b.start("a", stays, booted("level", `1`))
	b.awaitState("a", inPhase(protocol.PhaseDone))
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `2`)})
	b.awaitState("a", upTo(2, protocol.RoleDone))
	a.cancel()
	a.gone()
	db := &b.plan.Servers[0]
	db.Deploy["level"] = contract.DeployValue{Expr: db.Deploy["level"].Expr, At: db.Deploy["level"].At}
	db.Roles[0] = with(b.sh("r", `echo $HOTC_HOOK then $(hotc-agent get level) >>../count`), idempotent, given("level"))
	b.apply(func(w *deploy.Publication) { w.Plan.Signal = contract.AgentsSignal })
	a = b.start("a", stays, booted("level", `1`))
	b.awaitState("a", upTo(3, protocol.RoleDone))
	a.ran("1\nupdate 2\nupdate then 2\n")
}
