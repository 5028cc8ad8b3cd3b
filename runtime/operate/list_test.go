package operate_test

import (
	"testing"
	"time"

	"github.com/hotc-dev/hotc/runtime/operate"
)

func TestOnlyWhatNobodyUsesIsLeftOver(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	old := now.Add(-2 * time.Hour)
	all := []operate.Listed{
		{Stack: "gone", State: "none", Known: true, Created: old, Servers: 2},
		{Stack: "alive", State: "none", Known: true, Created: old, Servers: 2, Alive: 1},
		{Stack: "young", State: "none", Known: true, Created: now.Add(-time.Minute)},
		{Stack: "closed", State: "none"},
		{Stack: "there", State: "CREATE_COMPLETE", Known: true, Created: old},
		{Stack: "unasked", Known: true, Created: old},
	}
	chosen := func(names ...string) (list []string, code string) {
		found, err := operate.LeftOver(all, names, now)
		for _, x := range found {
			list = append(list, x.Stack)
		}
		if err != nil {
			code = err.Error()
		}
		return list, code
	}
	if list, err := chosen(); len(list) != 1 || list[0] != "gone" || err != "" {
		t.Errorf("left over: %v (%s)", list, err)
	}
	for _, name := range []string{"gone", "young", "closed"} {
		if list, err := chosen(name); len(list) != 1 || err != "" {
			t.Errorf("%s by name: %v (%s)", name, list, err)
		}
	}
	for _, name := range []string{"alive", "there", "unasked", "nowhere"} {
		if list, err := chosen(name); err == "" {
			t.Errorf("%s by name is not refused: %v", name, list)
		}
	}
}
