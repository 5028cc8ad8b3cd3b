package member_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// A machine with a stolen token asks before and after the one that was built anew: both
// are seen, and the right one is let in by its key.
func TestWhoAsksIsNotHiddenByOthers(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.PublishOnce(t, deploytest.WithGiven("app"))
		b.Join(t, deploytest.NewMachine(t, "app", "a1"), false)
		early, right, late := deploytest.NewMachine(t, "app", "early"), deploytest.NewMachine(t, "app", "right"), deploytest.NewMachine(t, "app", "late")
		b.Ask(t, early)
		entered := b.Ask(t, right)
		b.Ask(t, late)
		b.ExpectAsking(t, "app", early, right, late)
		if _, err := deploytest.Reading(t, b.Operator(t)).Admit(t.Context(), "app", right.Key.Public()); err != nil {
			t.Fatal(err)
		}
		if err := deploytest.Soon(t, entered); err != nil {
			t.Error(err)
		}
	})
}

// Whoever has the token can write over what machines have said, so that they have no
// place to say it again. Who has read a machine's key on its console lets it in all the
// same, be it before it asks.
func TestAMachineIsAdmittedWhateverOthersWrite(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.PublishOnce(t, deploytest.WithGiven("app"))
		b.Join(t, deploytest.NewMachine(t, "app", "a1"), false)
		right, next := deploytest.NewMachine(t, "app", "right"), deploytest.NewMachine(t, "app", "next")
		entered := b.Ask(t, right)
		var crowd protocol.ApprovalRequests
		var thieves []deploytest.Machine
		for i := range 8 {
			thief := deploytest.NewMachine(t, "app", fmt.Sprint("thief", i))
			thieves = append(thieves, thief)
			crowd.Machines = append(crowd.Machines, protocol.ApprovalRequest{Instance: "i-" + thief.Id, Key: thief.Key.Public(), Since: deploytest.Noon, Seen: deploytest.Noon})
		}
		text, err := json.Marshal(crowd)
		if err != nil {
			t.Fatal(err)
		}
		b.Overwrite(t, "app", string(text))
		b.ExpectAsking(t, "app", thieves...)
		for _, m := range []deploytest.Machine{right, next} {
			if askApproval, err := deploytest.Reading(t, b.Operator(t)).Admit(t.Context(), "app", m.Key.Public()); err != nil || askApproval.Instance != "" {
				t.Fatalf("%+v, %v", askApproval, err)
			}
			if m.Id == right.Id {
				if err := deploytest.Soon(t, entered); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.Join(t, next, false)
	})
}

// A thief's machines leave no room to be seen, and the right one is let in by its key.
func TestWhoAsksIsBounded(t *testing.T) {
	b := deploytest.InMemory()
	b.PublishOnce(t, deploytest.WithGiven("app"))
	b.Join(t, deploytest.NewMachine(t, "app", "a1"), false)
	var thieves []deploytest.Machine
	for i := range 8 {
		thieves = append(thieves, deploytest.NewMachine(t, "app", fmt.Sprint("thief", i)))
		b.Ask(t, thieves[i])
	}
	right := deploytest.NewMachine(t, "app", "right")
	entered := b.Ask(t, right)
	b.ExpectAsking(t, "app", thieves...)
	if _, err := deploytest.Reading(t, b.Operator(t)).Admit(t.Context(), "app", right.Key.Public()); err != nil {
		t.Fatal(err)
	}
	if err := deploytest.Soon(t, entered); err != nil {
		t.Error(err)
	}
}

