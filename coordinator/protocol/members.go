package protocol

import (
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Membership of groups (docs/updates.md, "Who joins and leaves"). A member is in its group as soon
// as all cells that a role follows of it are there, and until its machine is gone: Heat says that,
// through a relay. A silent agent is not a reason to remove its member.

// MembersRecord is what a relay has learnt from Heat of a group's members.
type MembersRecord struct {
	Stack string    `json:"stack,omitempty"` // the root stack's id
	Since time.Time `json:"since,omitzero"`
	// There are the servers that a relay has seen in Heat, with their machines' incarnations: the
	// next poll tells by them which have left.
	There map[contract.ServerPath]int `json:"there,omitempty"`
	// Gone is the last incarnation of a server up to which its machines are gone.
	Gone map[contract.ServerPath]int `json:"gone,omitempty"`
	// Unknown says that no authentic record could be read. It is never written.
	Unknown bool `json:"-"`
}

// Of is a member's cell as the group's followers see it: Gone if its machine is. An empty or unknown
// one does not say whose it was: it is Gone unless there is a newer machine.
func (r *MembersRecord) Of(m *contract.Member, cell CellRecord) CellRecord {
	last, nobodys := r.Gone[m.Server], cell.State == Empty || cell.State == Unknown
	switch {
	case r.Unknown:
		return CellRecord{State: Unknown}
	case last > 0 && (nobodys && r.There[m.Server] == 0 || !nobodys && cell.Incarnation <= last):
		return CellRecord{State: Gone}
	}
	return cell
}
