package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Heat's software deployments show who is in a group: each member has one in its own template,
// which Heat deletes first when the member leaves. The relay records the incarnations that are
// gone. A machine that no relay has seen in Heat is gone only if it joined as long ago as readers
// wait for an agent, and its agent is not there: an agent may be faster than Heat. The coordinator
// knows when it joined, whichever relay asks. In the end Heat's word counts, whoever is there: the
// agent of a deleted member, or who has its token, can come back as machines that Heat never had.

// longestUnnamed is how long a machine may be there that Heat does not name.
const longestUnnamed = 10 * time.Minute

// tellMembers writes the members of the groups that roles follow, as Heat lists them.
func (r *Relay) tellMembers(ctx context.Context, s *relay.Session, waits []wait) error {
	if r.stack == nil {
		return nil // the stack is gone
	}
	servers, shared := s.Servers(), map[contract.ServerPath]contract.ServerPath{}
	for i := range s.Plan.Servers {
		if one := &s.Plan.Servers[i]; one.Slot != nil {
			shared[one.Path] = one.Slot.Shared
		}
	}
	for _, group := range slices.Sorted(maps.Keys(s.Plan.Groups())) {
		listed := listed(group, waits)
		has := func(server contract.ServerPath, id string) bool { // a server reports its own machine
			if r.going.leaving[server] > 0 {
				return false
			}
			named := listed[machine{server, id}] || listed[machine{shared[server], id}]
			if named {
				delete(r.came, server)
			}
			return named
		}
		if err := r.tellGroup(ctx, s, group, has, servers); err != nil {
			return err
		}
	}
	return nil
}

// recallMembers reads the relays' records of the groups. It precedes the query of Heat, which may
// be answered late: a machine that is in the record, and not in Heat's list, has left.
func (r *Relay) recallMembers(ctx context.Context, s *relay.Session) error {
	for group := range s.Plan.Groups() {
		if r.members[group] != nil { // a write detects another relay's by the version
			continue
		}
		said, err := s.Members(ctx, group)
		if errors.Is(err, store.ErrNotFound) {
			continue // applied by an older hotc
		}
		if err != nil {
			return err
		}
		r.members[group], r.left[group] = said, said.Gone
	}
	return nil
}

func (r *Relay) tellGroup(ctx context.Context, s *relay.Session, group string, listed func(contract.ServerPath, string) bool, servers map[contract.ServerPath]relay.Server) error {
	before := r.members[group]
	if before == nil {
		return nil
	}
	lost := func(server contract.ServerPath, incarnation int) bool {
		// Members that Heat has never named may get their deployments only with an update.
		named := before.There[server] > 0 || before.Gone[server] > 0 || len(before.There) > 0 && !r.stack.State.InProgress()
		return r.lost(ctx, s, server, incarnation, named)
	}
	now, left := members(before.MembersRecord, r.stack.ID, listed, s.Plan.Groups()[group], servers, lost)
	if maps.Equal(now.There, before.There) && maps.Equal(now.Gone, before.Gone) && now.Stack == before.Stack {
		return nil
	}
	if left { // ignore members that leave with a deleted or replaced stack
		stack, err := r.Heat.Stack(ctx, string(r.Key.Deployment))
		if err != nil || stack.ID != r.stack.ID || stack.State.Action() == "DELETE" {
			return err
		}
	}
	delete(r.members, group)
	err := s.SayMembers(ctx, before, now)
	if errors.Is(err, store.ErrVersion) {
		return nil
	}
	return err
}

// came is when a machine became the server, and since when Heat has named none of the server's.
type came struct {
	incarnation int
	at, unnamed time.Time
}

// lost reports whether a machine that Heat does not have is gone: Heat deletes it, or it joined long
// ago and its agent is not there, or Heat would have named it by now.
func (r *Relay) lost(ctx context.Context, s *relay.Session, server contract.ServerPath, incarnation int, named bool) bool {
	if r.going.leaving[server] == incarnation {
		return true
	}
	is := r.came[server]
	if is.incarnation != incarnation {
		age, err := s.Age(ctx, server)
		if err != nil {
			return false
		}
		at := time.Now().Add(-age)
		is = came{incarnation, at, cmp.Or(is.unnamed, at)}
		r.came[server] = is
	}
	if named && time.Since(is.unnamed) >= longestUnnamed {
		return true
	}
	if time.Since(is.at) < contract.DefaultIfDown*time.Second {
		return false
	}
	there, err := s.Present(ctx, server)
	return err == nil && !there
}

// servers are the known servers, with those marked that have left, and those that Nova has launched
// again and whose agents are not back.
func (r *Relay) servers(s *relay.Session) map[contract.ServerPath]relay.Server {
	servers := s.Servers()
	for one, is := range r.launches {
		if is.back {
			continue
		}
		if server, _ := find(one.named(), s.Plan, servers); server != nil {
			now := servers[server.Path]
			now.Unreadable = fmt.Sprintf("server %s: Nova has launched its machine again, and its agent is not back", server.Path)
			servers[server.Path] = now
		}
	}
	for _, gone := range r.left {
		for path, incarnation := range gone {
			if is := servers[path]; is.Incarnation > 0 && is.Incarnation <= incarnation {
				is.Left = true
				servers[path] = is
			}
		}
	}
	return servers
}

// machine is a server of Heat's, by the path that Heat knows, which members of a scaling group
// share.
type machine struct {
	server contract.ServerPath
	id     string
}

// listed are the machines that Heat has in a group's members.
func listed(group string, waits []wait) map[machine]bool {
	ids := map[machine]bool{}
	for _, w := range waits {
		member, inside := strings.CutPrefix(w.About.Stack, group+"/")
		inside = inside && !strings.Contains(member, "/")
		if w.About.Role != "" {
			continue
		}
		for _, server := range w.Servers { // a conditional server is a group of its own
			if server.ID != "" && (inside || string(server.Server) == group) {
				ids[machine{server.Server, server.ID}] = true
			}
		}
	}
	return ids
}

// members updates a group's members from Heat's list; left says that a member has left.
func members(before protocol.MembersRecord, stack string, listed func(contract.ServerPath, string) bool, of []contract.ServerPath, servers map[contract.ServerPath]relay.Server, lost func(contract.ServerPath, int) bool) (now protocol.MembersRecord, left bool) {
	now = protocol.MembersRecord{Stack: stack, There: map[contract.ServerPath]int{}, Gone: map[contract.ServerPath]int{}}
	maps.Copy(now.There, before.There)
	maps.Copy(now.Gone, before.Gone)
	for _, server := range of {
		is, known := servers[server]
		was, there, gone := before.There[server], 0, before.Gone[server]
		switch {
		case !known:
			there = was
		case is.Incarnation > 0 && listed(server, is.Instance):
			there, gone = is.Incarnation, is.Incarnation-1
		case was > 0 && is.Incarnation == was:
			gone, left = was, true
		case is.Incarnation > was: // another machine, which Heat has not named yet
			gone = max(gone, was)
			if is.Incarnation > gone && lost(server, is.Incarnation) {
				gone, left = is.Incarnation, true
			}
		}
		keep(now.There, server, there)
		keep(now.Gone, server, gone)
	}
	return now, left
}

// keep notes a server's incarnation, if there is one.
func keep(in map[contract.ServerPath]int, server contract.ServerPath, incarnation int) {
	if delete(in, server); incarnation > 0 {
		in[server] = incarnation
	}
}
