//go:build e2e

package bed_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Policies change a group, which updates no stack, and its members end up in other slots: the stack's
// outputs, and `hotc outputs`, are those of the members that are there.
func TestOutputsFollowTheGroup(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/renewed.yaml", "renewed")
	d.relay()
	d.ends("CREATE_COMPLETE")
	there := func() (names []string) {
		for _, s := range d.status() {
			if !s.Alive {
				continue
			}
			m, err := d.bed.Server(s.Instance)
			if err != nil {
				continue // it has just been deleted
			}
			if name, err := m.Read("etc/hostname"); err == nil {
				names = append(names, strings.TrimSpace(name))
			}
		}
		slices.Sort(names)
		return names
	}
	have := func(text []byte) []string {
		var names []string
		_ = json.Unmarshal(text, &names) // it may not be a list yet
		slices.Sort(names)
		return names
	}
	for _, step := range []struct {
		policy  string
		members int
	}{{"less", 1}, {"more", 2}, {"more", 3}, {"less", 2}} {
		d.stack.Signal(t, step.policy)
		until(t, "Heat's outputs after "+step.policy, func() bool {
			now := there()
			return len(now) == step.members && slices.Equal(have(d.stack.Outputs(t)["names"].Value), now)
		})
		until(t, "hotc's outputs after "+step.policy, func() bool {
			return slices.Equal(have([]byte(d.on("outputs", "names"))), there())
		})
	}
	if s := d.stack.Status(t); s.String() != "CREATE_COMPLETE" {
		t.Errorf("the stack was updated: %s", s)
	}
}
