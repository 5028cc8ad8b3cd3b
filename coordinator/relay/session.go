// Package relay is a relay's side of a deployment in a coordinator, with a key that is valid only
// for what Heat says (protocol.RelayKey): it reads the plan, each server's machine and its
// agent's reports, and the values for Heat; it writes its presence, and what Heat has said.
//
// What it reads is signed, and watched: an idle deployment costs nothing.
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

var (
	// ErrNotApplied says that the deployment does not exist.
	ErrNotApplied = errors.New("the deployment does not exist")
	// ErrChanged says that its plan has changed, or that it was applied again: join again.
	ErrChanged = errors.New("the plan has changed")
	// ErrWrongKey says that the key is not this deployment's.
	ErrWrongKey = errors.New("the relay's key is not this deployment's")
	// ErrNotWritten says that a value was not written yet.
	ErrNotWritten = errors.New("is not written yet")
)

// Session is a relay's view of a deployment with one plan.
type Session struct {
	Plan *contract.Plan

	store   store.Session
	key     protocol.RelayKey
	signer  sign.Key
	record  protocol.DeploymentRecord
	keys    map[contract.ServerPath]sign.Public
	types   map[contract.CellName]contract.Type
	changed chan struct{}
	// clock is the coordinator's time when this machine's was began.
	clock, began time.Time

	// reading is held while a server is read and noted, by Reread alone: an older read that takes its
	// time cannot overwrite a newer one.
	reading sync.RWMutex
	mu      sync.Mutex
	servers map[contract.ServerPath]Server
}

// Server is the current state of a server.
type Server struct {
	// Instance is Nova's id of its machine, "" while none has joined.
	Instance string
	// Incarnation is the number of that machine.
	Incarnation int
	// Left says that, by the relays' record, Heat no longer has it in its group.
	Left bool
	// State is what the machine's agent last reported.
	State protocol.ServerState
	// Unreadable is why its state cannot be read.
	Unreadable string
	// Next is the machine that waits to replace this one.
	Next protocol.NextRecord
	next store.Version // of its node
}

// Join reads a deployment's plan and keys. ErrNotApplied, ErrWrongKey, protocol.ErrForged.
func Join(ctx context.Context, store store.Session, key protocol.RelayKey) (*Session, error) {
	s := &Session{store: store, key: key, changed: make(chan struct{}, 1), servers: map[contract.ServerPath]Server{}}
	var err error
	if s.signer, err = key.Signer(); err != nil {
		return nil, err
	}
	if _, ready, err := store.Stat(ctx, key.Deployment.Ready()); err != nil || !ready {
		return nil, errors.Join(err, ErrNotApplied)
	}
	if s.Plan, s.record, err = protocol.ReadPlan(ctx, store, key.Deployment, s.explain, s.readRecord); err != nil {
		return nil, err
	}
	s.types = s.Plan.Types()
	return s, s.readKeys(ctx)
}

func (s *Session) explain(err error) error {
	switch {
	case errors.Is(err, store.ErrRefused):
		return fmt.Errorf("%w: %w", ErrWrongKey, err)
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrNotApplied, err)
	}
	return err
}

func (s *Session) readRecord(ctx context.Context) (protocol.DeploymentRecord, error) {
	node, err := s.store.Read(ctx, s.key.Deployment.Root())
	if err != nil {
		return protocol.DeploymentRecord{}, s.explain(err)
	}
	return protocol.OpenDeployment(s.key.Deployment, s.key.Operator, node.Data)
}

func (s *Session) readKeys(ctx context.Context) error {
	d := s.key.Deployment
	text, _, err := protocol.ReadParts(ctx, s.store, d.ServersKeys())
	if err != nil {
		return s.explain(err)
	}
	text, _, err = s.key.Operator.Open(d.Place(s.record.ID, protocol.KindKeysOf, "", ""), text)
	if err != nil {
		return protocol.Forged("the list of the servers' keys", "the deployment's operator", err)
	}
	keys, err := protocol.Decode[protocol.ServersKeys](d.ServersKeys(), text)
	s.keys = keys.Keys
	return err
}

