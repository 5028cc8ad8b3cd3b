package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Listed is what is known of a deployment without its secret: its record is not authenticated.
type Listed struct {
	Name protocol.Deployment
	// Known says that the session may read it; otherwise only its name is set.
	Known  bool
	Record protocol.DeploymentRecord
	// Servers is the number of servers, Alive of those whose agents have a session. A server whose
	// existence Heat decides, such as a group's member, counts while its agent is there.
	Servers, Alive int
	// Relays is the number of connected relays.
	Relays int
}

// List returns the deployments below the ROOT, as far as the session's identities may read them.
func List(ctx context.Context, s store.Session) ([]Listed, error) {
	names, err := s.Children(ctx, "")
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the deployments: %w", err)
	}
	var all []Listed
	for _, name := range names {
		if d, err := protocol.ParseDeployment(name); err == nil {
			all = append(all, Listed{Name: d})
		}
	}
	err = store.Each(ctx, len(all), func(ctx context.Context, i int) error {
		err := all[i].look(ctx, s)
		if errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrNotFound) { // not ours, or just deleted
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the deployments: %w", err)
	}
	return all, nil
}

func (x *Listed) look(ctx context.Context, s store.Session) error {
	node, err := s.Read(ctx, x.Name.Root())
	if err != nil {
		return err
	}
	if json.Unmarshal(sign.Bare(node.Data), &x.Record) != nil {
		x.Record = protocol.DeploymentRecord{}
	}
	servers, err := s.Children(ctx, x.Name.Servers())
	if err != nil {
		return err
	}
	made := x.made(ctx, s)
	var there, alive atomic.Int64
	err = store.Each(ctx, len(servers), func(ctx context.Context, i int) error {
		agent := x.Name.Servers().Join(servers[i]).Join("agent")
		_, is, err := s.Stat(ctx, agent)
		if err != nil || !is { // the operator's own cells have no agent
			return err
		}
		if _, is, err = s.Stat(ctx, agent.Join("presence")); is {
			alive.Add(1)
		}
		if is || made(servers[i]) {
			there.Add(1)
		}
		return err
	})
	if err != nil {
		return err
	}
	x.Known, x.Servers, x.Alive = true, int(there.Load()), int(alive.Load())
	relays, err := s.Children(ctx, x.Name.Relays())
	x.Relays = len(relays)
	return err
}

// made reports which of the servers' nodes belong to servers that Heat creates unconditionally. If
// the plan cannot be read, all do.
func (x *Listed) made(ctx context.Context, s store.Session) func(node string) bool {
	perhaps := map[string]bool{}
	text, _, err := protocol.ReadParts(ctx, s, x.Name.Plan())
	if err == nil && protocol.HasDigest(text, x.Record.Plan) {
		if p, err := protocol.ParsePlan(text); err == nil {
			for i := range p.Servers {
				perhaps[store.Segment(string(p.Servers[i].Path))] = p.Servers[i].Slot != nil || len(p.Servers[i].If) > 0
			}
		}
	}
	return func(node string) bool { return !perhaps[node] }
}
