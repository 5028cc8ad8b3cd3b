package relay

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// Heat tries what has failed again in every update, and so a role that has failed runs again: once
// for each update, and only if Heat knew of the failure before, or if what the role is made of has
// changed since. A failure of this update is not tried again in it. So the relay writes down of which
// failures Heat was told, and by which of its waits. A role that failed because of another one runs
// after that one has begun.

// request names the update for which a wait waits: Heat replaces a failed wait, and gives a changed
// one another configuration.
func (w wait) request() string { return protocol.Digest([]byte(w.ID + " " + w.Config))[:24] }

// asks reports whether Heat waits for servers by the newest of its waits.
func (w wait) asks() bool { return w.inProgress() && !w.superseded && !w.About.Here }

// findAgain finds the servers whose failed roles have to run again for new waits. now are those with
// news from Heat.
func (r *Relay) findAgain(seen []wait, p *contract.Plan, servers map[contract.ServerPath]relay.Server, now map[contract.ServerPath]protocol.HeatValues) {
	asked := map[string]bool{}
	for _, w := range seen {
		if w.asks() {
			asked[w.request()] = true
		}
	}
	if r.again == nil {
		r.again = map[contract.ServerPath]string{}
	}
	maps.DeleteFunc(r.again, func(_ contract.ServerPath, of string) bool { return !asked[of] })
	for _, w := range seen {
		if !w.asks() {
			continue
		}
		failed, told := map[contract.ServerPath]*contract.Server{}, false
		for _, named := range w.Servers {
			if server, _ := find(named, p, servers); server != nil {
				told = told || r.toldBefore(server.Path, servers, w)
				if servers[server.Path].State.Failures() != "" {
					failed[server.Path] = server
				}
			}
		}
		tries := func(path contract.ServerPath) bool {
			server, has := failed[path], false
			if server == nil {
				return false
			}
			is, before := servers[path], protocol.HeatValues{}
			if before, has = r.carried.Of(path); !has || asked[before.Again] && before.Instance == is.Instance {
				return false // it runs for this update, or has run
			}
			if values, news := now[path]; news && before.Instance == is.Instance && !sameValues(before, values) || changedSince(server, is.State) {
				return true
			}
			if before.Told != nil && before.Instance == is.Instance {
				return r.toldBefore(path, servers, w)
			}
			// No relay was there when it failed: Heat's clock and the machine's have to do.
			return told && !slices.ContainsFunc(is.State.Roles, func(x protocol.RoleState) bool {
				return x.Status == protocol.RoleFailed && !x.Ended.Before(began(w)) ||
					x.Update != nil && x.Update.Status == protocol.RoleFailed && !x.Update.Ended.Before(began(w))
			})
		}
		for path := range failed {
			if r.again[path] == "" && (tries(path) || tries(cause(servers[path].State))) {
				r.again[path] = w.request()
			}
		}
	}
	r.carried.again = r.again
}

// toldBefore reports whether Heat was told of a server's failures by another wait than this one.
func (r *Relay) toldBefore(path contract.ServerPath, servers map[contract.ServerPath]relay.Server, w wait) bool {
	values, _ := r.carried.Of(path)
	is := servers[path]
	return values.Told != nil && values.Told.Wait != w.request() && values.Instance == is.Instance && values.Told.Failures == is.State.Failures()
}

func sameValues(before, now protocol.HeatValues) bool {
	now.Going, now.Again = before.Going, before.Again
	return before.Same(now)
}

// changedSince reports whether a role has failed as another plan defined it.
func changedSince(s *contract.Server, now protocol.ServerState) bool {
	return slices.ContainsFunc(s.Roles, func(r contract.Role) bool {
		is := now.Role(r.Name)
		return is.Status == protocol.RoleFailed && r.OutOfDate(is.Made)
	})
}

// cause is the server of the role because of which the roles of a server have failed; "" if one has
// failed by itself.
func cause(now protocol.ServerState) (of contract.ServerPath) {
	for _, is := range now.Roles {
		why := is.Cause
		if is.Update != nil && is.Update.Status == protocol.RoleFailed {
			why = is.Update.Cause
		} else if is.Status != protocol.RoleFailed {
			continue
		}
		if why == nil || why.Cause == nil {
			return ""
		}
		of, _ = why.Root().Role.Split()
	}
	return of
}

