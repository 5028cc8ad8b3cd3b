package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Where a relay signals Heat, a machine replaces another only if Heat has it. One that boots late
// may join after its replacement; one that was replaced may become the server again when Heat rolls
// back to it.

const (
	// askedByOther is how long another machine's question is left alone before this one asks.
	askedByOther = 30 * time.Second
	// askAgain is how soon a machine that Heat does not have asks again.
	askAgain = time.Minute
)

// ErrMayReturn says that a fenced machine may become the server again if its agent is restarted:
// Heat may roll back to it.
var ErrMayReturn = errors.New("this machine asks again, in case Heat rolls back to it")

// MayReturn adds ErrMayReturn to ErrFenced, where machines can ask.
func (m *Member) MayReturn(ctx context.Context, err error) error {
	if _, asks, look := m.store.Stat(ctx, m.deployment.Next(m.server)); look == nil && asks && errors.Is(err, ErrFenced) {
		return fmt.Errorf("%w; %w", err, ErrMayReturn)
	}
	return err
}

// mayReplace waits until the machine may replace the one that is there since version; false if
// another has done so meanwhile. A new machine does not need Heat's answer if the other one's agent
// is gone for as long as readers wait for it, unless Heat has answered that it does not have the
// machine. One that was the server before (was) always needs it: ErrFenced if it cannot ask.
func (m *Member) mayReplace(ctx context.Context, there protocol.IncarnationRecord, version store.Version, own protocol.NextRecord, was bool) (bool, error) {
	path := m.deployment.Next(m.server)
	if _, exists, err := m.store.Stat(ctx, path); err != nil || !exists {
		if err == nil && was {
			err = fenced(there)
		}
		return true, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	answers, err := m.store.Watch(ctx, path)
	if err != nil {
		return false, err
	}
	others, err := m.store.Watch(ctx, m.deployment.Server(m.server))
	if err != nil {
		return false, err
	}
	var lost <-chan time.Time
	if !was {
		lost = m.followAgent(ctx, m.server, cmp.Or(m.machine.IfDown, contract.DefaultIfDown*time.Second))
	}
	again := time.NewTimer(askedByOther)
	defer again.Stop()
	began, asked := time.Now(), own.Since
	for due, refused, said := false, false, ""; ; {
		own.Since = asked.Add(time.Since(began))
		has, err := m.ask(ctx, path, own, due, refused)
		switch {
		case err != nil:
			return false, err
		case has != nil && *has:
			return true, nil
		case has != nil && (due || !refused):
			refused = true
			again.Reset(askAgain)
		}
		due = false
		why := "this machine takes over once a relay confirms that Heat has it"
		if refused {
			why = "Heat does not have this machine: nothing runs here"
		}
		if said != why {
			said = why
			m.tell(fenced(there).Error() + "; " + why)
		}
		select {
		case <-answers:
		case <-others:
			if now, _, err := m.store.Stat(ctx, m.deployment.Server(m.server)); err != nil || now != version {
				return false, err
			}
		case <-lost:
			if lost = nil; !refused {
				return true, nil
			}
		case <-again.C:
			due = true
			again.Reset(askedByOther)
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// ask asks, unless this machine has asked, or another machine's question is open; has is the answer
// for this one, if there is one. If due, a refused machine asks again, and another machine's open
// question is overwritten.
func (m *Member) ask(ctx context.Context, path store.Path, own protocol.NextRecord, due, refused bool) (has *bool, err error) {
	node, err := m.store.Read(ctx, path)
	if err != nil {
		return nil, m.gone(ctx, err)
	}
	there := protocol.OpenNext(node.Data, m.relayKey(), m.deployment.Place(m.known().identity.ID, protocol.KindNext, m.server, ""))
	mine := there.ID == own.ID && there.Instance == own.Instance && there.After == own.After
	if mine && (there.Asks() || !due) || (there.Asks() || refused) && !due {
		if !mine {
			there.Has = nil
		}
		return there.Has, nil
	}
	data, err := protocol.Encode(own)
	if err == nil {
		err = m.store.Commit(ctx, store.Op{Path: path, Version: node.Version, Write: true, Data: data})
	}
	if errors.Is(err, store.ErrVersion) { // the watch reports who has asked meanwhile
		err = nil
	}
	return nil, err
}
