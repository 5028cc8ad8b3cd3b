package deploytest

import (
	"context"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Ask starts a machine whose token was used, and returns when it has asked for approval.
func (b Bed) Ask(t *testing.T, of Machine) (entered <-chan error) {
	t.Helper()
	ended, waits := make(chan error, 1), make(chan string, 8)
	m := b.AwaitingApproval(t, of)
	go func() { ended <- m.AwaitDeployment(Within(t, Patience), func(why string) { waits <- why }) }()
	if why := Soon(t, waits); !strings.Contains(why, of.Key.Public()) || strings.Contains(why, "ask to be let in") {
		t.Errorf("%s waits: %s", of.Id, why)
	}
	return ended
}

// ExpectAsking compares which machines ask to be a server.
func (b Bed) ExpectAsking(t *testing.T, server contract.ServerPath, want ...Machine) {
	t.Helper()
	asking, err := Reading(t, b.Operator(t)).AwaitingApproval(t.Context(), server)
	if err != nil || len(asking) != len(want) {
		t.Fatalf("%d machines ask (%v), want %d: %+v", len(asking), err, len(want), asking)
	}
	for i, m := range want {
		if asking[i].Instance != "i-"+m.Id || asking[i].Key != m.Key.Public() {
			t.Errorf("machine %d that asks is %+v, want %s", i, asking[i], m.Id)
		}
	}
}

// Overwrite is what a holder of the token can do with what others have written.
func (b Bed) Overwrite(t *testing.T, server contract.ServerPath, text string) {
	t.Helper()
	if err := set(t.Context(), b.Session(t, server), Site.ApprovalRequests(server), text); err != nil {
		t.Fatal(err)
	}
}

func set(ctx context.Context, s store.Session, path store.Path, text string) error {
	return s.Commit(ctx, store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: []byte(text)})
}
