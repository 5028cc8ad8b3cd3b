package operate

import (
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// BecauseOf are the failed roles of other servers whose chain of causes leads to a
// role.
func BecauseOf(v *status.Status, role *status.Role) []*status.Role {
	var found []*status.Role
	for _, s := range v.Servers {
		for i := range s.Roles {
			r := &s.Roles[i]
			if r.Status != coordinator.RoleFailed || r.Key() == role.Key() || r.Cause == nil {
				continue
			}
			for c := r.Cause.Cause; c != nil; c = c.Cause {
				if c.Role == role.Key() {
					found = append(found, r)
					break
				}
			}
		}
	}
	return found
}

// Kept is an output that a failed attempt has published, and that roles may have read which
// do not follow it: they keep what they read, whatever the next attempt writes.
type Kept struct {
	Role    *status.Role
	Cell    contract.CellName
	Since   time.Time
	Readers []contract.RoleKey
	// Same says that the role's author vouches for the same value: it is idempotent.
	Same bool
}

// KeptOutputs are those of the roles that are to run again. What a tool's resource writes
// when it was applied is always true, and left out.
func KeptOutputs(v *status.Status, again []*status.Role) []Kept {
	var kept []Kept
	for _, r := range again {
		for _, o := range r.Plan.Outputs {
			record := v.Cell(o.Cell)
			if o.Resource != "" || record.State != coordinator.Valued || record.Incarnation != r.Server.Incarnation.Number {
				continue
			}
			if readers := keepers(v, o.Cell); readers != nil {
				kept = append(kept, Kept{Role: r, Cell: o.Cell, Since: record.Since, Readers: readers, Same: r.Plan.Idempotent})
			}
		}
	}
	return kept
}

// keepers are the roles that may have read a cell, and do not follow it.
func keepers(v *status.Status, cell contract.CellName) []contract.RoleKey {
	var keys []contract.RoleKey
	for _, s := range v.Servers {
		for i := range s.Roles {
			r := &s.Roles[i]
			reads := slices.ContainsFunc(r.Plan.Inputs, func(in contract.Input) bool { return slices.Contains(in.Reads, cell) })
			follows := slices.ContainsFunc(r.Plan.Follows, func(f contract.Follow) bool { return f.Watch && f.Cell == cell })
			if reads && !follows && (r.Status == coordinator.RoleRunning || r.Status == coordinator.RoleDone) {
				keys = append(keys, r.Key())
			}
		}
	}
	return keys
}

// Retry is what is posted for roles to run again, and the cells that are taken back with it:
// theirs, and those of the roles after them on their servers.
func Retry(again []*status.Role) (posts []deploy.Posting, cells []contract.CellRef) {
	for _, a := range again {
		posts = append(posts, deploy.Posting{Server: a.Server.Path, Request: NewRequest(coordinator.Retry, a)})
		for i := range a.Server.Roles[a.Index:] {
			later := &a.Server.Roles[a.Index+i]
			cells = append(cells, contract.CellRef{Cell: later.Key().Completion(), Server: a.Server.Path})
			for _, o := range later.Plan.Outputs {
				cells = append(cells, contract.CellRef{Cell: o.Cell, Server: a.Server.Path})
			}
		}
	}
	return posts, cells
}
