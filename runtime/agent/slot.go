package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// claimed is a slot in a scaling group, with the credential from the path and the token that all
// members share.
type claimed struct {
	member.Claim
	number int
	shared store.Credential
}

// credentials are those with which the claim can be read again.
func (c *claimed) credentials() []store.Credential {
	if c == nil {
		return nil
	}
	return []store.Credential{c.shared}
}

// claim finds, or takes, the slot of the server's member in a scaling group, if any: from then on
// the agent is that slot's server.
func (a *agent) claim(ctx context.Context, waiting func(why string)) (*claimed, error) {
	if a.shared == nil {
		if a.Boot.Slot.Group() == "" {
			return nil, nil
		}
		a.shared = &identity{server: a.Boot.Server, token: a.Boot.Token}
	}
	c := &claimed{shared: protocol.ServerCredential(a.shared.server, a.shared.token),
		Claim: member.Claim{Deployment: protocol.Deployment(a.Boot.Deployment), Slot: a.Boot.Slot, Server: a.shared.server, Stack: a.Boot.StackID,
			Enrolled: a.journal.Incarnation() > 0, Token: a.shared.token, Known: a.journal.Remembered().Identity,
			IfDown: a.IfDown, Now: a.Now, Waiting: waiting, Full: a.noSlot}}
	store, err := a.dial(ctx, c.shared)
	if err != nil {
		return nil, err
	}
	if c.number, err = c.Take(ctx, store); err != nil {
		if errors.Is(err, member.ErrFenced) || errors.Is(err, member.ErrDestroyed) {
			err = &lostSlotError{err}
		}
		return nil, errors.Join(err, store.Close())
	}
	own := a.Boot.Slot.Within(a.shared.server, c.number)
	if own != a.Boot.Server { // the session, if there is one, is another server's
		err = a.leave()
	}
	a.Boot.Server, a.Boot.Token = own, protocol.SlotToken(a.shared.token, c.number)
	return c, errors.Join(err, store.Close())
}

// lostSlotError says that another member has the slot in which this machine ran roles.
type lostSlotError struct{ error }

// Unwrap returns member.ErrFenced, or ErrDestroyed.
func (e *lostSlotError) Unwrap() error { return e.error }

// identity is a server's name and token.
type identity struct {
	server contract.ServerPath
	token  string
}

// noSlot reports to the console and Heat that there are more members than slots.
func (a *agent) noSlot(slots int) {
	reason := fmt.Sprintf("every replica slot of the group %s is in use (it has %d): Heat created more members than the plan has slots (max_size, or max_members of its hotc block)", a.Boot.Slot.Group(), slots)
	a.console.say("%s", reason)
	a.refusedForHeat(reason)
}
