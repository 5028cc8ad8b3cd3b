package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Snapshot is the current state of a deployment, in the order of the plan. Agents may write while
// it is read: only each node is consistent in itself.
type Snapshot struct {
	// Ready says that the deployment was applied to the end.
	Ready bool
	// Plan is the digest of the live plan.
	Plan string
	// Restored says that the deployment replaces one that was lost.
	Restored bool
	Servers  []ServerSnapshot
	// Relays is the number of connected relays, Heat what one of them last learnt from Heat.
	Relays int
	Heat   protocol.HeatRecord
	// Unrelayed are servers whose machine has joined since the last relay was there; only where
	// none is, and the store is a Clock.
	Unrelayed []contract.ServerPath
	// Members are the members of followed groups as reported by relays, by the groups' paths.
	Members map[string]protocol.MembersRecord
	// Supplied is the state of the plan's secrets, as of ReadGiven.
	Given []Supplied
}

// ServerSnapshot is the current state of a server.
type ServerSnapshot struct {
	Path        contract.ServerPath
	Incarnation protocol.IncarnationRecord // Number 0: no agent has joined
	// Alive says that the agent has a session with the coordinator.
	Alive bool
	// State is what the agent of this incarnation last reported; Phase "" means nothing yet.
	State protocol.ServerState
	// Unreadable says which of its records cannot be read, and are omitted: a holder of the
	// server's token may write anything there.
	Unreadable []string
	// Requests are the latest requests to its agent, Answers their results, and Coming the
	// announced changes.
	protocol.RequestsRecord
	Answers []protocol.Answer
	// Cells are the server's own cells, without their values.
	Cells map[contract.CellName]protocol.CellRecord
	// Heat are the values that Heat supplies to the server, by a relay.
	Heat protocol.HeatValues
	// Next is the machine that waits to replace this one.
	Next protocol.NextRecord
	// AwaitingApproval are the machines that ask to become the server, where its token is valid for
	// one enrolment and was used.
	AwaitingApproval []protocol.ApprovalRequest
}

// TakeSnapshot reads everything about a deployment's servers except the values of cells, which may
// be large, or secret.
func TakeSnapshot(ctx context.Context, s store.Session, d protocol.Deployment, secret protocol.Secret, p *contract.Plan) (*Snapshot, error) {
	r, err := NewReader(ctx, s, d, secret, p)
	if err != nil {
		return nil, err
	}
	snapshot, err := r.snapshot(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("read deployment %s: %w", d, operatorError(err))
	}
	return snapshot, nil
}

