package relay

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// sight is what a relay sees of the cells that roles follow. It reads no values: it has Heat's, which
// machines are members, and the versions that servers report to have written.
type sight struct {
	here    map[contract.ServerPath]*contract.Server // of the wait
	servers map[contract.ServerPath]relay.Server
	wrote   map[contract.CellName]protocol.Count
	heat    *passedValues
}

// sightOf is what is seen for a wait. Values of non-members count only for the wait of the whole stack:
// they may depend on what Heat does after the wait of a member has ended.
func sightOf(about contract.HeatWaitAbout, here map[contract.ServerPath]*contract.Server, servers map[contract.ServerPath]relay.Server, c *passedValues) *sight {
	s := &sight{here, servers, map[contract.CellName]protocol.Count{}, c}
	if about.Stack != "" || about.Role != "" {
		return s
	}
	for path, server := range here {
		for _, cell := range server.Writes { // a server reports only its own
			if at, known := servers[path].State.Wrote[cell]; known {
				s.wrote[cell] = at
			}
		}
	}
	return s
}

// of are the cells that a role of a server follows: as it ran with them, except for what is seen to be
// newer.
func (s *sight) of(r *contract.Role, server contract.ServerPath, is protocol.RoleState) reconcile.Cells {
	members := map[contract.CellName]*contract.Member{}
	for i := range r.Follows {
		members[r.Follows[i].Cell] = r.Follows[i].Member
	}
	var given protocol.HeatValues
	if s.heat != nil {
		if values, there := s.heat.Of(server); there && values.Instance == s.servers[server].Instance {
			given = values
		}
	}
	return func(cell contract.CellName) protocol.CellRecord {
		ran, had := is.Followed[cell]
		if key, heats := cell.HeatKey(); heats {
			if value, there := given.Values[key]; there {
				return protocol.HeatRecordOf(value, given.Number)
			}
		}
		now, known := s.wrote[cell]
		if m := members[cell]; m != nil && s.joined(m, ran) && now[0] != s.servers[m.Server].Incarnation {
			now, known = protocol.Count{s.servers[m.Server].Incarnation, 0}, true
		}
		switch {
		case known:
			return protocol.CellRecord{State: protocol.Valued, Incarnation: now[0], Version: now[1]}
		case !had:
			return protocol.CellRecord{State: protocol.Empty}
		case ran[0] < 0:
			return protocol.CellRecord{State: protocol.Failed}
		}
		return protocol.CellRecord{State: protocol.Valued, Incarnation: ran[0], Version: ran[1]}
	}
}

// joined reports whether a member is another machine than that with whose cell a role has run.
func (s *sight) joined(m *contract.Member, ran protocol.Count) bool {
	return s.here[m.Server] != nil && !s.servers[m.Server].Left && ran[0] != s.servers[m.Server].Incarnation
}

// because names what a role has not run with yet; "" where its plan or Heat's values have changed.
func (s *sight) because(r *contract.Role, ran protocol.RoleState, v reconcile.Verdict) string {
	for _, f := range r.Follows {
		for _, cell := range v.Newer {
			_, heats := cell.HeatKey()
			switch {
			case f.Cell != cell || heats || v.Redefined:
			case f.Member != nil && s.joined(f.Member, ran.Followed[cell]):
				return fmt.Sprintf(": %s has joined the group %s", f.Member.Server, f.Member.Group)
			default:
				return ": it has not run yet with the new " + string(cell)
			}
		}
	}
	return ""
}
