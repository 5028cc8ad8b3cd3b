package protocol

import (
	"encoding/json"
	"slices"
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

// Followed returns cells as a role sees them: those of members whose machines are gone are Gone.
func Followed(follows []contract.Follow, groups map[string]MembersRecord, now func(contract.CellName) CellRecord) func(contract.CellName) CellRecord {
	members := map[contract.CellName]*contract.Member{}
	for i := range follows {
		if m := follows[i].Machine(); m != nil {
			members[follows[i].Cell] = m
		}
	}
	return func(cell contract.CellName) CellRecord {
		record := now(cell)
		if m := members[cell]; m != nil {
			said := groups[m.Group]
			return said.Of(m, record)
		}
		return record
	}
}

// Group says which possible members are in a group, and which have failed or left.
type Group struct{ In, Out map[int]bool }

// Groups finds the members of the groups that a role follows, by the cells that it follows of each.
func Groups(follows []contract.Follow, now func(contract.CellName) CellRecord) map[string]Group {
	groups, open := map[string]Group{}, map[contract.Member]bool{}
	for i := range follows {
		m := follows[i].Member
		if m == nil {
			continue
		}
		g, known := groups[m.Group]
		if !known {
			g = Group{map[int]bool{}, map[int]bool{}}
			groups[m.Group] = g
		}
		switch one, cell := (contract.Member{Group: m.Group, Number: m.Number}), now(follows[i].Cell); {
		case cell.State == Failed, cell.State == Gone, cell.RoleFailed:
			g.Out[m.Number], g.In[m.Number] = true, false
		case cell.State == Valued:
			g.In[m.Number] = !open[one] && !g.Out[m.Number]
		default:
			open[one], g.In[m.Number] = true, false
		}
	}
	return groups
}

// away reports whether Heat has decided that the server that writes a cell does not exist.
func away(f *contract.Follow, now func(contract.CellName) CellRecord) bool {
	decided := HeatRecordOf(json.RawMessage("false"), 0)
	return slices.ContainsFunc(f.Perhaps.If, func(cell contract.CellName) bool {
		r := now(cell)
		return r.State == Valued && r.At() == decided.At()
	})
}

// together returns the cells that a role follows as it sees them: Gone for a member that is not in
// its group, and for a server that does not exist by its condition. Of a server that exists again,
// an earlier machine's cell counts as empty.
func together(follows []contract.Follow, now func(contract.CellName) CellRecord) func(*contract.Follow) CellRecord {
	groups := Groups(follows, now)
	return func(f *contract.Follow) CellRecord {
		if f.Member != nil && !groups[f.Member.Group].In[f.Member.Number] {
			return CellRecord{State: Gone}
		}
		r := now(f.Cell)
		switch {
		case f.Perhaps == nil:
		case away(f, now):
			return CellRecord{State: Gone}
		case r.State == Gone:
			return CellRecord{State: Empty}
		}
		return r
	}
}

// Having are the current records of what a role follows: those that are not empty, nor of members
// that are not in their groups.
func Having(follows []contract.Follow, now func(contract.CellName) CellRecord) map[contract.CellName]CellRecord {
	records, all := map[contract.CellName]CellRecord{}, together(follows, now)
	for i := range follows {
		if r := all(&follows[i]); r.State == Valued || r.State == Failed {
			records[follows[i].Cell] = r
		}
	}
	return records
}