// Watch keeps Servers up to date until the context ends, the plan changes (ErrChanged) or the
// deployment is destroyed (ErrNotApplied).
func (s *Session) Watch(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	record, err := s.store.Watch(ctx, s.key.Deployment.Root())
	if err != nil {
		return err
	}
	failed := make(chan error, mostReaders)
	for servers := range slices.Chunk(s.Plan.Servers, max(1, (len(s.Plan.Servers)+mostReaders-1)/mostReaders)) {
		mistake.GoIn(&all, func() {
			if err := s.follow(ctx, servers); err != nil && ctx.Err() == nil {
				failed <- err
			}
		})
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-failed:
			return s.explain(err)
		case <-record:
			now, err := s.readRecord(ctx)
			switch {
			case err != nil:
				return err
			case now.ID != s.record.ID || now.Plan != s.record.Plan:
				return ErrChanged
			}
		}
	}
}

// mostReaders is how many goroutines follow a deployment's servers. One for each server would take
// 5 MB of stacks where there are a thousand.
const mostReaders = 16

// follow reads servers whenever one of their nodes changes.
func (s *Session) follow(ctx context.Context, servers []contract.Server) error {
	const perServer = 3
	d, tokens := s.key.Deployment, []reflect.SelectCase{}
	for _, server := range servers {
		for _, path := range [perServer]store.Path{d.Server(server.Path), d.State(server.Path), d.Next(server.Path)} {
			changes, err := s.store.Watch(ctx, path)
			if err != nil {
				return err
			}
			tokens = append(tokens, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(changes)})
		}
	}
	for {
		i, _, _ := reflect.Select(tokens) // all are closed when the context ends
		if ctx.Err() != nil {
			return nil
		}
		i /= perServer
		for _, other := range tokens[perServer*i : perServer*(i+1)] {
			other.Chan.TryRecv() // one read serves all nodes
		}
		s.reading.RLock()
		err := s.note(ctx, servers[i].Path)
		s.reading.RUnlock()
		if err != nil {
			return err
		}
		store.Wake(s.changed)
	}
}

// Reread reads a server's state at once: Servers may not show yet what was just announced.
func (s *Session) Reread(ctx context.Context, server contract.ServerPath) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.note(ctx, server)
}

// note reads the state of a server for Servers.
func (s *Session) note(ctx context.Context, server contract.ServerPath) error {
	now, err := s.read(ctx, server)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[server] = now
	return nil
}

// read reads the state of a server.
func (s *Session) read(ctx context.Context, server contract.ServerPath) (Server, error) {
	d := s.key.Deployment
	node, err := s.store.Read(ctx, d.Server(server))
	if err != nil {
		return Server{}, err
	}
	is := protocol.ParseIncarnation(node)
	now := Server{Instance: is.Instance, Incarnation: is.Number}
	if node, err = s.store.Read(ctx, d.State(server)); err != nil {
		return Server{}, err
	}
	if now.State, _, err = protocol.OpenForeign[protocol.ServerState](d.State(server), node.Data, s.keys[server], d.Place(s.record.ID, protocol.KindState, server, "")); err != nil {
		now.Unreadable = err.Error()
	}
	if now.State.Incarnation != is.Number {
		now.State = protocol.ServerState{} // of the previous machine
	}
	if node, err = s.store.Read(ctx, d.Next(server)); errors.Is(err, store.ErrNotFound) {
		return now, nil // it was not applied for a relay
	}
	now.Next, now.next = protocol.OpenNext(node.Data, s.signer.Public(), s.nextPlace(server)), node.Version
	return now, err
}

func (s *Session) nextPlace(server contract.ServerPath) sign.Place {
	return s.key.Deployment.Place(s.record.ID, protocol.KindNext, server, "")
}

// Answer answers a machine that waits to become a server whether Heat has it. A machine that has
// asked since was read is answered later.
func (s *Session) Answer(ctx context.Context, server contract.ServerPath, was Server, has bool) error {
	next := was.Next
	next.Has = &has
	err := s.write(ctx, s.key.Deployment.Next(server), was.next, s.nextPlace(server), 0, next)
	if errors.Is(err, store.ErrVersion) {
		return nil
	}
	return err
}

