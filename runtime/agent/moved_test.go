package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
)

// fromHeat applies a plan by which Heat gives a role its level, fromPlan one that has it (-P).
func (b *bed) fromHeat() { b.movedTo(given("level"), "level") }

func (b *bed) fromPlan(value string) { b.movedTo(static("level", value)) }

func (b *bed) movedTo(level func(*contract.Role), keys ...string) {
	b.t.Helper()
	carried(&b.plan.Servers[0], keys...)
	if len(keys) == 0 {
		b.plan.Servers[0].Deploy = nil
	}
	b.plan.Servers[0].Roles[0] = with(b.sh("r", `echo ${HOTC_HOOK:-first} $(hotc-agent get level) >>../count`), idempotent, level)
	b.apply(func(w *deploy.Publication) { w.Plan.Signal = contract.RelaySignals })
}

// A parameter moves from Heat to -P and back. With the same value nothing runs, with another one
// the role runs once; what user-data said in the beginning is not believed again.
func TestAValueComesFromElsewhere(t *testing.T) {
	b := relayed(t, idempotent)
	b.fromHeat()
	a := b.start("a", stays, booted("level", `"one"`))
	b.awaitState("a", inPhase(protocol.PhaseDone))
	b.fromPlan(`"one"`)
	b.asPlanned("a")
	b.fromPlan(`"two"`)
	b.asPlanned("a")
	a.ran("first one\nupdate two\n")
	b.fromHeat() // no relay has said anything yet: user-data has the value of before
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `"two"`)})
	b.asPlanned("a")
	a.ran("first one\nupdate two\n")
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `"three"`)})
	b.awaitState("a", upTo(3, protocol.RoleDone))
	b.fromPlan(`"four"`)
	b.asPlanned("a")
	b.fromHeat()
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `"five"`)})
	b.asPlanned("a")
	a.noted("update five")
	a = b.restart(a)
	// what a relay said last may come first: nobody knows whether Heat still has it
	ran := strings.Replace(a.file("count"), "update four\nupdate three\n", "update four\n", 1)
	if want := "first one\nupdate two\nupdate three\nupdate four\nupdate five\n"; ran != want {
		t.Errorf("it ran %q, want %q", ran, want)
	}
}

// An agent that was away while a value moved runs once at most, for the newest.
func TestAValueMovesWhileNobodyIsThere(t *testing.T) {
	b := relayed(t, idempotent)
	b.fromHeat()
	b.start("a", booted("level", `"one"`)).mustBeDone()
	b.fromPlan(`"two"`)
	b.fromHeat()
	b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", `"three"`)})
	a := b.start("a", stays, booted("level", `"one"`))
	b.awaitState("a", upTo(2, protocol.RoleDone))
	a.ran("first one\nupdate three\n")
}

// Which of two sources counts: user-data, the coordinator, and the plan, each the newest that is
// authentic.
func TestTheNewestAuthenticSourceCounts(t *testing.T) {
	forged := func(b *bed) {
		b.t.Helper()
		if err := b.operator().Commit(b.t.Context(), store.Op{Path: deployment.HeatValues("a"), Version: store.AnyVersion, Write: true,
			Data: []byte(`{"number":9999999999999,"instance":"i-a","values":{"level":"forged"}}`)}); err != nil {
			b.t.Fatal(err)
		}
	}
	says := func(instance, value string) func(*bed) {
		return func(b *bed) { b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level(instance, value)}) }
	}
	for name, c := range map[string]struct {
		before []func(*bed)
		boot   string
		want   string
	}{
		"user-data alone":                              {nil, `"boot"`, "first boot\n"},
		"a rebuilt machine has old user-data":          {[]func(*bed){says("i-a", `"heat"`)}, `"boot"`, "first heat\n"},
		"a new machine has newer user-data":            {[]func(*bed){says("before", `"heat"`)}, `"boot"`, "first boot\n"},
		"what no relay has signed is nothing":          {[]func(*bed){forged}, `"boot"`, "first boot\n"},
		"the plan has it, whatever the others say":     {[]func(*bed){says("i-a", `"heat"`), func(b *bed) { b.fromPlan(`"plan"`) }}, `"boot"`, "first plan\n"},
		"Heat has it again, and the plan is not asked": {[]func(*bed){func(b *bed) { b.fromPlan(`"plan"`) }, (*bed).fromHeat, says("i-a", `"heat"`)}, `"boot"`, "first heat\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := relayed(t, idempotent)
			b.fromHeat()
			for _, step := range c.before {
				step(b)
			}
			a := b.start("a", func(config *agent.Config) {
				config.Boot.Deploy = map[string]json.RawMessage{"level": json.RawMessage(c.boot)}
			})
			a.mustBeDone()
			a.ran(c.want)
		})
	}
}

// A hidden parameter moves from Heat to --secret-param: with the same value nothing runs, once that
// is given; with another one the role runs once. No relay carries what is hidden.
func TestASecretComesFromAnOperator(t *testing.T) {
	for value, want := range map[string]string{`"one"`: "first one\n", `"two"`: "first one\nupdate two\n"} {
		b := relayed(t, idempotent)
		hidden := func(r *contract.Role) {
			r.Inputs = append(r.Inputs, contract.Input{Name: "level", Time: contract.Deploy, Expr: json.RawMessage(`{"$deploy":"level"}`), Secret: true, At: map[string]contract.Position{"": "site.yaml:9:9"}})
		}
		script := b.sh("r", `echo ${HOTC_HOOK:-first} $(hotc-agent get level) >>../count`)
		b.plan.Servers[0].Deploy = map[string]contract.DeployValue{"level": {Expr: json.RawMessage(`{"get_param":"level"}`), At: "site.yaml:9:9"}}
		b.plan.Servers[0].Roles[0] = with(script, idempotent, hidden)
		b.apply()
		a := b.start("a", stays, booted("level", `"one"`))
		b.awaitState("a", inPhase(protocol.PhaseDone))
		cell := contract.SecretCell("level")
		b.plan.Servers[0].Deploy = nil
		b.plan.Servers[0].Roles[0] = with(script, idempotent, input("level", cell, func(in *contract.Input) { in.Secret = true }),
			func(r *contract.Role) { r.Follows = []contract.Follow{{Cell: cell, Watch: true}} })
		b.plan.Secrets = []contract.Secret{{Name: "level", Cell: cell, At: "site.yaml:2:2", Declaration: json.RawMessage(`{}`)}}
		b.apply()
		if err := deploy.Give(t.Context(), b.operator(), deployment, b.secret, &b.plan, b.plan.Secrets[0], json.RawMessage(value), time.Now()); err != nil {
			t.Fatal(err)
		}
		b.asPlanned("a")
		b.restart(a).ran(want)
	}
}
