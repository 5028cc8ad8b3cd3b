package reconcile

import (
	"encoding/json"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Cells are the current records of cells.
type Cells func(contract.CellName) protocol.CellRecord

// Followed returns cells as a role sees them: those of members whose machines are gone are Gone.
func Followed(follows []contract.Follow, groups map[string]protocol.MembersRecord, now Cells) Cells {
	members := map[contract.CellName]*contract.Member{}
	for i := range follows {
		if m := follows[i].Machine(); m != nil {
			members[follows[i].Cell] = m
		}
	}
	return func(cell contract.CellName) protocol.CellRecord {
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
func Groups(follows []contract.Follow, now Cells) map[string]Group {
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
		case cell.State == protocol.Failed, cell.State == protocol.Gone, cell.RoleFailed:
			g.Out[m.Number], g.In[m.Number] = true, false
		case cell.State == protocol.Valued:
			g.In[m.Number] = !open[one] && !g.Out[m.Number]
		default:
			open[one], g.In[m.Number] = true, false
		}
	}
	return groups
}

// away reports whether Heat has decided that the server that writes a cell does not exist.
func away(f *contract.Follow, now Cells) bool {
	decided := protocol.HeatRecordOf(json.RawMessage("false"), 0)
	return slices.ContainsFunc(f.Perhaps.If, func(cell contract.CellName) bool {
		r := now(cell)
		return r.State == protocol.Valued && r.At() == decided.At()
	})
}

// together returns the cells that a role follows as it sees them: Gone for a member that is not in
// its group, and for a server that does not exist by its condition. Of a server that exists again,
// an earlier machine's cell counts as empty.
func together(follows []contract.Follow, now Cells) func(*contract.Follow) protocol.CellRecord {
	groups := Groups(follows, now)
	return func(f *contract.Follow) protocol.CellRecord {
		if f.Member != nil && !groups[f.Member.Group].In[f.Member.Number] {
			return protocol.CellRecord{State: protocol.Gone}
		}
		r := now(f.Cell)
		switch {
		case f.Perhaps == nil:
		case away(f, now):
			return protocol.CellRecord{State: protocol.Gone}
		case r.State == protocol.Gone:
			return protocol.CellRecord{State: protocol.Empty}
		}
		return r
	}
}

// Having are the current records of what a role follows: those that are not empty, nor of members
// that are not in their groups.
func Having(follows []contract.Follow, now Cells) map[contract.CellName]protocol.CellRecord {
	records, all := map[contract.CellName]protocol.CellRecord{}, together(follows, now)
	for i := range follows {
		if r := all(&follows[i]); r.State == protocol.Valued || r.State == protocol.Failed {
			records[follows[i].Cell] = r
		}
	}
	return records
}
