package simulationtest

import (
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	coordinated "github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/relay"
)

// judgeAgreement checks that an operator and Heat are told the same of a deployment at rest: what
// `hotc status` shows is what a relay says to a wait for all servers.
func (w *world) judgeAgreement() {
	plan := w.newestPlan()
	wait := contract.HeatWait{About: contract.HeatWaitAbout{Wait: "hotc_done"}}
	servers := map[contract.ServerPath]coordinated.Server{}
	shown := status.New(plan, w.snapshotOf(plan), nil)
	want, because := protocol.HeatDone, ""
	for _, s := range shown.Servers {
		if !s.Came() || s.Absent() || s.Unreadable != nil {
			return // there is no machine of whose roles both would speak
		}
		wait.Servers = append(wait.Servers, contract.HeatServer{Server: s.Path, ID: string(s.Path)})
		servers[s.Path] = coordinated.Server{Instance: string(s.Path), Incarnation: s.Incarnation.Number, State: s.State}
		for _, r := range s.Roles {
			switch is := r.Verdict.State; {
			case r.Status == protocol.RoleFailed, r.Status == protocol.RoleSkipped, r.Outdated():
				want, because = protocol.HeatFailed, string(r.Key())+": "+r.Shown()
			case is != reconcile.Current && is != reconcile.Unreached && want == protocol.HeatDone:
				want, because = protocol.HeatWaits, string(r.Key())+": "+r.Shown()
			}
		}
	}
	if says, why := relay.Says(wait, plan, servers); says != want {
		w.history.violate("Heat is told %q (%s) at rest, and status shows %q (%s)", says, why, want, because)
	}
	w.history.count("deployments of which Heat and the operator are told the same")
}
