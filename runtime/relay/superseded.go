package relay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// An update that overtakes another has to wait at each resource until the other has released it. So
// Heat keeps waiting for a machine that the update replaces, or removes from the template, and
// learns of the next one only when this wait has ended. It ends with success: a failure would leave
// the stack in progress forever.

// doubtAgain is the minimum time between two checks whether Heat still has what it waits for.
const doubtAgain = 5 * time.Second

// doubt finds the waits of an overtaken update. It queries Heat only about waits for a machine that
// is not the server now, or that are about to fail, if the stack was updated after they began. If
// Heat does not answer, none may be ended as failed.
func (r *Relay) doubt(ctx context.Context, s *relay.Session, seen []wait) error {
	servers, known := s.Servers(), r.servers(s)
	var doubtful []int
	at := time.Now()
	for i, w := range seen {
		if !w.inProgress() || w.superseded {
			continue
		}
		fails := w.decide(s.Plan, known, &r.carried).state == protocol.HeatFailed
		if fails || (!planned(w.About, s.Plan) || len(strangers(w.HeatWait, s.Plan, servers)) > 0) && at.Sub(r.doubted) >= doubtAgain {
			doubtful = append(doubtful, i)
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	r.doubted = at
	stack, err := r.Heat.Stack(ctx, string(r.Key.Deployment))
	if err != nil {
		return err
	}
	if stack.ID != r.stack.ID {
		r.looked = time.Time{} // the next round tells
		return nil
	}
	doubtful = slices.DeleteFunc(doubtful, func(i int) bool { return stack.Updated.Before(began(seen[i])) })
	if len(doubtful) == 0 || !stack.State.InProgress() {
		return nil
	}
	has, err := r.has(ctx, stack)
	if errors.Is(err, heat.ErrForbidden) {
		return nil // it stays unknown (docs/relay.md)
	}
	if err != nil {
		return err
	}
	for _, i := range doubtful {
		seen[i].superseded = !has.waits(seen[i].About) || slices.ContainsFunc(seen[i].Servers, func(named contract.HeatServer) bool { return !has.server(named) })
	}
	return nil
}

// began is when Heat began to wait.
func began(w wait) time.Time {
	if w.Updated.IsZero() {
		return w.Created.Time
	}
	return w.Updated.Time
}

// strangers are the machines of a wait that are not the current servers.
func strangers(w contract.HeatWait, p *contract.Plan, servers map[contract.ServerPath]relay.Server) (all []contract.HeatServer) {
	for _, named := range w.Servers {
		if server, _ := find(named, p, servers); server == nil {
			all = append(all, named)
		}
	}
	return all
}

// meant is the stack that Heat is to have after its update.
type meant struct {
	resources map[string]json.RawMessage // of its template
	machines  map[string]bool            // the newest of their resources
}

// server reports whether the template has a machine's resource, and the machine is its newest.
func (m *meant) server(named contract.HeatServer) bool {
	root, _, _ := strings.Cut(string(named.Server), "/")
	return m.resources[root] != nil && m.machines[named.ID]
}

// waits reports whether Heat has the wait: with a relay, the root's template always has the wait of
// the whole stack.
func (m *meant) waits(about contract.HeatWaitAbout) bool {
	if about.Stack != "" {
		about.Wait = contract.DoneWait
	}
	var wait struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(m.resources[about.Wait], &wait) == nil && wait.Type == contract.WaitType
}

// has reads the stack that Heat is to have.
func (r *Relay) has(ctx context.Context, stack *heat.Stack) (*meant, error) {
	text, err := r.Heat.Definition(ctx, stack)
	if err != nil {
		return nil, err
	}
	var template struct {
		Resources map[string]json.RawMessage `json:"resources"`
	}
	if err := json.Unmarshal(text, &template); err != nil {
		return nil, err
	}
	resources, err := r.Heat.Resources(ctx, stack.Name, stack.ID, heat.MaxDepth)
	if err != nil {
		return nil, err
	}
	machines := map[string]bool{}
	for _, x := range resources {
		machines[x.ID] = true
	}
	return &meant{template.Resources, machines}, nil
}
