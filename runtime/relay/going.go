package relay

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// Before Heat deletes a server whose roles have delete hooks it waits, if the stack that holds the
// server is deleted: with a member that leaves its group, too, whoever made that happen. The relay
// tells the server's agent, which runs the hooks and reports their end, and then lets Heat go on:
// also where a hook has failed, or nobody is there to run it, since nobody else would.

// DefaultAway is how long an agent that does nothing for its delete hooks is waited for.
const DefaultAway = 30 * time.Second

// longest is how long Heat waits with a server, whatever its agent does.
const longest = 30 * time.Minute

// going is what is known of the servers that Heat waits with.
type going struct {
	stack  string // whose events were read
	last   string // of them
	looked time.Time
	turn   bool
	paused heat.Paused
	idle   map[string]time.Time // machines, since when nothing happens on them
	since  map[string]time.Time // machines, since when Heat was seen waiting
	tell   map[contract.ServerPath]relay.Server
	waits  []coordinator.HeatWait
}

// attendHooks looks where Heat waits at hooks, and lets it go on. Credentials may be good for all
// else.
func (r *Relay) attendHooks(ctx context.Context, s *relay.Session) error {
	err := r.lookAtHooks(ctx, s)
	if err == nil && r.stack != nil {
		err = r.letGo(ctx, s)
	}
	if errors.Is(err, heat.ErrForbidden) {
		r.why("hooks", "Heat may wait with servers whose roles have delete hooks, and no relay lets it go on: "+trouble(err))
		return nil
	}
	return err
}

// lookAtHooks learns where Heat waits at hooks. A plan with delete hooks is worth a request at
// every other look; without them only another plan's servers may wait.
func (r *Relay) lookAtHooks(ctx context.Context, s *relay.Session) error {
	g := &r.going
	if r.stack == nil {
		*g = going{}
		return nil
	}
	if g.stack != r.stack.ID {
		*g = going{stack: r.stack.ID, paused: heat.Paused{}, idle: map[string]time.Time{}, since: map[string]time.Time{}}
	}
	g.turn = !g.turn
	hooks := slices.ContainsFunc(s.Plan.Servers, func(x contract.Server) bool { return coordinator.HasDeleteHook(&x) })
	switch often := hooks && s.Plan.Signal == contract.RelaySignals || r.stack.State.Action() == "DELETE"; {
	case len(g.paused) > 0:
	case often && !g.turn:
		return nil
	case !often && time.Since(g.looked) < lookAtStack:
		return nil
	}
	events, err := r.Heat.Events(ctx, r.stack.Name, r.stack.ID, g.last, heat.MaxDepth)
	if errors.Is(err, heat.ErrNotFound) {
		return nil // the next look at the stack tells
	}
	if err != nil {
		return err
	}
	g.looked = time.Now()
	g.paused.See(events...)
	if len(events) > 0 {
		g.last = events[len(events)-1].ID
	}
	return nil
}

// letGo lets Heat go on where there is nothing more to wait for, and finds the servers whose
// agents are to be told.
func (r *Relay) letGo(ctx context.Context, s *relay.Session) error {
	g, servers := &r.going, r.servers(s)
	g.tell, g.waits = map[contract.ServerPath]relay.Server{}, nil
	if len(servers) < len(s.Plan.Servers) {
		return nil // not all were read yet
	}
	for _, e := range g.paused.All() {
		at := e.Path(r.stack.Name)
		server := serverOf(e.Physical, at, s.Plan, servers)
		why, done, err := r.waitsFor(ctx, s, server, servers)
		if err != nil {
			return err
		}
		if !done {
			g.waits = append(g.waits, coordinator.HeatWait{Stack: strings.TrimSuffix(path.Dir(at), "."), Wait: e.Name, Status: coordinator.HeatWaits, Reason: why, Hook: heat.PreDelete})
			r.once("hooks of "+e.Physical, "Heat waits for the delete hooks of "+at+": "+why, r.sayGoing)
			continue
		}
		went, err := g.paused.Clear(ctx, r.Heat, e)
		if errors.Is(err, heat.ErrForeign) {
			r.sayGoing("Heat waits at the hook of " + at + ": " + err.Error())
			continue
		}
		if err != nil {
			return err
		}
		if went {
			delete(g.idle, e.Physical)
			delete(g.since, e.Physical)
			r.sayGoing("Heat goes on with " + at + ": " + why)
		}
	}
	if len(g.waits) > mostWaits {
		g.waits = g.waits[:mostWaits]
	}
	return nil
}

