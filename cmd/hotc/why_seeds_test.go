package main

import (
	"encoding/json"
	"testing"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/runtime/simulation"
)

// At rest, hotc why names for every role that is not done what it waits for or why
// it failed: a server that never came or is lost, a failure with its reason, or a
// circle. Nothing is about to happen any more.
func TestWhyNamesEveryWait(t *testing.T) {
	simulation.Seeds(t, 200, func(t *testing.T, seed uint64) {
		o := simulation.Run(t, simulation.NewCase(seed, false), t.TempDir())
		if !o.Snapshot.Ready {
			return // it was destroyed
		}
		v := newStanding(&o.Program.Plan, o.Snapshot)
		v.cycles = deadlocks(v) // at rest one look is enough
		for _, s := range v.servers {
			for n := range s.roles {
				o.Violations = append(o.Violations, unexplained(v, &s.roles[n])...)
			}
		}
		if len(o.Violations) > 0 {
			o.Fatal(t, simulation.Replay("cmd/hotc", "TestWhyNamesEveryWait", seed))
		}
	})
}

// unexplained says what hotc why leaves open about a role at rest.
func unexplained(v *standing, r *roleStanding) (wrong []string) {
	if r.Status == coordinator.RoleDone {
		return nil
	}
	i := investigate(v, []*roleStanding{r})
	roots := i.roots()
	if len(roots) == 0 && len(i.cycles) == 0 {
		text, _ := json.Marshal(i.order)
		wrong = append(wrong, "hotc why names no root for "+string(r.key())+": "+string(text))
	}
	for _, root := range roots {
		switch f := i.found[root.Subject]; root.Kind {
		case findAbsent, findLost:
		case findFailed:
			if f.Cause == nil || f.Cause.Root().Reason == "" {
				wrong = append(wrong, "hotc why has no reason for the failure of "+root.Subject+", which "+string(r.key())+" leads to")
			}
		default:
			wrong = append(wrong, "hotc why says of "+string(r.key())+", at rest, that "+root.Subject+" is "+string(root.Kind))
		}
	}
	return wrong
}
