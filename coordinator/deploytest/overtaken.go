package deploytest

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
)

// ExpectWhole checks that all that a plan needs exists.
func (b Bed) ExpectWhole(t *testing.T, want *contract.Plan) {
	t.Helper()
	live, err := deploy.ReadPlan(t.Context(), b.Operator(t), Site, Secret)
	if err != nil || string(Text(live)) != string(Text(want)) {
		t.Errorf("the live plan is another one (%v)", err)
	}
	for _, s := range want.Servers {
		m := member.Join(b.Session(t, s.Path), Site, s.Path, TokenOf(s.Path))
		if _, err := m.Plan(t.Context()); err != nil {
			t.Errorf("%s: %v", s.Path, err)
		}
		for _, r := range s.Roles {
			for _, file := range r.AllFiles() {
				if _, err := m.File(t.Context(), file); err != nil {
					t.Errorf("%s: %v", r.Name, err)
				}
			}
		}
	}
}
