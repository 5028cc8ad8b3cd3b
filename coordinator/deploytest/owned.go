package deploytest

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

func (b Bed) ApplyClasses(t *testing.T, p *contract.Plan) {
	t.Helper()
	if _, err := deploy.Publish(t.Context(), b.Open(t), Publication(p, Enrolling(coordinator.EnrolOnce))); err != nil {
		t.Fatal(err)
	}
}
