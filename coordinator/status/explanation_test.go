package status_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/simulationtest"
)

// At rest, hotc why names for every role that is not done what it waits for or why
// it failed: a server that never came or is lost, a failure with its reason, or a
// cycle. Nothing is about to happen any more.
func TestWhyNamesEveryWait(t *testing.T) {
	for seed := range seedtest.Mixed(t, seedtest.Cases(200, 20), 685845966 /* a role added while its agent was away */) {
		o := simulationtest.Run(t, simulationtest.NewCase(seed, false), t.TempDir())
		if !o.Snapshot.Ready {
			continue // it was destroyed
		}
		v := status.New(o.Plan, o.Snapshot, hot.DecidedSize)
		v.Cycles = status.Deadlocks(v) // at rest one look is enough
		for _, s := range v.Servers {
			for _, r := range s.Roles {
				o.Violations = append(o.Violations, unexplained(v, r)...)
			}
		}
		if len(o.Violations) > 0 {
			o.Fatal(t)
		}
	}
}

// unexplained says what hotc why leaves open about a role at rest.
func unexplained(v *status.Status, r *status.Role) (wrong []string) {
	if r.Status == protocol.RoleDone {
		return nil
	}
	i := status.Explain(v, []*status.Role{r})
	roots := i.Roots()
	if len(roots) == 0 && len(i.Cycles) == 0 {
		text, _ := json.Marshal(i.Findings)
		wrong = append(wrong, "hotc why names no root for "+string(r.Key())+": "+string(text))
	}
	for _, root := range roots {
		switch f := i.Found[root.Subject]; root.Kind {
		case status.KindAbsent, status.KindLost:
		case status.KindFailed:
			if f.Cause == nil || f.Cause.Root().Reason == "" {
				wrong = append(wrong, "hotc why has no reason for the failure of "+root.Subject+", which "+string(r.Key())+" leads to")
			}
		default:
			wrong = append(wrong, "hotc why says of "+string(r.Key())+", at rest, that "+root.Subject+" is "+string(root.Kind))
		}
	}
	return wrong
}

// A role that waits since an earlier one waits for the rest of a change leads to what holds that up,
// through roles that the change only passes.
func TestWhyOfARoleBehindAChange(t *testing.T) {
	o := simulationtest.Run(t, simulationtest.NewTogether(712982686), t.TempDir())
	v := status.New(o.Plan, o.Snapshot, hot.DecidedSize)
	v.Cycles = status.Deadlocks(v)
	i := status.Explain(v, []*status.Role{v.RoleOf("tier/0/d.late")})
	var path []string
	for _, f := range i.Findings {
		path = append(path, f.Subject)
	}
	if want := "tier/0/d.late tier/0/d.r1 c.r0 c.r1"; strings.Join(path, " ") != want || len(i.Cycles) != 1 {
		t.Errorf("it leads to %v, want %s; %v", path, want, i.Cycles)
	}
}
