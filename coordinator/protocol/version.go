package protocol

import (
	"maps"
	"strconv"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Count identifies a version of a cell or a run of a role: the number of the incarnation, and of
// the version or run within it.
type Count [2]int

// Less reports whether d is newer.
func (c Count) Less(d Count) bool { return c[0] < d[0] || c[0] == d[0] && c[1] < d[1] }

// Stamp says from which runs of its sources a value was made.
type Stamp map[contract.Source]Count

// Merge takes over what is newer.
func (s Stamp) Merge(source contract.Source, c Count) {
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

// Of is the run of a source from which a cell's content was made.
func (r *CellRecord) Of(cell contract.CellName, s contract.Source) Count {
	if contract.CellName(s) == cell { // a fact, or a secret supplied by an operator
		return Count{r.Incarnation, r.Version}
	}
	return r.Stamp[s]
}
