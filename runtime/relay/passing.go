package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// Each server in a wait comes with the values that Heat supplies to its roles. Several waits may
// name a server, and Heat resolves them one after the other: only what a wait says differently than
// before is news, whatever others say meanwhile.

// passedValues are the values from Heat that the servers have, and why one cannot get its values.
type passedValues struct {
	*relay.Values
	refused map[contract.ServerPath]string
	again   map[contract.ServerPath]string // see Relay.again
}

// passValues writes Heat's current values for the servers. relay.ErrStale: query Heat again.
func (r *Relay) passValues(ctx context.Context, s *relay.Session, seen []wait) error {
	servers := s.Servers()
	now := news(seen, s.Plan, servers, r.carried.Values)
	r.findAgain(seen, s.Plan, servers, now)
	r.addAgain(ctx, seen, s, servers, now)
	for path, is := range r.going.tell {
		values, _ := r.valuesFor(path, map[contract.ServerPath]relay.Server{path: is}, now)
		if values.Going != is.Incarnation {
			values.Going = is.Incarnation
			now[path] = values
		}
	}
	r.carried.refused = nil
	for {
		before := r.carried.Values
		written, err := s.Say(ctx, before, now)
		if large, is := errors.AsType[*relay.TooLargeError](err); is {
			if r.carried.refused == nil {
				r.carried.refused = map[contract.ServerPath]string{}
			}
			r.carried.refused[large.Server] = large.Error()
			delete(now, large.Server)
			continue // the others get theirs
		}
		if err != nil || written {
			values, again := s.Values(ctx)
			if again != nil {
				return errors.Join(err, again)
			}
			r.carried.Values = values
		}
		if err != nil {
			return err
		}
		r.saidAgain(now)
		for _, path := range slices.Sorted(maps.Keys(now)) {
			was, _ := before.Of(path)
			switch is := now[path]; {
			case is.Going > 0 && was.Going != is.Going:
				r.Say(fmt.Sprintf("Heat is about to delete server %s: its agent was told to run the delete hooks", path))
			case was.Instance == is.Instance && !sameValues(was, is):
				r.Say(fmt.Sprintf("Heat's values for server %s have changed: its agent was told", path))
			}
		}
		return nil
	}
}

// news are the servers for which a wait has different values than before, with these.
func news(seen []wait, p *contract.Plan, servers map[contract.ServerPath]relay.Server, known *relay.Values) map[contract.ServerPath]protocol.HeatValues {
	waits := slices.Clone(seen)
	slices.SortStableFunc(waits, func(a, b wait) int { return a.Updated.Compare(b.Updated.Time) })
	there := map[string]bool{}
	for _, w := range waits {
		there[w.ID] = true
	}
	all := map[contract.ServerPath]protocol.HeatValues{}
	for _, w := range waits {
		for _, named := range w.Servers {
			path, is := pathOf(named, p, servers)
			if named.Values == nil || named.ID == "" || !is {
				continue // Heat has no values yet, or no agent has taken the slot
			}
			named.Values = carried(p, path, named.Values)
			now, news := all[path]
			if !news {
				before, has := known.Of(path)
				if !has {
					continue
				}
				now = before
			}
			digest := digestOf(named)
			if now.From[w.ID] == digest {
				continue
			}
			now.From = maps.Clone(now.From)
			maps.DeleteFunc(now.From, func(id, _ string) bool { return !there[id] })
			if now.From == nil {
				now.From = map[string]string{}
			}
			now.From[w.ID] = digest
			if now.Instance != named.ID {
				now.Going, now.Again, now.Told = 0, "", nil
			}
			now.Instance, now.Values = named.ID, named.Values
			all[path] = now
		}
	}
	for i := range p.Servers { // what the plan supplies itself now is not Heat's any more, even if Heat has the same later
		path := p.Servers[i].Path
		now, is := all[path]
		if !is {
			now, is = known.Of(path)
		}
		if kept := carried(p, path, now.Values); is && len(kept) < len(now.Values) {
			now.Values, now.From = kept, nil
			all[path] = now
		}
	}
	return all
}

// carried are those of Heat's values for a server that its plan lets relays carry.
func carried(p *contract.Plan, path contract.ServerPath, values map[string]json.RawMessage) map[string]json.RawMessage {
	at := slices.IndexFunc(p.Servers, func(s contract.Server) bool { return s.Path == path })
	kept := maps.Clone(values)
	maps.DeleteFunc(kept, func(key string, _ json.RawMessage) bool { return at < 0 || !p.Servers[at].Deploy[key].Carried })
	return kept
}

// pathOf is the server of the plan for one of Heat's.
func pathOf(named contract.HeatServer, p *contract.Plan, servers map[contract.ServerPath]relay.Server) (contract.ServerPath, bool) {
	if server, _ := find(named, p, servers); server != nil {
		return server.Path, true
	}
	for i := range p.Servers { // its agent may not have joined yet
		if p.Servers[i].Path == named.Server {
			return named.Server, true
		}
	}
	return "", false
}

// digestOf is a digest of what a wait says about a server.
func digestOf(named contract.HeatServer) string {
	named.Launched = "" // no value
	text, err := json.Marshal(named)
	if err != nil {
		return ""
	}
	return protocol.Digest(text)[:16]
}

// cannot is why a server cannot get its values; "" if it can.
func (c *passedValues) cannot(server contract.ServerPath) string {
	if c == nil {
		return ""
	}
	return c.refused[server]
}
