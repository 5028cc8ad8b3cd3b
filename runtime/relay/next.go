package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// A machine that would replace another as a server asks whether Heat has it. Heat lists the newest
// of each resource's machines. When it rolls back an update it returns to the older ones, and waits
// for these before it deletes the newer ones, which are listed until then.

// answerNext answers machines that have asked, by the servers' state before Heat was queried. One
// that was refused is answered again when Heat waits for it.
func (r *Relay) answerNext(ctx context.Context, s *relay.Session, before map[contract.ServerPath]relay.Server, seen []wait) error {
	if r.stack == nil || time.Since(r.answered) < doubtAgain {
		return nil
	}
	asking := lists.Only(s.Plan.Servers, func(server contract.Server) bool {
		next := before[server.Path].Next
		if next.Asks() || next.Has == nil || *next.Has {
			return next.Asks() && next.Instance != ""
		}
		has, _ := awaited(&server, next.Instance, seen, r.stack)
		return has
	})
	if len(asking) == 0 {
		return nil
	}
	stack, err := r.Heat.Stack(ctx, string(r.Key.Deployment))
	if err != nil || stack.ID != r.stack.ID {
		return err
	}
	r.answered = time.Now()
	listed := sync.OnceValues(func() ([]heat.Resource, error) {
		return r.Heat.Resources(ctx, stack.Name, stack.ID, heat.MaxDepth)
	})
	for i := range asking {
		path := asking[i].Path
		is := before[path]
		has, known := awaited(&asking[i], is.Next.Instance, seen, stack)
		if !known && stack.State.Action() == "ROLLBACK" && stack.State.InProgress() {
			continue // Heat lists machines that it is about to delete
		}
		if !known {
			all, err := listed()
			if errors.Is(err, heat.ErrForbidden) {
				r.why("next", fmt.Sprintf("instance %s waits to become server %s, and this relay may not check that with Heat: %s", is.Next.Instance, path, trouble(err)))
				continue
			}
			if err != nil {
				return err
			}
			has = stays(all, is.Next.Instance)
		}
		if err := s.Answer(ctx, path, is, has); err != nil {
			return err
		}
		text := fmt.Sprintf("Heat has instance %s as server %s: it replaces instance %s", is.Next.Instance, path, is.Instance)
		if !has {
			text = fmt.Sprintf("Heat does not have instance %s, which waits to become server %s: instance %s stays", is.Next.Instance, path, is.Instance)
		}
		r.why("next of "+string(path), text)
	}
	return nil
}

// awaited reports whether Heat waits for a machine as a server; known says that its newest update
// waits for one. All members of a scaling group share a path.
func awaited(server *contract.Server, instance string, seen []wait, stack *heat.Stack) (has, known bool) {
	for _, w := range seen {
		if !w.inProgress() || w.superseded || began(w).Before(stack.Updated.Time) {
			continue
		}
		for _, named := range w.Servers {
			shared := server.Slot != nil && named.Server == server.Slot.Shared
			switch {
			case named.ID == "" || named.Server != server.Path && !shared:
			case named.ID == instance:
				return true, true
			case !shared: // Heat's times are whole seconds: in the same one it may be the wait of an update that was overtaken
				known = known || stack.State.Action() == "ROLLBACK" || began(w).After(stack.Updated.Time)
			}
		}
	}
	return false, known
}

// stays reports whether a machine is in Heat's list, and Heat deletes neither it nor a stack that contains it.
func stays(listed []heat.Resource, instance string) bool {
	at := slices.IndexFunc(listed, func(x heat.Resource) bool { return x.ID == instance })
	for range heat.MaxDepth + 1 {
		if at < 0 || listed[at].State.Action() == "DELETE" {
			return false
		}
		within := listed[at].StackID
		if at = slices.IndexFunc(listed, func(x heat.Resource) bool { return x.NestedID != "" && x.NestedID == within }); at < 0 {
			return true
		}
	}
	return false
}
