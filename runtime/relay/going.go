package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// Before Heat deletes a server whose roles have delete hooks it waits, if the stack that contains
// the server is deleted: also for a member that leaves its group, for whatever reason. The relay
// tells the server's agent, which runs the hooks and reports their end, and then lets Heat
// continue: also if a hook has failed, or no agent is there to run it, since otherwise Heat would
// stay paused.

// A member that leaves its group is dropped first by the roles that follow the group: a balancer
// sends nothing to a member whose delete hook runs. The relay writes down that the member has left as
// soon as Heat waits at its hook, and tells its agent when the followers have run without it, or when
// they do nothing for as long as it waits for an agent.

// DefaultAway is how long the relay waits for an agent that does nothing for its delete hooks.
const DefaultAway = 30 * time.Second

// soon is how long an agent that is there may do nothing before a role counts as held: it begins an
// update within a second.
const soon = 5 * time.Second

// longest bounds the wait for a server's delete hooks, whatever its agent does.
const longest = 30 * time.Minute

// going is what is known about the servers that Heat is about to delete.
type going struct {
	stack  string // whose events were read
	last   string // event read
	looked time.Time
	turn   bool
	paused heat.Paused
	idle   map[string]time.Time // since when nothing happens on a machine
	since  map[string]time.Time // since when Heat was seen waiting for a machine
	tell   map[contract.ServerPath]relay.Server
	// leaving are the incarnations of the servers at whose hooks Heat waits.
	leaving map[contract.ServerPath]int
	waits   []protocol.HeatWait
}

// attendHooks finds resources that are paused at hooks, and clears these. The credentials may lack
// the right for this alone.
func (r *Relay) attendHooks(ctx context.Context, s *relay.Session) error {
	err := r.lookAtHooks(ctx, s)
	if err == nil && r.stack != nil {
		err = r.letGo(ctx, s)
	}
	if errors.Is(err, heat.ErrForbidden) {
		r.why("hooks", "Heat may wait for servers whose roles have delete hooks, and this relay cannot clear Heat's hooks: "+trouble(err))
		return nil
	}
	return err
}

