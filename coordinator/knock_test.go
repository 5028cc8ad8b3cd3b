package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// ask starts a machine whose token was used, and returns when it has asked to be let in.
func (b bed) ask(t *testing.T, of machine) (entered <-chan error) {
	t.Helper()
	ended, waits := make(chan error, 1), make(chan string, 8)
	m := b.knocking(t, of)
	go func() { ended <- m.AwaitDeployment(within(t, patience), func(why string) { waits <- why }) }()
	if why := soon(t, waits); !strings.Contains(why, of.key.Public()) || strings.Contains(why, "ask to be let in") {
		t.Errorf("%s waits: %s", of.id, why)
	}
	return ended
}

// expectAsking compares who asks to be a server.
func (b bed) expectAsking(t *testing.T, server contract.ServerPath, want ...machine) {
	t.Helper()
	asking, err := reading(t, b.operator(t)).Knocks(t.Context(), server)
	if err != nil || len(asking) != len(want) {
		t.Fatalf("%d machines ask (%v), want %d: %+v", len(asking), err, len(want), asking)
	}
	for i, m := range want {
		if asking[i].Instance != "i-"+m.id || asking[i].Key != m.key.Public() {
			t.Errorf("machine %d that asks is %+v, want %s", i, asking[i], m.id)
		}
	}
}

// overwrite is what whoever has the token can do with what others have said.
func (b bed) overwrite(t *testing.T, server contract.ServerPath, text string) {
	t.Helper()
	if err := set(t.Context(), b.session(t, server), site.Knock(server), text); err != nil {
		t.Fatal(err)
	}
}

func set(ctx context.Context, s coordinator.Store, path coordinator.Path, text string) error {
	return s.Commit(ctx, coordinator.Op{Path: path, Version: coordinator.AnyVersion, Write: true, Data: []byte(text)})
}

// A machine with a stolen token asks before and after the one that was built anew: both
// are seen, and the right one is let in by its key.
func TestWhoAsksIsNotHiddenByOthers(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publishOnce(t, withGiven("app"))
		b.join(t, newMachine(t, "app", "a1"), false)
		early, right, late := newMachine(t, "app", "early"), newMachine(t, "app", "right"), newMachine(t, "app", "late")
		b.ask(t, early)
		entered := b.ask(t, right)
		b.ask(t, late)
		b.expectAsking(t, "app", early, right, late)
		if _, err := reading(t, b.operator(t)).Admit(t.Context(), "app", right.key.Public()); err != nil {
			t.Fatal(err)
		}
		if err := soon(t, entered); err != nil {
			t.Error(err)
		}
	})
}

// Whoever has the token can write over what machines have said, so that they have no
// place to say it again. Who has read a machine's key on its console lets it in all the
// same, be it before it asks.
func TestAMachineIsAdmittedWhateverOthersWrite(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publishOnce(t, withGiven("app"))
		b.join(t, newMachine(t, "app", "a1"), false)
		right, next := newMachine(t, "app", "right"), newMachine(t, "app", "next")
		entered := b.ask(t, right)
		var crowd coordinator.KnocksRecord
		var thieves []machine
		for i := range 8 {
			thief := newMachine(t, "app", fmt.Sprint("thief", i))
			thieves = append(thieves, thief)
			crowd.Machines = append(crowd.Machines, coordinator.KnockRecord{Instance: "i-" + thief.id, Key: thief.key.Public(), Since: noon, Seen: noon})
		}
		text, err := json.Marshal(crowd)
		if err != nil {
			t.Fatal(err)
		}
		b.overwrite(t, "app", string(text))
		b.expectAsking(t, "app", thieves...)
		for _, m := range []machine{right, next} {
			if knock, err := reading(t, b.operator(t)).Admit(t.Context(), "app", m.key.Public()); err != nil || knock.Instance != "" {
				t.Fatalf("%+v, %v", knock, err)
			}
			if m.id == right.id {
				if err := soon(t, entered); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.join(t, next, false)
	})
}

