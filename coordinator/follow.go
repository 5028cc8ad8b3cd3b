package coordinator

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// A role that follows cells is brought up to date when they have become newer and fit
// together (docs/updates.md). Each agent decides that alone, and so do operators' commands
// that show it, by the same function.

// Count says which of the contents of a cell, or runs of a role, is meant: the number of the
// incarnation, and of the version or run within it.
type Count [2]int

// Less says that another one is newer.
func (c Count) Less(d Count) bool { return c[0] < d[0] || c[0] == d[0] && c[1] < d[1] }

// Stamp says of which runs of its sources a value is made.
type Stamp map[contract.Source]Count

// merge takes over what is newer.
func (s Stamp) merge(source contract.Source, c Count) {
	if s[source].Less(c) {
		s[source] = c
	}
}

// PlanStamp is that of what is made of a change of the plan.
func PlanStamp(change int64) Stamp { return Stamp{contract.PlanSource: {0, int(change)}} }

// Keeping is the stamp with the change of the plan that its cell has come to before.
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

// At is the version of what the record holds. What an operator has given has the one of its
// value, so that a value which comes back is no other one.
func (r *CellRecord) At() Count {
	if value, err := strconv.ParseInt(r.Fingerprint[:min(len(r.Fingerprint), versionDigits)], 16, 64); err == nil {
		return Count{0, int(value)}
	}
	return Count{r.Incarnation, r.Version}
}

// versionDigits are hex digits of as large a number as every reader of JSON keeps.
const versionDigits = 12

// of is the run of a source that a cell's content is made of.
func (r *CellRecord) of(cell contract.CellName, s contract.Source) Count {
	if contract.CellName(s) == cell { // a fact, or what an operator has given
		return Count{r.Incarnation, r.Version}
	}
	return r.Stamp[s]
}

// Standing is how a role stands to the cells that it follows.
type Standing struct {
	// Newer says that one that it watches has become another since the role ran.
	Newer bool
	// Waits is a cell that has not come to where the others are; "" is none.
	Waits contract.CellName
	// Unreached is what Heat or an operator gives otherwise than when the role ran, which
	// nothing brings it to.
	Unreached []contract.CellName
	// Behind is why the role is not to run for what has changed: some of it comes from a run that
	// has failed, or would have to.
	Behind *Cause
	// Lacks is why what the role has is not made of what is newest, even where it has not changed.
	Lacks *Cause
}

// Due says that the role has to run.
func (s Standing) Due() bool { return s.Newer && s.Waits == "" && s.Behind == nil }

// Stand compares what a role has run with, by cell, with what is there.
func Stand(follows []contract.Follow, ran map[contract.CellName]Count, now func(contract.CellName) CellRecord) Standing {
	var s Standing
	newest, all := Stamp{}, together(follows, now)
	for i := range follows {
		f := &follows[i]
		r := all(f)
		if r.State == Valued {
			for _, source := range f.Sources {
				newest.merge(source, r.of(f.Cell, source))
			}
		}
		at, had := ran[f.Cell]
		if _, given := f.Cell.Parameter(); given && !had {
			continue // it ran before its plan had it follow that, with what was given then
		}
		if f.Watch && r.State != Empty && r.At() != at {
			s.Newer = true
		}
		if had && !f.Watch && r.State == Valued && r.At() != at && f.Cell.FromOutside() {
			s.Unreached = append(s.Unreached, f.Cell)
		}
	}
	for i := range follows {
		f := &follows[i]
		r := all(f)
		if cause := lacking(f, r); cause != nil {
			if s.Lacks == nil {
				s.Lacks = cause
			}
			if s.Behind == nil && (r.State == Failed || changesWith(f, follows, ran, all)) {
				s.Behind = cause
			}
		}
		switch {
		case r.State == Empty:
			if _, had := ran[f.Cell]; (had || f.Perhaps != nil) && s.Waits == "" {
				s.Waits = f.Cell // its server is built anew, or comes, or its role is retried
			}
			continue
		case r.State == Gone, r.State == Failed:
			continue // nobody waits for who is not in a group, or has failed
		}
		for _, source := range f.Sources {
			if r.of(f.Cell, source).Less(newest[source]) && s.Waits == "" {
				s.Waits = f.Cell
			}
		}
	}
	return s
}

// lacking is why a cell does not hold what is newest, and will not by itself; nil is that it does.
func lacking(f *contract.Follow, r CellRecord) *Cause {
	switch {
	case r.State == Failed && !f.Optional && r.Cause == nil:
		return &Cause{Reason: "it has failed"}
	case r.State == Failed && !f.Optional, r.State == Valued && f.Member == nil: // a member goes on with what it had
		return r.Cause
	}
	return nil
}

// changesWith says that a cell has become another since the role ran, or one that belongs to the
// same change: without it the role would have half of that.
func changesWith(f *contract.Follow, follows []contract.Follow, ran map[contract.CellName]Count, all func(*contract.Follow) CellRecord) bool {
	for i := range follows {
		other := &follows[i]
		if r := all(other); other.Watch && r.State != Empty && r.At() != ran[other.Cell] && belong(f, other, all) {
			return true
		}
	}
	return false
}

// belong says that two cells may be made of the same change.
func belong(f, other *contract.Follow, all func(*contract.Follow) CellRecord) bool {
	for _, s := range f.Sources {
		if slices.Contains(other.Sources, s) {
			return true
		}
	}
	change := all(f).Stamp[contract.PlanSource][1]
	return f == other || change > 0 && change <= all(other).Stamp[contract.PlanSource][1]
}

// StampOf is the stamp of what a run of a role writes: the number of the run, and of those
// that it was made of.
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
			if record := all(f); f.Watch && record.State == Valued {
				stamp.merge(s, record.of(f.Cell, s))
			}
		}
	}
	return stamp
}