// lookAtHooks reads which resources are paused at hooks. With delete hooks in the plan it does so
// in every other round; without them only servers of another plan may be paused.
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
	hooks := slices.ContainsFunc(s.Plan.Servers, func(x contract.Server) bool { return protocol.HasDeleteHook(&x) })
	switch often := hooks && s.Plan.Signal == contract.RelaySignals || r.stack.State.Action() == "DELETE"; {
	case len(g.paused) > 0:
	case often && !g.turn:
		return nil
	case !often && time.Since(g.looked) < lookAtStack:
		return nil
	}
	events, err := r.Heat.Events(ctx, r.stack.Name, r.stack.ID, g.last, heat.MaxDepth)
	if errors.Is(err, heat.ErrNotFound) {
		return nil // the next read of the stack tells
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

// letGo clears hooks where there is nothing more to wait for, and finds the servers whose agents
// have to be told.
func (r *Relay) letGo(ctx context.Context, s *relay.Session) error {
	g, servers := &r.going, r.servers(s)
	g.tell, g.leaving, g.waits = map[contract.ServerPath]relay.Server{}, map[contract.ServerPath]int{}, nil
	if len(servers) < len(s.Plan.Servers) {
		return nil // not all were read yet
	}
	paused := g.paused.All()
	found := make([]*contract.Server, len(paused))
	for i, e := range paused {
		if found[i] = serverOf(e.Physical, e.Path(r.stack.Name), s.Plan, servers); found[i] != nil {
			g.leaving[found[i].Path] = servers[found[i].Path].Incarnation
		}
	}
	for i, e := range paused {
		at, server := e.Path(r.stack.Name), found[i]
		why, done, err := r.waitsFor(ctx, s, server, servers)
		if err != nil {
			return err
		}
		if !done {
			g.waits = append(g.waits, protocol.HeatWait{Stack: strings.TrimSuffix(path.Dir(at), "."), Wait: e.Name, Status: protocol.HeatWaits, Reason: why, Hook: heat.PreDelete})
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
			maps.DeleteFunc(g.idle, func(of string, _ time.Time) bool { return strings.HasPrefix(of, e.Physical) })
			delete(g.since, e.Physical)
			r.sayGoing("Heat continues with " + at + ": " + why)
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

// serverOf is the server of the plan whose machine it is now; nil if there is none. Each server
// reports its own machine: of several with the same one it is that at the resource's place.
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

// waitsFor says why Heat has to wait for a server or, if done, why no longer.
func (r *Relay) waitsFor(ctx context.Context, s *relay.Session, server *contract.Server, servers map[contract.ServerPath]relay.Server) (why string, done bool, err error) {
	if server == nil {
		return "it is not a server of the plan", true, nil
	}
	now := servers[server.Path]
	owed, unended := owed(server, now.State)
	switch is := now.State.Going; {
	case is != nil && !is.Ended.IsZero() && len(is.Failed) > 0:
		return "a delete hook failed: " + chain(string(server.Path), is.Failed[0]), true, nil
	case is != nil && !is.Ended.IsZero():
		return "its delete hooks have run", true, nil
	case len(owed) == 0 && len(unended) > 0:
		return "no delete hook can run: " + strings.Join(unended, ", ") + " has not ended", true, nil
	case len(owed) == 0:
		return "it has no delete hook", true, nil
	}
	if _, there := r.carried.Of(server.Path); !there {
		return "its delete hooks did not run: the deployment was applied by an older hotc, which does not support it", true, nil
	}
	if began, known := r.going.since[now.Instance]; !known {
		r.going.since[now.Instance] = time.Now()
	} else if time.Since(began) > longest {
		return fmt.Sprintf("its delete hooks have not ended in %v", longest), true, nil
	}
	if is, _ := r.carried.Of(server.Path); now.State.Going == nil && is.Going != now.Incarnation {
		who, err := r.drops(ctx, s, server.Path, servers)
		if who != "" || err != nil {
			delete(r.going.idle, now.Instance) // its agent is not told yet
			return strings.Join(owed, ", ") + ": first the roles that follow it run without it: " + string(who), false, err
		}
	}
	r.going.tell[server.Path] = now
	there, err := s.Present(ctx, server.Path)
	if err != nil {
		return "", false, err
	}
	why = strings.Join(owed, ", ")
	switch away, idle := r.Away, r.idle(now.Instance, there && atWork(now.State)); {
	case idle < away && !there:
		return fmt.Sprintf("%s, whose agent is not there: waiting up to %v", why, away), false, nil
	case idle < away:
		return why, false, nil
	case !there:
		return fmt.Sprintf("its delete hooks did not run: its agent was not there for %v", away), true, nil
	}
	return fmt.Sprintf("its delete hooks did not run: its agent has not started them for %v", r.Away), true, nil
}

// idle is for how long nothing has happened on a machine.
func (r *Relay) idle(machine string, working bool) time.Duration {
	since, known := r.going.idle[machine]
	switch {
	case working:
		delete(r.going.idle, machine)
		return 0
	case !known:
		since = time.Now()
		r.going.idle[machine] = since
	}
	return time.Since(since)
}

// drops is a role that still has to run without a member that leaves its group; "" if none has, or
// those that have do not for too long. Nobody follows who leaves a stack that is deleted.
func (r *Relay) drops(ctx context.Context, s *relay.Session, member contract.ServerPath, servers map[contract.ServerPath]relay.Server) (contract.RoleKey, error) {
	if r.stack.State.Action() == "DELETE" {
		return "", nil
	}
	for i := range s.Plan.Servers {
		server := &s.Plan.Servers[i]
		now := servers[server.Path]
		for k := range server.Roles {
			role := &server.Roles[k]
			is := now.State.Role(role.Name)
			if now.Left || r.going.leaving[server.Path] > 0 || !has(role, is, member, servers[member].Incarnation) {
				continue
			}
			there, err := s.Present(ctx, server.Path)
			if err != nil {
				return "", err
			}
			may := r.Away
			if there {
				may = min(may, soon)
			}
			if r.idle(servers[member].Instance+" "+now.Instance, there && atWork(now.State)) < may {
				return server.Path.Role(role.Name), nil
			}
		}
	}
	return "", nil
}

// has reports whether a role has last run with a machine in the group that it follows, and runs
// again when that leaves, or is doing so.
func has(role *contract.Role, now protocol.RoleState, member contract.ServerPath, incarnation int) bool {
	runs := now.Update != nil && now.Update.Status == protocol.RoleRunning
	may := now.Status == protocol.RoleDone || now.Status == protocol.RoleRunning
	return may && now.Behind == nil && role.Updating() != nil && slices.ContainsFunc(role.Follows, func(f contract.Follow) bool {
		return f.Watch && f.Member != nil && f.Member.Server == member && (runs || now.Followed[f.Cell][0] == incarnation)
	})
}

// owed are the roles of a server whose delete hook has to run, and those whose hook cannot run,
// since they have not ended.
func owed(server *contract.Server, now protocol.ServerState) (owed, unended []string) {
	for i := range server.Roles {
		r := &server.Roles[i]
		switch key := string(server.Path.Role(r.Name)); {
		case protocol.OwesDelete(r, now.Role(r.Name).Status):
			owed = append(owed, key)
		case protocol.OwesDelete(r, protocol.RoleDone):
			unended = append(unended, key)
		}
	}
	return owed, unended
}

// atWork reports whether a server's agent is running the hooks, or something after which it will. A
// role that waits for a value may do so forever.
func atWork(now protocol.ServerState) bool {
	return now.Going != nil || slices.ContainsFunc(now.Roles, func(r protocol.RoleState) bool {
		return r.Status == protocol.RoleRunning && len(r.Blocked) == 0 || r.Update != nil && r.Update.Status == protocol.RoleRunning
	})
}
