package reconcile

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A role that follows cells is brought up to date when they are newer and consistent with each
// other (docs/updates.md).

// standing is how a role stands to the cells that it follows.
type standing struct {
	newer     []contract.CellName // watched ones that have changed since it ran
	waits     contract.CellName   // one that has not reached the stamp of the others; "" is none
	stays     *protocol.Cause     // why all of waits come with a retry alone; nil if one may come by itself
	unreached []contract.CellName // from outside, changed, and not watched
	behind    *protocol.Cause     // why part of what has changed has failed, or is of a failed run
}

// stands compares the versions with which a role ran, by cell, with the current ones.
func stands(follows []contract.Follow, ran map[contract.CellName]protocol.Count, now Cells) (s standing) {
	newest, all := protocol.Stamp{}, together(follows, now)
	for i := range follows {
		f := &follows[i]
		r := all(f)
		if r.State == protocol.Valued && !r.RoleFailed { // what a failed role has published may not reach the others
			for _, source := range f.Sources {
				newest.Merge(source, r.Of(f.Cell, source))
			}
		}
		at, had := ran[f.Cell]
		if _, given := f.Cell.Parameter(); given && !had {
			continue // it ran before the plan made it follow this, with the value of then
		}
		if f.Watch && r.State != protocol.Empty && r.Input() != at {
			s.newer = append(s.newer, f.Cell)
		}
		if had && !f.Watch && r.State == protocol.Valued && r.At() != at && f.Cell.FromOutside() {
			s.unreached = append(s.unreached, f.Cell)
		}
	}
	waitsFor := func(cell contract.CellName, stays *protocol.Cause) {
		if s.waits == "" {
			s.waits, s.stays = cell, stays
		}
		if stays == nil {
			s.stays = nil
		}
	}
	for i := range follows {
		f := &follows[i]
		r := all(f)
		if hidden(now(f.Cell), ran[f.Cell]) && (f.Perhaps == nil || r.State != protocol.Gone) {
			waitsFor(f.Cell, nil)
			continue
		}
		cause := lacking(f, r)
		if cause != nil && s.behind == nil && (r.State == protocol.Failed || changesWith(f, follows, ran, all)) {
			s.behind = cause
		}
		switch {
		case r.State == protocol.Empty:
			if _, had := ran[f.Cell]; had || f.Perhaps != nil {
				waitsFor(f.Cell, nil) // its server is rebuilt or added, or its role is retried
			}
			continue
		case r.State == protocol.Gone, r.State == protocol.Failed:
			continue // a role does not wait for failed members, or those not in the group
		}
		for _, source := range f.Sources {
			if r.Of(f.Cell, source).Less(newest[source]) {
				waitsFor(f.Cell, cause)
			}
		}
	}
	return s
}

// hidden reports whether nothing can be said of a cell: its record is not authentic, or it is as
// empty as before the state with which the role ran.
func hidden(r protocol.CellRecord, ran protocol.Count) bool {
	return r.State == protocol.Unknown || r.State == protocol.Empty && r.At().Less(ran)
}

// lacking is why a cell does not hold the newest value, and will not without a retry; nil if it does.
func lacking(f *contract.Follow, r protocol.CellRecord) *protocol.Cause {
	switch {
	case r.State == protocol.Failed && !f.Optional && r.Cause == nil:
		return &protocol.Cause{Reason: "it failed"}
	case r.State == protocol.Failed && !f.Optional, r.State == protocol.Valued && f.Member == nil: // a failed member keeps its last value
		return r.Cause
	}
	return nil
}

// changesWith reports whether a watched cell that may belong to the same change as f, by itself or with
// others that have changed, has changed since the role ran: without f the role would get half of it.
func changesWith(f *contract.Follow, follows []contract.Follow, ran map[contract.CellName]protocol.Count, all func(*contract.Follow) protocol.CellRecord) bool {
	change := []*contract.Follow{f}
	for n := 0; n < len(change); n++ {
		for i := range follows {
			other := &follows[i]
			r := all(other)
			if r.State == protocol.Empty || r.Input() == ran[other.Cell] || !belong(change[n], other, all) {
				continue
			}
			if other.Watch {
				return true
			}
			if !slices.Contains(change, other) {
				change = append(change, other)
			}
		}
	}
	return false
}

// belong reports whether two cells may result from the same change.
func belong(f, other *contract.Follow, all func(*contract.Follow) protocol.CellRecord) bool {
	for _, s := range f.Sources {
		if slices.Contains(other.Sources, s) {
			return true
		}
	}
	change := all(f).Stamp[contract.PlanSource][1]
	return f == other || change > 0 && change <= all(other).Stamp[contract.PlanSource][1]
}

// StampOf is the stamp of what a run of a role writes: the number of the run, and of the runs from
// which its inputs were made.
func StampOf(r *contract.Role, key contract.RoleKey, run protocol.Count, now Cells) protocol.Stamp {
	if len(r.Carries) == 0 {
		return nil
	}
	stamp, all := protocol.Stamp{}, together(r.Follows, now)
	for _, s := range r.Carries {
		if s == contract.Source(key) {
			stamp.Merge(s, run)
			continue
		}
		for i := range r.Follows {
			f := &r.Follows[i]
			if record := all(f); f.Watch && (record.State == protocol.Valued || record.State == protocol.Failed) {
				stamp.Merge(s, record.Of(f.Cell, s))
			}
		}
	}
	return stamp
}

// LackOf is why what a run of a role writes is not made of the newest, even where nothing has changed
// since; nil if it is.
func LackOf(r *contract.Role, key contract.RoleKey, now Cells) *protocol.Cause {
	all := together(r.Follows, now)
	for i := range r.Follows {
		if cause := lacking(&r.Follows[i], all(&r.Follows[i])); cause != nil {
			return &protocol.Cause{Role: key, At: r.At, Reason: "it is not brought up to date: what it follows failed", Cause: cause}
		}
	}
	return nil
}
