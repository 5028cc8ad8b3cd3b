package operate

import (
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
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

// Kept is an output that a failed attempt has published. It keeps its value within
// this incarnation: a run that writes another one fails, in the end of all its work.
type Kept struct {
	Role  *status.Role
	Cell  contract.CellName
	Since time.Time
	// Same says that the role's author vouches for the same value: it is idempotent.
	Same bool
	// Other says that the last attempt did write another value, and failed of it.
	Other bool
}

// KeptOutputs are those of the roles that are to run again. What a tool's resource writes
// when it was applied is always true, and left out.
func KeptOutputs(v *status.Status, again []*status.Role) []Kept {
	var kept []Kept
	for _, r := range again {
		p := r.Plan
		for _, o := range p.Outputs {
			record := v.Cell(o.Cell)
			if o.Resource != "" || record.State != coordinator.Valued || record.Incarnation != r.Server.Incarnation.Number {
				continue
			}
			other := r.Cause != nil && strings.Contains(r.Cause.Reason, "output "+o.Name+": "+member.ErrOtherValue.Error())
			kept = append(kept, Kept{Role: r, Cell: o.Cell, Since: record.Since, Same: p.Idempotent && !other, Other: other})
		}
	}
	return kept
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
