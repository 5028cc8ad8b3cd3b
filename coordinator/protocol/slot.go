package protocol

import (
	"slices"
	"time"
)

// SlotsRecord says which member of a scaling group has which replica slot.
type SlotsRecord struct {
	// Within are the servers of each member, by their paths within the member.
	Within []string     `json:"within"`
	Slots  []SlotRecord `json:"slots"`
}

// SlotRecord is one slot; the zero value was never taken.
type SlotRecord struct {
	Member string    `json:"member,omitempty"` // the id of its stack
	Stack  string    `json:"stack,omitempty"`  // the root stack's
	Since  time.Time `json:"since,omitzero"`
}

// NumberOf is the slot of a member, -1 if it has none.
func (r *SlotsRecord) NumberOf(member string) int {
	return slices.IndexFunc(r.Slots, func(s SlotRecord) bool { return s.Member == member })
}

// IsFree reports whether a new member of a root stack can take a slot at once: it was never taken,
// or by a member of an earlier stack of the name.
func (r *SlotsRecord) IsFree(slot int, stack string) bool {
	return r.Slots[slot].Member == "" || r.Slots[slot].Stack != stack
}