// addAgain adds to the news those servers whose failed roles may run again now, and to the others'
// news of which failures Heat knows.
func (r *Relay) addAgain(ctx context.Context, seen []wait, s *relay.Session, servers map[contract.ServerPath]relay.Server, now map[contract.ServerPath]protocol.HeatValues) {
	for path, of := range r.again {
		if there, err := s.Present(ctx, path); err == nil && !there {
			delete(r.again, path) // nobody would run them
			continue
		}
		if first := cause(servers[path].State); first != path && r.carried.triesAgain(first, servers[first]) {
			continue
		}
		if values, has := r.valuesFor(path, servers, now); has {
			values.Again = of
			now[path] = values
		}
	}
	for _, w := range seen {
		if w.Status == string(protocol.HeatFailed) && !w.superseded && !w.About.Here {
			maps.Copy(now, r.telling(w, s.Plan, servers, now))
		}
	}
}

// valuesFor are a server's news, or else what it was told, for its machine.
func (r *Relay) valuesFor(path contract.ServerPath, servers map[contract.ServerPath]relay.Server, now map[contract.ServerPath]protocol.HeatValues) (protocol.HeatValues, bool) {
	values, there := now[path]
	if !there {
		if values, there = r.carried.Of(path); !there {
			return values, false
		}
	}
	if is := servers[path].Instance; values.Instance != is { // values of the previous machine
		values = protocol.HeatValues{Instance: is, From: values.From}
	}
	return values, true
}

// telling are the records of a wait's servers with the failures that Heat learns by it. What fails
// after Heat was told, as when an operator retries it, Heat does not know.
func (r *Relay) telling(w wait, p *contract.Plan, servers map[contract.ServerPath]relay.Server, now map[contract.ServerPath]protocol.HeatValues) map[contract.ServerPath]protocol.HeatValues {
	all := map[contract.ServerPath]protocol.HeatValues{}
	for _, named := range w.Servers {
		server, _ := find(named, p, servers)
		if server == nil || r.carried.triesAgain(server.Path, servers[server.Path]) {
			continue
		}
		values, has := r.valuesFor(server.Path, servers, now)
		failures := servers[server.Path].State.Failures()
		if !has || failures == "" || values.Told != nil && (values.Told.Wait == w.request() || values.Told.Failures == failures) {
			continue
		}
		values.Told = &protocol.ToldFailures{Wait: w.request(), Failures: failures}
		all[server.Path] = values
	}
	return all
}

// noteTold writes down of which failures Heat is about to be told.
func (r *Relay) noteTold(ctx context.Context, s *relay.Session, w wait) error {
	now := r.telling(w, s.Plan, s.Servers(), nil)
	if len(now) == 0 {
		return nil
	}
	_, err := s.Say(ctx, r.carried.Values, now)
	if err != nil {
		return err
	}
	r.carried.Values, err = s.Values(ctx)
	return err
}

// triesAgain reports whether failed roles of a server are about to run again, for Heat.
func (c *passedValues) triesAgain(path contract.ServerPath, now relay.Server) bool {
	if c == nil {
		return false
	}
	values, _ := c.Of(path)
	return c.again[path] != "" || values.Again != "" && values.Again != now.State.Again && values.Instance == now.Instance
}

// saidAgain notes and logs which servers were told to run their failed roles again.
func (r *Relay) saidAgain(now map[contract.ServerPath]protocol.HeatValues) {
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if of := r.again[path]; of != "" && now[path].Again == of {
			delete(r.again, path)
			r.Say(fmt.Sprintf("Heat updates the stack after a failure: the failed roles of server %s run again", path))
		}
	}
}

// outdated reports whether the failure of a role is about to be tried again, or came from one that has
// not failed any more, or runs again.
func (c *passedValues) outdated(p *contract.Plan, path contract.ServerPath, role string, servers map[contract.ServerPath]relay.Server) bool {
	now := servers[path]
	if c.triesAgain(path, now) {
		return true
	}
	behind := now.State.Role(role).Behind
	if behind == nil {
		return false
	}
	of, name := behind.Cause.Root().Role.Split()
	if c.triesAgain(of, servers[of]) {
		return true
	}
	first := servers[of].State.Role(name)
	if first.Status == protocol.RoleRunning || first.Status == protocol.RolePending {
		return true
	}
	for server, r := range p.EachRole() {
		if server.Path == of && r.Name == name && first.Status == protocol.RoleDone && r.Updating() != nil && r.OutOfDate(first.Made) {
			return true
		}
	}
	return of != path && first.Status == protocol.RoleDone && first.Behind == nil && (first.Update == nil || first.Update.Status != protocol.RoleFailed)
}
