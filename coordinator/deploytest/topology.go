package deploytest

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// Keyed is an agent of a new machine.
func (b Bed) Keyed(t *testing.T, server contract.ServerPath, id string) *member.Session {
	t.Helper()
	m := member.Join(b.Session(t, server), Site, server, TokenOf(server))
	if err := m.AwaitDeployment(Within(t, Patience), nil); err != nil {
		t.Fatal(err)
	}
	key, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.UseKey(key)
	return Enrolled(t, m, id, false)
}