func (r *Relay) sayGoing(text string) {
	r.Say(text)
	if r.Going != nil {
		r.Going(text)
	}
}

// serverOf is the server of the plan that a machine is now; nil if none is. Each server says for
// itself which machine it is: of several that say the same it is the one at the resource's place.
func serverOf(instance, at string, p *contract.Plan, servers map[contract.ServerPath]relay.Server) (found *contract.Server) {
	for i := range p.Servers {
		x := &p.Servers[i]
		if now := servers[x.Path]; now.Incarnation == 0 || now.Instance != instance {
			continue
		}
		place := string(x.Path) + "/"
		if x.Slot != nil {
			place, _, _ = strings.Cut(string(x.Slot.Shared), contract.AnyMember)
		}
		if found == nil || strings.HasPrefix(at+"/", place) {
			found = x
		}
	}
	return found
}

// waitsFor says what Heat has to wait for with a server, or, done, why for nothing more.
func (r *Relay) waitsFor(ctx context.Context, s *relay.Session, server *contract.Server, servers map[contract.ServerPath]relay.Server) (why string, done bool, err error) {
	if server == nil {
		return "no server of the plan is that machine", true, nil
	}
	now := servers[server.Path]
	owed, unended := owed(server, now.State)
	switch is := now.State.Going; {
	case is != nil && !is.Ended.IsZero() && len(is.Failed) > 0:
		return "a delete hook has failed: " + chain(string(server.Path), is.Failed[0]), true, nil
	case is != nil && !is.Ended.IsZero():
		return "its delete hooks have run", true, nil
	case len(owed) == 0 && len(unended) > 0:
		return "no delete hook can run: " + strings.Join(unended, ", ") + " has not ended", true, nil
	case len(owed) == 0:
		return "it has no delete hook", true, nil
	}
	if _, there := r.carried.Of(server.Path); !there {
		return "its delete hooks did not run: the deployment was applied by a hotc that does not tell agents of it", true, nil
	}
	if began, known := r.going.since[now.Instance]; !known {
		r.going.since[now.Instance] = time.Now()
	} else if time.Since(began) > longest {
		return fmt.Sprintf("its delete hooks have not ended in %v", longest), true, nil
	}
	r.going.tell[server.Path] = now
	there, err := s.Present(ctx, server.Path)
	if err != nil {
		return "", false, err
	}
	why = strings.Join(owed, ", ")
	if there && atWork(now.State) {
		delete(r.going.idle, now.Instance)
		return why, false, nil
	}
	since, known := r.going.idle[now.Instance]
	if !known {
		since = time.Now()
		r.going.idle[now.Instance] = since
	}
	switch away := r.Away; {
	case time.Since(since) < away && !there:
		return fmt.Sprintf("%s, whose agent is not there: waiting up to %v", why, away), false, nil
	case time.Since(since) < away:
		return why, false, nil
	case !there:
		return fmt.Sprintf("its delete hooks did not run: its agent was not there for %v", away), true, nil
	}
	return fmt.Sprintf("its delete hooks did not run: its agent has not begun with them for %v", r.Away), true, nil
}

// owed are the roles of a server whose delete hook is to run, and those whose hook cannot, since
// they have not ended.
func owed(server *contract.Server, now coordinator.ServerState) (owed, unended []string) {
	for i := range server.Roles {
		r := &server.Roles[i]
		switch key := string(server.Path.Role(r.Name)); {
		case coordinator.OwesDelete(r, now.Role(r.Name).Status):
			owed = append(owed, key)
		case coordinator.OwesDelete(r, coordinator.RoleDone):
			unended = append(unended, key)
		}
	}
	return owed, unended
}

// atWork says that a server's agent runs something, after which it comes to the hooks, or is at
// them. A role that waits for a value may do so for ever.
func atWork(now coordinator.ServerState) bool {
	return now.Going != nil || slices.ContainsFunc(now.Roles, func(r coordinator.RoleState) bool {
		return r.Status == coordinator.RoleRunning && len(r.Blocked) == 0 || r.Update != nil && r.Update.Status == coordinator.RoleRunning
	})
}
