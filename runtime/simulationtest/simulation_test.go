package simulationtest

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/hotc-dev/hotc/compiler/racetest"
)

func TestSimulation(t *testing.T) {
	total := map[string]int{}
	Seeds(t, racetest.Cases(500, 50), func(t *testing.T, seed uint64) {
		o := Run(t, NewCase(seed, false), t.TempDir())
		if len(o.Violations) > 0 {
			o.Fatal(t, Replay("runtime/simulationtest", "TestSimulation", seed))
		}
		for what, n := range o.Counts {
			total[what] += n
		}
	})
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%7d %s", total[what], what)
	}
}

// Roles follow each other, and what they write changes.
func TestFollowing(t *testing.T) {
	total := map[string]int{}
	Seeds(t, racetest.Cases(200, 20), func(t *testing.T, seed uint64) {
		o := Run(t, NewFollowing(seed), t.TempDir())
		if len(o.Violations) > 0 {
			o.Fatal(t, Replay("runtime/simulationtest", "TestFollowing", seed))
		}
		for what, n := range o.Counts {
			total[what] += n
		}
	})
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%7d %s", total[what], what)
	}
}

// Changes overtake changes, while hooks are slow and agents are killed in them.
func TestSuperseding(t *testing.T) {
	total := map[string]int{}
	Seeds(t, racetest.Cases(200, 20), func(t *testing.T, seed uint64) {
		o := Run(t, NewSuperseding(seed), t.TempDir())
		if len(o.Violations) > 0 {
			o.Fatal(t, Replay("runtime/simulationtest", "TestSuperseding", seed))
		}
		for what, n := range o.Counts {
			total[what] += n
		}
	})
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%7d %s", total[what], what)
	}
	if os.Getenv("SEED") == "" && total["hooks that were superseded while they ran"] == 0 {
		t.Error("no hook was superseded while it ran")
	}
}

// Changes of many roles at once come one by one: each role runs once for each, however many paths
// lead to it.
func TestTogether(t *testing.T) {
	total := map[string]int{}
	Seeds(t, racetest.Cases(200, 20), func(t *testing.T, seed uint64) {
		o := Run(t, NewTogether(seed), t.TempDir())
		if len(o.Violations) > 0 {
			o.Fatal(t, Replay("runtime/simulationtest", "TestTogether", seed))
		}
		for what, n := range o.Counts {
			total[what] += n
		}
	})
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%7d %s", total[what], what)
	}
	if os.Getenv("SEED") == "" && total["runs for what is followed, or for a change"] == 0 {
		t.Error("nothing was changed")
	}
}

// Members join groups and leave them, and Heat supplies another value, while relays come and go.
func TestJoining(t *testing.T) {
	total := map[string]int{}
	Seeds(t, racetest.Cases(200, 20), func(t *testing.T, seed uint64) {
		o := Run(t, NewJoining(seed), t.TempDir())
		if len(o.Violations) > 0 {
			o.Fatal(t, Replay("runtime/simulationtest", "TestJoining", seed))
		}
		for what, n := range o.Counts {
			total[what] += n
		}
	})
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%7d %s", total[what], what)
	}
	if os.Getenv("SEED") == "" && (total["followers of groups up to date"] == 0 || total["members that are in their group at rest"] == 0 || total["followers with what Heat gives last"] == 0) {
		t.Error("nobody followed a group")
	}
}

// Agents and relays are killed at their writes, while the plan, the members and what Heat supplies
// change.
func TestKills(t *testing.T) {
	total := map[string]int{}
	Seeds(t, racetest.Cases(200, 20), func(t *testing.T, seed uint64) {
		o := Run(t, NewKills(seed), t.TempDir())
		if len(o.Violations) > 0 {
			o.Fatal(t, Replay("runtime/simulationtest", "TestKills", seed))
		}
		for what, n := range o.Counts {
			total[what] += n
		}
	})
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%7d %s", total[what], what)
	}
	if os.Getenv("SEED") == "" && (total["killed"] == 0 || total["relays killed"] == 0 || total["values that relays have carried"] == 0) {
		t.Error("nobody was killed, or nothing was carried")
	}
}

// A seed creates the same program and faults again, and nearly always the same run. Chance that
// depended on the scheduler would leave hardly any trace the same.
func TestReplay(t *testing.T) {
	seeds := racetest.Cases(40, 10)
	same := 0
	for seed := range uint64(seeds) {
		first := Run(t, NewCase(seed, false), t.TempDir())
		second := Run(t, NewCase(seed, false), t.TempDir())
		if first.Program.String() != second.Program.String() || first.Faults.String() != second.Faults.String() {
			t.Errorf("seed %d made another case", seed)
		}
		if slices.Equal(sorted(first.Trace), sorted(second.Trace)) {
			same++
		}
	}
	t.Logf("%d of %d runs were the same to the nanosecond", same, seeds)
	if same < seeds/2 {
		t.Errorf("only %d of %d runs were the same", same, seeds)
	}
}

// Without faults and clocks nothing is killed, lost or started again.
func TestCalm(t *testing.T) {
	for seed := range uint64(racetest.Cases(60, 10)) {
		o := Run(t, NewCase(seed, true), t.TempDir())
		for _, what := range []string{"killed", "lost servers", "stale answers"} {
			if o.Counts[what] > 0 {
				o.Violations = append(o.Violations, what+" without a fault")
			}
		}
		if len(o.Violations) > 0 {
			o.Fatal(t, "TestCalm")
		}
	}
}
