package coordinator

import (
	"encoding/json"
	"time"

	"github.com/hotc-dev/hotc/coordinator/sign"
)

// Heat makes the machine that replaces another one before it deletes that, and only Heat knows
// which of the two is the newer one. So a machine that would become a server in the place of another
// one asks, and a relay answers when it has looked at Heat (docs/coordination.md, "Incarnations").

// NextRecord is the machine that would be a server next, and what a relay says of it: each writes
// over the other.
type NextRecord struct {
	ID       string    `json:"id,omitempty"` // as in its IncarnationRecord
	Instance string    `json:"instance,omitempty"`
	After    int       `json:"after,omitempty"` // the incarnation in whose place it would come
	Since    time.Time `json:"since,omitzero"`  // when it asked last
	// Has is whether Heat had the machine when the incarnation After stood. A relay signs it.
	Has *bool `json:"has,omitempty"`
}

// mostOfNext is how large such a record can be.
const mostOfNext = 2048

// OpenNext reads what stands there. What is no relay's answer is none; what is no such record is
// nobody's.
func OpenNext(data []byte, by sign.Public, at sign.Place) NextRecord {
	var r NextRecord
	if len(data) > mostOfNext || json.Unmarshal(sign.Bare(data), &r) != nil {
		return NextRecord{}
	}
	if _, _, err := by.Open(at, data); err != nil {
		r.Has = nil
	}
	return r
}

// Asks says that a machine waits for an answer.
func (r *NextRecord) Asks() bool { return r.ID != "" && r.Has == nil }
