package protocol

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// A role that follows cells is brought up to date when they are newer and consistent with each
// other (docs/updates.md). Agents and the operators' commands that show it decide that by the same
// function.

// Count identifies a version of a cell or a run of a role: the number of the incarnation, and of
// the version or run within it.
type Count [2]int

// Less reports whether d is newer.
func (c Count) Less(d Count) bool { return c[0] < d[0] || c[0] == d[0] && c[1] < d[1] }

// Stamp says from which runs of its sources a value was made.
type Stamp map[contract.Source]Count

// merge takes over what is newer.
func (s Stamp) merge(source contract.Source, c Count) {
	if s[source].Less(c) {
		s[source] = c
	}
}

// PlanStamp is the stamp of what results from a change of the plan.
func PlanStamp(change int64) Stamp { return Stamp{contract.PlanSource: {0, int(change)}} }

// Keeping is the stamp with the change of the plan that its cell had before, if that is newer.
func (s Stamp) Keeping(before Stamp) Stamp {
	at, is := before[contract.PlanSource]
	if !is || !s[contract.PlanSource].Less(at) {
		return s
	}
	if s = maps.Clone(s); s == nil {
		s = Stamp{}
	}
	s[contract.PlanSource] = at
	return s
}

// At is the version of the record's content. A secret supplied by an operator has a version derived
// from its value, so that going back to an earlier value is not a change.
func (r *CellRecord) At() Count {
	if value, err := strconv.ParseInt(r.Fingerprint[:min(len(r.Fingerprint), versionDigits)], 16, 64); err == nil {
		return Count{0, int(value)}
	}
	return Count{r.Incarnation, r.Version}
}

// Input is At for a role that runs with the record: who does without what has failed has the same
// again if it fails again.
func (r *CellRecord) Input() Count {
	if r.State == Failed {
		return Count{-1, -1}
	}
	return r.At()
}

// versionDigits are the hex digits of a number that every JSON reader represents exactly.
const versionDigits = 12

// of is the run of a source from which a cell's content was made.
func (r *CellRecord) of(cell contract.CellName, s contract.Source) Count {
	if contract.CellName(s) == cell { // a fact, or a secret supplied by an operator
		return Count{r.Incarnation, r.Version}
	}
	return r.Stamp[s]
}

// FollowStatus says whether a role is up to date with the cells that it follows.
type FollowStatus struct {
	// Newer says that a watched cell has changed since the role ran.
	Newer bool
	// Waits is a cell that has not reached the stamp of the others; "" is none.
	Waits contract.CellName
	// Stays is why what it waits for comes with a retry alone; nil if any of it may come by itself.
	Stays *Cause
	// Unreached are values of Heat's or an operator's that have changed since the role ran, and
	// that it does not watch.
	Unreached []contract.CellName
	// Behind is why the role does not run for what has changed: part of it comes, or would have to
	// come, from a failed run.
	Behind *Cause
}

// Due reports whether the role has to run.
func (s FollowStatus) Due() bool { return s.Newer && s.Waits == "" && s.Behind == nil }

// FollowStatusOf compares the versions with which a role ran, by cell, with the current ones.
func FollowStatusOf(follows []contract.Follow, ran map[contract.CellName]Count, now func(contract.CellName) CellRecord) FollowStatus {
	var s FollowStatus
	newest, all := Stamp{}, together(follows, now)
	for i := range follows {
		f := &follows[i]
		r := all(f)
		if r.State == Valued && !r.RoleFailed { // what a failed role has published may not reach the others
			for _, source := range f.Sources {
				newest.merge(source, r.of(f.Cell, source))
			}
		}
		at, had := ran[f.Cell]
		if _, given := f.Cell.Parameter(); given && !had {
			continue // it ran before the plan made it follow this, with the value of then
		}
		if f.Watch && r.State != Empty && r.Input() != at {
			s.Newer = true
		}
		if had && !f.Watch && r.State == Valued && r.At() != at && f.Cell.FromOutside() {
			s.Unreached = append(s.Unreached, f.Cell)
		}
	}
	waitsFor := func(cell contract.CellName, stays *Cause) {
		if s.Waits == "" {
			s.Waits, s.Stays = cell, stays
		}
		if stays == nil {
			s.Stays = nil
		}
	}
	for i := range follows {
		f := &follows[i]
		r := all(f)
		if hidden(now(f.Cell), ran[f.Cell]) && (f.Perhaps == nil || r.State != Gone) {
			waitsFor(f.Cell, nil)
			continue
		}
		cause := lacking(f, r)
		if cause != nil && s.Behind == nil && (r.State == Failed || changesWith(f, follows, ran, all)) {
			s.Behind = cause
		}
		switch {
		case r.State == Empty:
			if _, had := ran[f.Cell]; had || f.Perhaps != nil {
				waitsFor(f.Cell, nil) // its server is rebuilt or added, or its role is retried
			}
			continue
		case r.State == Gone, r.State == Failed:
			continue // a role does not wait for failed members, or those not in the group
		}
		for _, source := range f.Sources {
			if r.of(f.Cell, source).Less(newest[source]) {
				waitsFor(f.Cell, cause)
			}
		}
	}
	return s
}

// hidden reports whether nothing can be said of a cell: its record is not authentic, or it is as
// empty as before the state with which the role ran.
func hidden(r CellRecord, ran Count) bool {
	return r.State == Unknown || r.State == Empty && r.At().Less(ran)
}

// lacking is why a cell does not hold the newest value, and will not without a retry; nil if it does.
func lacking(f *contract.Follow, r CellRecord) *Cause {
	switch {
	case r.State == Failed && !f.Optional && r.Cause == nil:
		return &Cause{Reason: "it failed"}
	case r.State == Failed && !f.Optional, r.State == Valued && f.Member == nil: // a failed member keeps its last value
		return r.Cause
	}
	return nil
}

// changesWith reports whether a watched cell that may belong to the same change as f, by itself or with
// others that have changed, has changed since the role ran: without f the role would get half of it.
func changesWith(f *contract.Follow, follows []contract.Follow, ran map[contract.CellName]Count, all func(*contract.Follow) CellRecord) bool {
	change := []*contract.Follow{f}
	for n := 0; n < len(change); n++ {
		for i := range follows {
			other := &follows[i]
			r := all(other)
			if r.State == Empty || r.Input() == ran[other.Cell] || !belong(change[n], other, all) {
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
func belong(f, other *contract.Follow, all func(*contract.Follow) CellRecord) bool {
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
func StampOf(r *contract.Role, key contract.RoleKey, run Count, now func(contract.CellName) CellRecord) Stamp {
	if len(r.Carries) == 0 {
		return nil
	}
	stamp, all := Stamp{}, together(r.Follows, now)
	for _, s := range r.Carries {
		if s == contract.Source(key) {
			stamp.merge(s, run)
			continue
		}
		for i := range r.Follows {
			f := &r.Follows[i]
			if record := all(f); f.Watch && (record.State == Valued || record.State == Failed) {
				stamp.merge(s, record.of(f.Cell, s))
			}
		}
	}
	return stamp
}

// LackOf is why what a run of a role writes is not made of the newest, even where nothing has changed
// since; nil if it is.
func LackOf(r *contract.Role, key contract.RoleKey, now func(contract.CellName) CellRecord) *Cause {
	all := together(r.Follows, now)
	for i := range r.Follows {
		if cause := lacking(&r.Follows[i], all(&r.Follows[i])); cause != nil {
			return &Cause{Role: key, At: r.At, Reason: "it is not brought up to date: what it follows failed", Cause: cause}
		}
	}
	return nil
}
