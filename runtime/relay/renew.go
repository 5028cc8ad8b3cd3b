package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// What the stack's outputs read changes without an update of the stack: a policy adds or removes a
// group's member, a replaced member takes another slot, a role runs again. Heat waits for none of
// that. So the relay writes the newest values into the wait that has ended: Heat reads them anew at
// each look (contract.StackValues).

// renewOutputs gives Heat the newest values for the stack's outputs, once all roles are done.
func (r *Relay) renewOutputs(ctx context.Context, s *relay.Session, all []wait) error {
	for _, w := range all {
		if w.Status != string(protocol.HeatDone) || w.superseded || w.About.Stack != "" || w.About.Role != "" {
			continue
		}
		now, servers := w.HeatWait, r.servers(s)
		now.Servers = machines(w, all)
		v := decide(now, s.Plan, servers, &r.carried)
		of := w.ID + w.Config
		for _, x := range v.values {
			of += fmt.Sprint(x, servers[x.cell.Server].Incarnation, servers[x.cell.Server].State.Wrote[x.cell.Cell])
		}
		if v.state != protocol.HeatDone || of == r.renewed {
			continue
		}
		end, data, err := r.answer(ctx, s, v)
		if err != nil || end.Status != string(protocol.HeatDone) {
			return err
		}
		text, err := json.Marshal(data)
		if err != nil {
			return err
		}
		if had := w.Outputs[v.output]; len(had)+len(data) > 0 && !protocol.SameValue(had, text) {
			// The status stays Heat's: an update may have begun to wait again.
			if _, err := r.Heat.EndDeployment(ctx, w.ID, heat.DeploymentEnd{Outputs: map[string]any{v.output: data}}); err != nil {
				return err
			}
			r.Say("gave Heat the newest values for the stack's outputs")
		}
		r.renewed = of
	}
	return nil
}

// machines are those that Heat has now: of a group that scales those with a wait of their own, since
// Heat has not told the stack's wait of its members since the last update.
func machines(root wait, all []wait) (now []contract.HeatServer) {
	scales := func(m contract.HeatServer) bool {
		return strings.Contains(string(m.Server), contract.AnyMember)
	}
	for _, m := range root.Servers {
		if !scales(m) {
			now = append(now, m)
		}
	}
	for _, w := range all {
		for _, m := range w.Servers {
			if w.About.Stack != "" && w.About.Role == "" && scales(m) {
				now = append(now, m)
			}
		}
	}
	return now
}
