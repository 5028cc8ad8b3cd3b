package relay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// A role that follows others' values is up to date when it has run with their current versions. Its
// agent decides when it runs (protocol.FollowStatusOf). A relay does not read the values: it
// compares the versions that the servers report to have written with those that the role has run
// with. A failed writer fails the same wait, so that no role waits in vain.

// missed describes a role that has not run with the current versions yet, when all roles of the
// wait are done; "" if there is none. Values of non-members count only for the wait of the whole
// stack: they may depend on what Heat does after the wait of a member has ended.
func missed(about contract.HeatWaitAbout, here map[contract.ServerPath]*contract.Server, servers map[contract.ServerPath]relay.Server) string {
	wrote := map[contract.CellName]protocol.Count{}
	if about.Stack == "" && about.Role == "" {
		for path, server := range here {
			for _, cell := range server.Writes { // a server reports only its own
				if at, known := servers[path].State.Wrote[cell]; known {
					wrote[cell] = at
				}
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(here)) {
		for i := range here[path].Roles {
			role := &here[path].Roles[i]
			ran := servers[path].State.Role(role.Name)
			for _, f := range role.Follows {
				if why := behind(role, f, ran.Followed[f.Cell], here, servers, wrote); why != "" && ran.Name != "" {
					return fmt.Sprintf("role %s: to be updated: %s", path.Role(role.Name), why)
				}
			}
		}
	}
	return ""
}

// behind is why a role that has run with a version of a cell has to run again; "" if it does not.
func behind(role *contract.Role, f contract.Follow, ran protocol.Count, here map[contract.ServerPath]*contract.Server, servers map[contract.ServerPath]relay.Server, wrote map[contract.CellName]protocol.Count) string {
	if m := f.Member; m != nil {
		if here[m.Server] == nil || servers[m.Server].Left {
			return ""
		}
		if ran[0] != servers[m.Server].Incarnation {
			return fmt.Sprintf("%s has joined the group %s", m.Server, m.Group)
		}
	}
	if now, known := wrote[f.Cell]; known && now != ran && f.Watch && role.Updating() != nil {
		return "it has not run yet with the new " + string(f.Cell)
	}
	return ""
}