// A machine that was not heard of for an hour leaves its place, when all are taken.
func TestAStaleKnockLeavesItsPlace(t *testing.T) {
	b := deploytest.InMemory()
	b.PublishOnce(t, deploytest.WithGiven("app"))
	b.Join(t, deploytest.NewMachine(t, "app", "a1"), false)
	gone, there, now := deploytest.NewMachine(t, "app", "gone"), deploytest.NewMachine(t, "app", "there"), deploytest.NewMachine(t, "app", "now")
	record := func(of deploytest.Machine, seen time.Time) protocol.ApprovalRequest {
		return protocol.ApprovalRequest{Instance: "i-" + of.Id, Key: of.Key.Public(), Since: deploytest.Noon.Add(-3 * time.Hour), Seen: seen}
	}
	asked := []protocol.ApprovalRequest{record(gone, deploytest.Noon.Add(-61*time.Minute)), record(there, deploytest.Noon.Add(-20*time.Minute))}
	others := []deploytest.Machine{there}
	for i := range 6 {
		others = append(others, deploytest.NewMachine(t, "app", fmt.Sprint("other", i)))
		asked = append(asked, record(others[i+1], deploytest.Noon))
	}
	text, err := json.Marshal(protocol.ApprovalRequests{Machines: asked})
	if err != nil {
		t.Fatal(err)
	}
	b.Overwrite(t, "app", string(text))
	b.Ask(t, now)
	b.ExpectAsking(t, "app", append(others, now)...)
	// one that is there says so again, and keeps the time it asked first
	b.Ask(t, there)
	asking, err := deploytest.Reading(t, b.Operator(t)).AwaitingApproval(t.Context(), "app")
	if err != nil || len(asking) != 8 || !asking[0].Seen.Equal(deploytest.Noon) || !asking[0].Since.Equal(deploytest.Noon.Add(-3*time.Hour)) {
		t.Errorf("%+v, %v", asking, err)
	}
}

// The clocks of two machines that ask are two hours apart: none pushes the other out.
func TestMachinesThatAskWithOtherClocks(t *testing.T) {
	var keys []string
	for _, name := range []string{"one", "two"} {
		keys = append(keys, deploytest.NewMachine(t, "app", name).Key.Public())
	}
	var asking protocol.ApprovalRequests
	writes := 0
	for look := range 120 { // each looks every half minute
		for i, key := range keys {
			seen := deploytest.Noon.Add(time.Duration(look)*30*time.Second + time.Duration(i)*2*time.Hour)
			next, changed := asking.With(protocol.ApprovalRequest{Key: key, Since: seen, Seen: seen})
			if asking = next; changed {
				writes++
			}
		}
		if len(asking.Machines) != 2 {
			t.Fatalf("at look %d: %+v", look, asking)
		}
	}
	if writes > 12 {
		t.Errorf("%d writes in an hour", writes)
	}
}

// What a bearer of the token writes where machines ask for approval harms nobody.
func TestAnyKnock(t *testing.T) {
	b := deploytest.InMemory()
	b.PublishOnce(t, deploytest.WithGiven("app"))
	b.Join(t, deploytest.NewMachine(t, "app", "a1"), false)
	key := deploytest.NewMachine(t, "app", "x").Key.Public()
	for _, text := range []string{"", "[", `{"machines": 5}`, `{"machines": [{"key": 5}]}`, `{"machines": [{"key": "bm8ga2V5"}]}`, `{"machines": [{}]}`,
		`{"machines": [{"key": "` + strings.Repeat("x", 1<<19) + `"}]}`, `{"machines": [{"instance": "` + strings.Repeat("x", 1<<19) + `", "key": "` + key + `"}]}`,
		`{"machines": [{"key": "` + key[:20] + `\n` + key[20:] + `"}]}`, `{"instance": "i", "key": "` + key + `"}`} {
		b.Overwrite(t, "app", text)
		b.ExpectAsking(t, "app")
	}
	honest := deploytest.NewMachine(t, "app", "honest")
	b.Ask(t, honest) // it writes where nothing of sense stands
	b.ExpectAsking(t, "app", honest)
	for _, key := range []string{"", "x", "bm8ga2V5", seal.ID(honest.Key.Public())} {
		if _, err := deploytest.Reading(t, b.Operator(t)).Admit(t.Context(), "app", key); !errors.Is(err, deploy.ErrNoKey) {
			t.Errorf("%q, which is not a key: %v", key, err)
		}
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"db": "db", "tier/2/db": "tier/2/db", "": "''", "a b": "'a b'", "it's; rm -rf": `'it'\''s; rm -rf'`, "$(x)": "'$(x)'"} {
		if got := protocol.ShellWord(text); got != want {
			t.Errorf("%q is written %s, want %s", text, got, want)
		}
	}
}
