package deploytest

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

func SharedBy(name string) store.Credential {
	path := contract.ServerPath("app/*/" + name)
	return protocol.ServerCredential(path, Secret.ServerToken(Site, path))
}

// InSlot is a server of a replica slot, as its agent opens the session.
func (b Bed) InSlot(t *testing.T, c *member.Claim, name string, number int) *member.Member {
	t.Helper()
	return b.JoinSlot(t, c, name, number, func(s store.Session) store.Session { return s })
}

// JoinSlot is InSlot with a store that does more.
func (b Bed) JoinSlot(t *testing.T, c *member.Claim, name string, number int, with func(store.Session) store.Session) *member.Member {
	t.Helper()
	server := c.Slot.Within(contract.ServerPath("app/*/"+name), number)
	token := protocol.SlotToken(Secret.ServerToken(Site, contract.ServerPath("app/*/"+name)), number)
	m := member.Join(with(b.Open(t, protocol.ServerCredential(server, token), SharedBy(name))), Site, server, token)
	m.KeepSlot(c, number)
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.UseKey(NewMachine(t, server, "").Key)
	return m
}
