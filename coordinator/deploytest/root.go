package deploytest

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// MakeRoot closes the bed's ROOT, and returns what Publish needs to know of it.
func (b Bed) MakeRoot(t *testing.T, key protocol.Secret, limit store.Limit) deploy.InRoot {
	t.Helper()
	root, err := deploy.MakeRoot(t.Context(), b.Open(t), key, limit, Noon)
	if err != nil || root.State != deploy.RootOurs || root.Record.Limit != limit {
		t.Fatalf("%+v, %v", root, err)
	}
	return deploy.InRoot{Key: key, Root: root}
}

// In applies a plan in a closed ROOT.
func (b Bed) In(t *testing.T, root deploy.InRoot, p *contract.Plan, options ...func(*deploy.Publication)) (deploy.Published, error) {
	t.Helper()
	s := b.Open(t, root.Key.RootCredential())
	return deploy.Publish(t.Context(), s, Publication(p, append(options, InRoot(root))...))
}
