package agent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// maxRetry bounds the time between attempts after a refusal.
const maxRetry = 5 * time.Minute

// joinBooted joins, and waits until the server has booted. By then the deployment may have been
// destroyed or applied again, so it joins once more. Thanks to the first time the second is fast.
func (a *agent) joinBooted(ctx context.Context) error {
	for {
		booted := a.hasBooted()
		if err := a.join(ctx); err != nil || booted {
			return err
		}
		if err := a.awaitBoot(ctx); err != nil {
			return err
		}
	}
}

func (a *agent) hasBooted() bool {
	if a.Booted == nil {
		return true
	}
	select {
	case <-a.Booted:
		return true
	default:
		return false
	}
}

// join opens the coordinator, waits for the deployment and gets the server's part of the plan. It
// waits for a deployment that is not there yet. A refused token, a server that is not in the plan,
// and a plan that is not the operator's are also signalled to Heat, and retried slowly: the
// operator may apply the deployment again.
func (a *agent) join(ctx context.Context) error {
	refused, booted := false, a.Booted
	var over context.CancelFunc
	a.joining, over = context.WithCancel(ctx)
	defer a.refusing.Wait() // a failure that Heat gets late would undo the success of the roles
	defer over()
	if a.hasBooted() {
		booted = nil
	}
	for retry := a.Retry; ; retry = min(2*retry, maxRetry) {
		err := a.tryToJoin(ctx)
		removed := (*member.RemovedError)(nil)
		if errors.As(err, &removed) && a.journal.Incarnation() > 0 {
			return removed
		}
		if lost := (*lostSlotError)(nil); err == nil || errors.As(err, &lost) || errors.Is(err, member.ErrForgets) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("stopped before the deployment was there: %w", context.Cause(ctx))
		}
		reason := err.Error()
		switch {
		case errors.Is(err, store.ErrRefused):
			reason = fmt.Sprintf("the coordinator refuses this server's token: the deployment %s was applied with a different secret than the stack's (%v)",
				a.Boot.Deployment, err)
		case errors.Is(err, member.ErrNotInPlan):
			reason = fmt.Sprintf("the deployment %s has no server %s: it was applied from another template, or Heat created more members of a group than the plan has (%v)",
				a.Boot.Deployment, a.Boot.Server, err)
		}
		a.console.say("%s; next attempt in %v", reason, retry)
		if !refused && (errors.Is(err, store.ErrRefused) || errors.Is(err, member.ErrNotInPlan) || removed != nil || errors.Is(err, protocol.ErrForged)) {
			refused = true
			a.refusedForHeat(reason)
		}
		pause, err := a.upTo(retry / 2)
		if err != nil {
			return err
		}
		select {
		case <-time.After(retry/2 + pause):
		case <-booted: // the user's own user-data may have added what was missing
			booted = nil
		case <-ctx.Done():
		}
	}
}

// awaitBoot waits until the server has booted.
func (a *agent) awaitBoot(ctx context.Context) error {
	waiting, over := context.WithCancel(ctx)
	defer over()
	a.console.wait(waiting, "cloud-init has not finished yet on this server")
	select {
	case <-a.Booted:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stopped before the server had booted: %w", context.Cause(ctx))
	}
}

// upTo is a random time, so that agents that were refused together do not retry together.
func (a *agent) upTo(most time.Duration) (time.Duration, error) {
	var random [8]byte
	if _, err := io.ReadFull(a.Random, random[:]); err != nil {
		return 0, fmt.Errorf("read random bytes: %w", err)
	}
	return time.Duration(binary.NativeEndian.Uint64(random[:]) % uint64(most+1)), nil
}

// refusedForHeat signals Heat, on every handle, that the server's roles will not run: resources may
// wait for any of them. It does so in the background: Heat may be unreachable, too.
func (a *agent) refusedForHeat(reason string) {
	s := signal.Signal{Status: signal.Failure, ID: string(a.Boot.Server), Reason: fmt.Sprintf("%s: %s", a.Boot.Server, reason)}
	mistake.GoIn(&a.refusing, func() { a.signalTo(a.joining, a.Boot.Signal, a.ownHandle(), s) })
	for at := a.Boot.Signals; at != nil; at = at.Above {
		for name, to := range at.Own {
			mistake.GoIn(&a.refusing, func() {
				a.signalTo(a.joining, to.Signal, signal.Stack{Name: to.Stack, ID: to.StackID, Resource: name}, s)
			})
		}
	}
}

// dial connects to the coordinator, as the server and perhaps others.
func (a *agent) dial(ctx context.Context, own store.Credential, more ...store.Credential) (store.Session, error) {
	session, err := a.Open(ctx, a.Boot.Coordinator, append([]store.Credential{own}, more...)...)
	if wrong, is := errors.AsType[*store.URLError](err); is {
		return nil, fmt.Errorf("the coordinator's URL, %w", wrong)
	}
	if err != nil {
		return nil, fmt.Errorf("open the coordinator %s: %w", store.ShownURL(a.Boot.Coordinator), err)
	}
	return session, nil
}

func (a *agent) tryToJoin(ctx context.Context) error {
	waiting, over := context.WithCancel(ctx)
	defer over()
	patience := a.console.wait(waiting, "no answer yet from the coordinator "+store.ShownURL(a.Boot.Coordinator))
	probing, reached := context.WithCancel(waiting)
	defer reached()
	mistake.Go(func() { a.reach(probing, patience) })
	waitingFor := func(why string) {
		reached()
		patience.because(why)
	}
	claim, err := a.claim(ctx, waitingFor)
	if err != nil {
		return err
	}
	if a.store == nil {
		if a.store, err = a.dial(ctx, protocol.ServerCredential(a.Boot.Server, a.Boot.Token), claim.credentials()...); err != nil {
			return err
		}
	}
	if err := a.meet(ctx, claim, waitingFor); err != nil {
		return errors.Join(err, a.leave())
	}
	return nil
}

// leave ends the session.
func (a *agent) leave() error {
	if a.store == nil {
		return nil
	}
	store := a.store
	a.store = nil
	return store.Close()
}

// meet makes the agent a member of the current deployment, and reads the server's part of the plan.
func (a *agent) meet(ctx context.Context, claim *claimed, waiting func(why string)) error {
	m := member.Join(a.store, protocol.Deployment(a.Boot.Deployment), a.Boot.Server, a.Boot.Token)
	m.UseMemory(a.journal)
	m.UseMachine(member.Machine{Instance: a.Instance, Now: a.Now, IfDown: a.IfDown,
		Key: func() (seal.Key, error) { return loadKey(a.Disk, a.journal.ID()) }})
	if claim != nil {
		m.KeepSlot(&claim.Claim, claim.number)
	}
	if err := m.AwaitDeployment(ctx, waiting); err != nil {
		return err
	}
	own, err := m.Plan(ctx)
	if err != nil {
		return err
	}
	a.member, a.plan = m, own
	a.relayed.Store(own.Relayed)
	return nil
}
