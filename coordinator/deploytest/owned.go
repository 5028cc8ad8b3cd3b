package deploytest

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

func (b Bed) ApplyClasses(t *testing.T, p *contract.Plan) {
	t.Helper()
	if _, err := deploy.Publish(t.Context(), b.Open(t), Publication(p, Enrolling(protocol.EnrolOnce))); err != nil {
		t.Fatal(err)
	}
}