// A thief's machines leave no room to be seen, and the right one is let in by its key.
func TestWhoAsksIsBounded(t *testing.T) {
	b := inMemory()
	b.publishOnce(t, withGiven("app"))
	b.join(t, newMachine(t, "app", "a1"), false)
	var thieves []machine
	for i := range 8 {
		thieves = append(thieves, newMachine(t, "app", fmt.Sprint("thief", i)))
		b.ask(t, thieves[i])
	}
	right := newMachine(t, "app", "right")
	entered := b.ask(t, right)
	b.expectAsking(t, "app", thieves...)
	if _, err := reading(t, b.operator(t)).Admit(t.Context(), "app", right.key.Public()); err != nil {
		t.Fatal(err)
	}
	if err := soon(t, entered); err != nil {
		t.Error(err)
	}
}

// A machine that was not heard of for an hour leaves its place.
func TestAStaleKnockLeavesItsPlace(t *testing.T) {
	b := inMemory()
	b.publishOnce(t, withGiven("app"))
	b.join(t, newMachine(t, "app", "a1"), false)
	gone, there, now := newMachine(t, "app", "gone"), newMachine(t, "app", "there"), newMachine(t, "app", "now")
	record := func(of machine, seen time.Time) coordinator.KnockRecord {
		return coordinator.KnockRecord{Instance: "i-" + of.id, Key: of.key.Public(), Since: noon.Add(-3 * time.Hour), Seen: seen}
	}
	text, err := json.Marshal(coordinator.KnocksRecord{Machines: []coordinator.KnockRecord{record(gone, noon.Add(-61*time.Minute)), record(there, noon.Add(-20*time.Minute))}})
	if err != nil {
		t.Fatal(err)
	}
	b.overwrite(t, "app", string(text))
	b.ask(t, now)
	b.expectAsking(t, "app", there, now)
	// one that is there says so again, and keeps the time it asked first
	b.ask(t, there)
	asking, err := reading(t, b.operator(t)).Knocks(t.Context(), "app")
	if err != nil || len(asking) != 2 || !asking[0].Seen.Equal(noon) || !asking[0].Since.Equal(noon.Add(-3*time.Hour)) {
		t.Errorf("%+v, %v", asking, err)
	}
}

// What a bearer of the token writes where machines knock harms nobody.
func TestAnyKnock(t *testing.T) {
	b := inMemory()
	b.publishOnce(t, withGiven("app"))
	b.join(t, newMachine(t, "app", "a1"), false)
	key := newMachine(t, "app", "x").key.Public()
	for _, text := range []string{"", "[", `{"machines": 5}`, `{"machines": [{"key": 5}]}`, `{"machines": [{"key": "bm8ga2V5"}]}`, `{"machines": [{}]}`,
		`{"machines": [{"key": "` + strings.Repeat("x", 1<<19) + `"}]}`, `{"machines": [{"instance": "` + strings.Repeat("x", 1<<19) + `", "key": "` + key + `"}]}`,
		`{"machines": [{"key": "` + key[:20] + `\n` + key[20:] + `"}]}`, `{"instance": "i", "key": "` + key + `"}`} {
		b.overwrite(t, "app", text)
		b.expectAsking(t, "app")
	}
	honest := newMachine(t, "app", "honest")
	b.ask(t, honest) // it writes where nothing of sense stands
	b.expectAsking(t, "app", honest)
	for _, key := range []string{"", "x", "bm8ga2V5", seal.ID(honest.key.Public())} {
		if _, err := reading(t, b.operator(t)).Admit(t.Context(), "app", key); !errors.Is(err, deploy.ErrNoKey) {
			t.Errorf("%q, which is no key: %v", key, err)
		}
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"db": "db", "tier/2/db": "tier/2/db", "": "''", "a b": "'a b'", "it's; rm -rf": `'it'\''s; rm -rf'`, "$(x)": "'$(x)'"} {
		if got := coordinator.ShellWord(text); got != want {
			t.Errorf("%q is written %s, want %s", text, got, want)
		}
	}
}