func (r *Reader) snapshot(ctx context.Context, p *contract.Plan) (*Snapshot, error) {
	_, ready, err := r.store.Stat(ctx, r.keys.deployment.Ready())
	if err != nil {
		return nil, err
	}
	snapshot := &Snapshot{Ready: ready, Plan: r.keys.record.Plan, Restored: r.keys.record.Restored, Servers: make([]ServerSnapshot, len(p.Servers))}
	index := map[contract.ServerPath]int{}
	for i, server := range p.Servers {
		index[server.Path] = i
	}
	err = store.Each(ctx, len(p.Servers), func(ctx context.Context, i int) error {
		err := r.halfway(snapshot.Servers[i].read(ctx, r, p.Servers[i].Path))
		tidy(&snapshot.Servers[i].State, len(p.Servers[i].Roles))
		if err == nil && protocol.HearsOfHeat(&p.Servers[i], p.Signal == contract.RelaySignals) {
			snapshot.Servers[i].Heat, err = r.heatValues(ctx, p.Servers[i].Path)
			err = r.halfway(err)
		}
		if err == nil && p.Signal == contract.RelaySignals {
			snapshot.Servers[i].Next, err = r.next(ctx, &snapshot.Servers[i])
		}
		if err == nil && r.keys.record.Enrol == protocol.EnrolOnce {
			snapshot.Servers[i].AwaitingApproval, err = r.AwaitingApproval(ctx, p.Servers[i].Path)
			err = r.halfway(snapshot.Servers[i].goOn(err))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	records, bad := make([]protocol.CellRecord, len(p.Cells)), make([]error, len(p.Cells))
	err = store.Each(ctx, len(p.Cells), func(ctx context.Context, i int) error {
		record, err := r.Cell(ctx, contract.CellRef{Cell: p.Cells[i].Name, Server: p.Cells[i].Server, Sealed: p.Cells[i].Sealed})
		record.Value = nil
		records[i], err = record, r.halfway(err)
		if _, is := unreadable(err); is {
			bad[i], err = err, nil
		}
		return err
	})
	if err == nil {
		snapshot.Relays, snapshot.Heat, err = r.heat(ctx)
	}
	if err == nil && snapshot.Relays == 0 && p.Signal == contract.RelaySignals {
		snapshot.Unrelayed, err = r.unrelayed(ctx, snapshot.Servers)
	}
	if err == nil && p.Signal == contract.AgentsSignal && !r.keys.record.Handles.IsZero() {
		err = r.withoutHandles(ctx, snapshot.Servers)
	}
	if err == nil {
		snapshot.Members, err = r.members(ctx, p)
	}
	if err == nil {
		snapshot.Given, err = r.supplied(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	for i, record := range records {
		if at, known := index[p.Cells[i].Server]; known {
			snapshot.Servers[at].Cells[p.Cells[i].Name] = record
			_ = snapshot.Servers[at].goOn(bad[i])
		}
	}
	for i, given := range snapshot.Given {
		for _, reader := range p.Secrets[i].Readers {
			if at, known := index[reader]; known {
				_ = snapshot.Servers[at].goOn(given.bad)
			}
		}
	}
	return snapshot, nil
}

// heat reads what relays have written. A record that no relay has signed is dropped.
func (r *Reader) heat(ctx context.Context) (relays int, said protocol.HeatRecord, err error) {
	d := r.keys.deployment
	there, err := r.store.Children(ctx, d.Relays())
	if err != nil {
		return 0, said, err
	}
	said, err = relayed[protocol.HeatRecord](ctx, r, d.Heat(), protocol.KindHeat, "", "")
	if errors.Is(err, protocol.ErrForged) {
		said, err = protocol.HeatRecord{Trouble: err.Error()}, nil
	}
	return len(there), said, err
}

// relayed reads a record that a relay has signed.
func relayed[T any](ctx context.Context, r *Reader, path store.Path, kind string, server contract.ServerPath, item string) (record T, err error) {
	signer, err := r.keys.relay.Signer()
	if err == nil {
		record, _, _, err = protocol.ReadSigned[T](ctx, r.store, path, signer.Public(), r.keys.deployment.Place(r.keys.record.ID, kind, server, item))
	}
	return record, err
}

// members reads what relays have reported of groups' members. Records that no relay has signed are
// dropped.
func (r *Reader) members(ctx context.Context, p *contract.Plan) (map[string]protocol.MembersRecord, error) {
	all, d := map[string]protocol.MembersRecord{}, r.keys.deployment
	for group := range p.Groups() {
		said, err := relayed[protocol.MembersRecord](ctx, r, d.Members(group), protocol.KindMembers, "", group)
		switch {
		case err == nil:
			all[group] = said
		case !errors.Is(err, protocol.ErrForged) && !errors.Is(err, store.ErrNotFound): // applied by an older hotc, or is being changed
			return nil, err
		}
	}
	return all, nil
}

// unrelayed are servers that have joined since a relay last wrote what Heat says.
func (r *Reader) unrelayed(ctx context.Context, servers []ServerSnapshot) (all []contract.ServerPath, err error) {
	told, err := r.store.Written(ctx, r.keys.deployment.Heat())
	if err != nil {
		return nil, err
	}
	came, err := r.came(ctx, servers)
	for i := range servers {
		if came[i].After(told) {
			all = append(all, servers[i].Path)
		}
	}
	return all, err
}

// withoutHandles notes which machines joined before servers began to signal Heat.
func (r *Reader) withoutHandles(ctx context.Context, servers []ServerSnapshot) error {
	came, err := r.came(ctx, servers)
	for i := range servers {
		servers[i].State.NoHandle = servers[i].State.NoHandle || !came[i].IsZero() && came[i].Before(r.keys.record.Handles)
	}
	return err
}

// came is when the servers' machines joined; zero for those that have not.
func (r *Reader) came(ctx context.Context, servers []ServerSnapshot) ([]time.Time, error) {
	came := make([]time.Time, len(servers))
	err := store.Each(ctx, len(servers), func(ctx context.Context, i int) (err error) {
		if servers[i].Incarnation.Number > 0 {
			came[i], err = r.store.Written(ctx, r.keys.deployment.Server(servers[i].Path))
		}
		return r.halfway(err)
	})
	return came, err
}

// heatValues reads the values that Heat supplies to a server. A record that no relay has signed is
// dropped.
func (r *Reader) heatValues(ctx context.Context, server contract.ServerPath) (protocol.HeatValues, error) {
	values, err := relayed[protocol.HeatValues](ctx, r, r.keys.deployment.HeatValues(server), protocol.KindHeatValues, server, "")
	if errors.Is(err, protocol.ErrForged) {
		err = nil
	}
	return values, err
}

// halfway ignores a missing node while a change of the plan is unfinished.
func (r *Reader) halfway(err error) error {
	if r.keys.record.Updating != "" && errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// next is the machine that waits to replace the current one.
func (r *Reader) next(ctx context.Context, there *ServerSnapshot) (protocol.NextRecord, error) {
	d := r.keys.deployment
	node, err := r.store.Read(ctx, d.Next(there.Path))
	if errors.Is(err, store.ErrNotFound) { // applied by an older hotc
		return protocol.NextRecord{}, nil
	}
	signer, errKey := r.keys.relay.Signer()
	if err = errors.Join(err, errKey); err != nil {
		return protocol.NextRecord{}, err
	}
	next := protocol.OpenNext(node.Data, signer.Public(), d.Place(r.keys.record.ID, protocol.KindNext, there.Path, ""))
	if next.After != there.Incarnation.Number {
		next = protocol.NextRecord{}
	}
	return next, nil
}

func (v *ServerSnapshot) read(ctx context.Context, r *Reader, server contract.ServerPath) error {
	s, d := r.store, r.keys.deployment
	v.Path, v.Cells = server, map[contract.CellName]protocol.CellRecord{}
	node, err := s.Read(ctx, d.Server(server))
	if err != nil {
		return err
	}
	v.Incarnation = protocol.ParseIncarnation(node)
	v.State, err = r.state(ctx, server)
	if err = v.goOn(err); err != nil {
		return err
	}
	switch at := v.State.Incarnation; {
	case at > v.Incarnation.Number: // an older state was restored, in which the machine is not the server yet
		v.State = protocol.ServerState{Message: v.State.Message}
	case at < v.Incarnation.Number: // of the previous machine
		v.State = protocol.ServerState{}
	}
	v.RequestsRecord, err = r.Requests(ctx, server)
	if err = v.goOn(err); err == nil {
		v.Answers, err = r.Answers(ctx, server)
		err = v.goOn(err)
	}
	if err == nil {
		_, v.Alive, err = s.Stat(ctx, d.Presence(server))
	}
	return err
}

// goOn notes a record that cannot be read, to continue without it; any other error is returned.
func (v *ServerSnapshot) goOn(err error) error {
	of, is := unreadable(err)
	if !is {
		return err
	}
	v.Unreadable = append(v.Unreadable, of.Error())
	return nil
}
