package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A relay writes the values that Heat supplies to the servers: first the number of the change, then
// each server's record with it. Every write is conditional on what was read before Heat was
// queried, so that no relay overwrites newer values. A relay that finds records with an older
// number completes the change of a relay that was killed.

// ErrStale says that another relay has written since: read again, and query Heat again.
var ErrStale = errors.New("another relay has written Heat's values")

// Values are the relays' records of Heat's values, as they were read.
type Values struct {
	number  int64
	version store.Version // of the number's node
	servers map[contract.ServerPath]*valuesOf
	there   bool // the deployment has nodes for them
}

type valuesOf struct {
	protocol.HeatValues
	version store.Version
	there   bool
}

// Values reads the relays' records of Heat's values. One that no relay has signed is empty.
func (s *Session) Values(ctx context.Context) (*Values, error) {
	d, v := s.key.Deployment, &Values{servers: map[contract.ServerPath]*valuesOf{}}
	number, version, _, err := protocol.ReadSigned[protocol.HeatNumber](ctx, s.store, d.HeatNumber(), s.signer.Public(), d.Place(s.record.ID, protocol.KindHeatNumber, "", ""))
	if errors.Is(err, store.ErrNotFound) { // applied by an older hotc
		return v, nil
	}
	if err != nil && !errors.Is(err, protocol.ErrForged) {
		return nil, s.explain(err)
	}
	v.number, v.version, v.there = number.Number, version, true
	var paths []contract.ServerPath
	for i := range s.Plan.Servers {
		if protocol.HearsOfHeat(&s.Plan.Servers[i], s.Plan.Signal == contract.RelaySignals) {
			paths = append(paths, s.Plan.Servers[i].Path)
		}
	}
	var mu sync.Mutex
	err = store.Each(ctx, len(paths), func(ctx context.Context, i int) error {
		one, err := s.valuesOf(ctx, paths[i])
		mu.Lock()
		defer mu.Unlock()
		v.servers[paths[i]] = one
		v.number = max(v.number, one.Number) // another relay may have written since the number was read
		return err
	})
	return v, err
}

func (s *Session) valuesOf(ctx context.Context, server contract.ServerPath) (*valuesOf, error) {
	d := s.key.Deployment
	values, version, _, err := protocol.ReadSigned[protocol.HeatValues](ctx, s.store, d.HeatValues(server), s.signer.Public(), d.Place(s.record.ID, protocol.KindHeatValues, server, ""))
	if errors.Is(err, store.ErrNotFound) {
		return &valuesOf{}, nil
	}
	if errors.Is(err, protocol.ErrForged) {
		err = nil
	}
	return &valuesOf{HeatValues: values, version: version, there: true}, s.explain(err)
}

// Of returns a server's record.
func (v *Values) Of(server contract.ServerPath) (values protocol.HeatValues, there bool) {
	if v == nil || v.servers[server] == nil || !v.servers[server].there {
		return protocol.HeatValues{}, false
	}
	return v.servers[server].HeatValues, true
}

// TooLargeError says that Heat's values for a server do not fit into the coordinator.
type TooLargeError struct {
	Server      contract.ServerPath
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Heat's values for server %s have %d bytes; the coordinator accepts %d", e.Server, e.Size, e.Limit)
}

// Say writes the values that Heat supplies to servers now. For other servers only the number is
// changed. It reports whether anything was written, after which Values has to be read again.
// ErrStale; *TooLargeError: nothing was written.
func (s *Session) Say(ctx context.Context, before *Values, now map[contract.ServerPath]protocol.HeatValues) (written bool, err error) {
	if !before.there {
		return false, nil
	}
	number, changed := before.number, false
	for path, values := range now {
		old, there := before.Of(path)
		changed = changed || there && !old.Same(values)
		if text, err := protocol.Encode(values); err != nil {
			return false, err
		} else if size, limit := len(text), store.Room(s.store)-signatureRoom; size > limit {
			return false, &TooLargeError{path, size, limit}
		}
	}
	d := s.key.Deployment
	if changed {
		number = protocol.NextNumber(max(number, s.record.Counter), protocol.KindHeatValues, s.states()...)
		at := d.Place(s.record.ID, protocol.KindHeatNumber, "", "")
		if err := s.write(ctx, d.HeatNumber(), before.version, at, number, protocol.HeatNumber{Number: number}); err != nil {
			return true, stale(err)
		}
	}
	paths := slices.Sorted(maps.Keys(before.servers))
	var mu sync.Mutex
	err = store.Each(ctx, len(paths), func(ctx context.Context, i int) error {
		old := before.servers[paths[i]]
		values, news := now[paths[i]]
		if !news {
			values = old.HeatValues
		}
		if !old.there || !news && old.Number == number {
			return nil
		}
		values.Number = number
		err := s.write(ctx, d.HeatValues(paths[i]), old.version, d.Place(s.record.ID, protocol.KindHeatValues, paths[i], ""), number, values)
		mu.Lock()
		defer mu.Unlock()
		written = true
		return err
	})
	return written || changed, stale(err)
}

// signatureRoom bounds what a signature adds to a record.
const signatureRoom = 512

func stale(err error) error {
	if errors.Is(err, store.ErrVersion) {
		return ErrStale
	}
	return err
}
