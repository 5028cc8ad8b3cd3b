package emit_test

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// A member of a group that an environment makes of another template, without roles, takes
// what the group hands to all of its members.
func TestMemberWithoutRoles(t *testing.T) {
	o := nestedOptions(t, "testdata/nested/empty-member")
	o.Signal = contract.NobodySignals
	r, found := compile(t, o)
	if r == nil {
		t.Fatal(found)
	}
	st := stockHeat.Oracle(t).Create(t, "site", inputOf(t, r))
	st.Complete(t)
	if booted := st.Booted(t); len(booted) != 1 || booted[0].Path != "g/0/server" {
		t.Errorf("servers: %+v", booted)
	}
}
