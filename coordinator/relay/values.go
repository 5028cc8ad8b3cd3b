package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// A relay writes what Heat gives the servers: first the number of the change, then each
// server's record with it. Every write is conditional on what was read before Heat was asked,
// so that no relay puts back what a later one has heard. Whoever finds records with another
// number than the last one finishes what a relay has begun that was killed.

// ErrStale says that another relay has written since: read again, and ask Heat again.
var ErrStale = errors.New("another relay has written what Heat gives")

// Values is what relays have written of what Heat gives the servers, as it was read.
type Values struct {
	number  int64
	version coordinator.Version // of the number's node
	servers map[contract.ServerPath]*valuesOf
	there   bool // the deployment has a place for it
}

type valuesOf struct {
	coordinator.HeatValues
	version coordinator.Version
	there   bool
}

// Values reads what relays have written. What none has signed is nothing.
func (s *Session) Values(ctx context.Context) (*Values, error) {
	d, v := s.key.Deployment, &Values{servers: map[contract.ServerPath]*valuesOf{}}
	number, version, _, err := coordinator.ReadSigned[coordinator.HeatNumber](ctx, s.store, d.HeatNumber(), s.signer.Public(), d.Place(s.record.ID, coordinator.KindHeatNumber, "", ""))
	if errors.Is(err, coordinator.ErrNotFound) { // applied by an older hotc
		return v, nil
	}
	if err != nil && !errors.Is(err, coordinator.ErrForged) {
		return nil, s.explain(err)
	}
	v.number, v.version, v.there = number.Number, version, true
	var paths []contract.ServerPath
	for i := range s.Plan.Servers {
		if coordinator.HearsOfHeat(&s.Plan.Servers[i]) {
			paths = append(paths, s.Plan.Servers[i].Path)
		}
	}
	var mu sync.Mutex
	err = coordinator.Each(ctx, len(paths), func(ctx context.Context, i int) error {
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
	values, version, _, err := coordinator.ReadSigned[coordinator.HeatValues](ctx, s.store, d.HeatValues(server), s.signer.Public(), d.Place(s.record.ID, coordinator.KindHeatValues, server, ""))
	if errors.Is(err, coordinator.ErrNotFound) {
		return &valuesOf{}, nil
	}
	if errors.Is(err, coordinator.ErrForged) {
		err = nil
	}
	return &valuesOf{HeatValues: values, version: version, there: true}, s.explain(err)
}

// Of is what stands there of a server.
func (v *Values) Of(server contract.ServerPath) (values coordinator.HeatValues, there bool) {
	if v == nil || v.servers[server] == nil || !v.servers[server].there {
		return coordinator.HeatValues{}, false
	}
	return v.servers[server].HeatValues, true
}

// TooLargeError says that what Heat gives a server does not fit into the coordinator.
type TooLargeError struct {
	Server      contract.ServerPath
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("what Heat gives server %s has %d bytes; the coordinator takes %d", e.Server, e.Size, e.Limit)
}

// Say writes what Heat gives servers now. Of those that are not named nothing is changed but
// the number. It says whether anything was written, after which Values is to be read again.
// ErrStale, *TooLargeError: then nothing was written.
func (s *Session) Say(ctx context.Context, before *Values, now map[contract.ServerPath]coordinator.HeatValues) (written bool, err error) {
	if !before.there {
		return false, nil
	}
	number, changed := before.number, false
	for path, values := range now {
		old, there := before.Of(path)
		changed = changed || there && !old.Same(values)
		if text, err := coordinator.Encode(values); err != nil {
			return false, err
		} else if size, limit := len(text), coordinator.Room(s.store)-signatureRoom; size > limit {
			return false, &TooLargeError{path, size, limit}
		}
	}
	d := s.key.Deployment
	if changed {
		number = max(number+1, time.Now().UnixMilli()) // more than in a coordinator that has forgotten
		at := d.Place(s.record.ID, coordinator.KindHeatNumber, "", "")
		if err := s.write(ctx, d.HeatNumber(), before.version, at, number, coordinator.HeatNumber{Number: number}); err != nil {
			return true, stale(err)
		}
	}
	paths := slices.Sorted(maps.Keys(before.servers))
	var mu sync.Mutex
	err = coordinator.Each(ctx, len(paths), func(ctx context.Context, i int) error {
		old := before.servers[paths[i]]
		values, news := now[paths[i]]
		if !news {
			values = old.HeatValues
		}
		if !old.there || !news && old.Number == number {
			return nil
		}
		values.Number = number
		err := s.write(ctx, d.HeatValues(paths[i]), old.version, d.Place(s.record.ID, coordinator.KindHeatValues, paths[i], ""), number, values)
		mu.Lock()
		defer mu.Unlock()
		written = true
		return err
	})
	return written || changed, stale(err)
}

// signatureRoom is what a signature adds to a record.
const signatureRoom = 512

func stale(err error) error {
	if errors.Is(err, coordinator.ErrVersion) {
		return ErrStale
	}
	return err
}
