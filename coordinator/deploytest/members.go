package deploytest

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// SaysGone is a relay that has learned that a member's machine is gone, up to an incarnation.
func (b Bed) SaysGone(t *testing.T, group string, member contract.ServerPath, last int) {
	t.Helper()
	key, err := Secret.Relay(Site)
	if err != nil {
		t.Fatal(err)
	}
	s, err := relay.Join(t.Context(), b.Open(t, key.Credential()), key)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Members(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SayMembers(t.Context(), before, protocol.MembersRecord{Gone: map[contract.ServerPath]int{member: last}}); err != nil {
		t.Fatal(err)
	}
}
