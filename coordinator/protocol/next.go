package protocol

import (
	"encoding/json"
	"time"

	"github.com/hotc-dev/hotc/coordinator/sign"
)

// Heat creates a replacement machine before it deletes the old one, and only Heat knows which of
// the two is newer. So a machine that would become the server in place of another asks, and a relay
// answers after querying Heat (docs/coordination.md, "Incarnations").

// NextRecord is the machine that would become the server next, and a relay's answer: each
// overwrites the other.
type NextRecord struct {
	ID       string    `json:"id,omitempty"` // as in its IncarnationRecord
	Instance string    `json:"instance,omitempty"`
	After    int       `json:"after,omitempty"` // the incarnation that it would replace
	Since    time.Time `json:"since,omitzero"`  // when it asked last
	// Has is whether Heat had the machine when the incarnation After was current. A relay signs it.
	Has *bool `json:"has,omitempty"`
}

// mostOfNext bounds the size of such a record.
const mostOfNext = 2048

// OpenNext reads the record. An answer that no relay has signed is dropped; an invalid record is
// empty.
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

// Asks reports whether a machine waits for an answer.
func (r *NextRecord) Asks() bool { return r.ID != "" && r.Has == nil }