// Changed gets a token when Servers has changed.
func (s *Session) Changed() <-chan struct{} { return s.changed }

// Servers are the servers of the plan that were read so far.
func (s *Session) Servers() map[contract.ServerPath]Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.servers)
}

// states are what the servers' agents have reported.
func (s *Session) states() (all []protocol.ServerState) {
	for _, server := range s.Servers() {
		all = append(all, server.State)
	}
	return all
}

// Value is what a role has written for Heat. ErrNotWritten.
func (s *Session) Value(ctx context.Context, c contract.CellRef) (json.RawMessage, error) {
	d := s.key.Deployment
	node, err := s.store.Read(ctx, d.Cell(c))
	if err != nil {
		return nil, err
	}
	record, err := protocol.OpenCell(d.Cell(c), node.Data, s.keys[c.Server], d.CellPlace(s.record.ID, c))
	if err == nil {
		c.Type = s.types[c.Cell]
		record, err = protocol.CheckCell(c, record)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case record.State == protocol.Empty:
		return nil, ErrNotWritten
	case record.State != protocol.Valued || record.Value == nil:
		return nil, fmt.Errorf("%s has no value for the stack", c.Cell)
	}
	return record.Value, nil
}

// Announce keeps the relay's presence in place until the context ends.
func (s *Session) Announce(ctx context.Context, name string, p protocol.RelayPresence) error {
	text, err := protocol.Encode(p)
	if err != nil {
		return err
	}
	at := s.key.Deployment.Relays().Join(name)
	if err := s.store.Announce(ctx, at, text); err != nil {
		return err
	}
	s.began = time.Now()
	if s.clock, err = s.store.Written(ctx, at); errors.Is(err, store.ErrNotFound) { // the session has expired
		s.clock, err = s.began, nil
	}
	return err
}

// Age is how long ago the server's machine joined.
func (s *Session) Age(ctx context.Context, server contract.ServerPath) (time.Duration, error) {
	at, err := s.store.Written(ctx, s.key.Deployment.Server(server))
	return s.clock.Add(time.Since(s.began)).Sub(at), err
}

// Handled reports whether the servers signalled Heat themselves before: it may still wait on
// handles, for which some servers have no credentials.
func (s *Session) Handled() bool { return !s.record.Handles.IsZero() }

// Ended reports whether a node is missing because the deployment is being destroyed, which ends
// Watch.
func (s *Session) Ended(ctx context.Context, err error) bool {
	if !errors.Is(err, store.ErrNotFound) {
		return false
	}
	_, ready, err := s.store.Stat(ctx, s.key.Deployment.Ready())
	return err == nil && !ready
}

// Alone reports whether no other relay is connected.
func (s *Session) Alone(ctx context.Context) (bool, error) {
	there, err := s.store.Children(ctx, s.key.Deployment.Relays())
	return len(there) == 1, err
}

// Tell writes what Heat has said, if that is news; another relay's record is as good. anew writes
// it in any case, after Heat was told of machines that may have joined since: the record's age
// shows which machines a relay has seen.
func (s *Session) Tell(ctx context.Context, r protocol.HeatRecord, anew bool) error {
	d := s.key.Deployment
	at := d.Place(s.record.ID, protocol.KindHeat, "", "")
	there, version, _, err := protocol.ReadSigned[protocol.HeatRecord](ctx, s.store, d.Heat(), s.signer.Public(), at)
	if err != nil && !errors.Is(err, protocol.ErrForged) {
		return s.explain(err)
	}
	if err == nil && !anew && there.Stack == r.Stack && there.Trouble == r.Trouble && slices.Equal(there.Waits, r.Waits) {
		return nil
	}
	err = s.write(ctx, d.Heat(), version, at, 0, r)
	if errors.Is(err, store.ErrVersion) {
		return nil
	}
	return err
}

// write signs a record, and writes it if the node has not changed since it was read. ErrVersion.
func (s *Session) write(ctx context.Context, path store.Path, version store.Version, at sign.Place, counter int64, record any) error {
	text, err := protocol.Signed(s.signer, at, counter, record)
	if err != nil {
		return err
	}
	return s.store.Commit(ctx, store.Op{Path: path, Version: version, Write: true, Data: text})
}
