package heat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/hotc-dev/hotc/runtime/heat"
)

// Events are read in pages: the whole history of a large stack does not fit into one answer.
func TestEventsAreReadInPages(t *testing.T) {
	const history = 2500
	asked := 0
	c := played(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		var limit, after int
		if _, err := fmt.Sscan(r.URL.Query().Get("limit"), &limit); err != nil {
			t.Errorf("limit: %v", err)
		}
		if marker := r.URL.Query().Get("marker"); marker != "" {
			if _, err := fmt.Sscanf(marker, "e%d", &after); err != nil {
				t.Error(err)
			}
		}
		events := []any{}
		for n := after + 1; n <= min(after+limit, history); n++ {
			events = append(events, map[string]any{"id": fmt.Sprint("e", n)})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"events": events})
	})
	for marker, want := range map[string]int{"": history, "e2499": 1, "e2500": 0} {
		events, err := c.Events(t.Context(), "s", "1", marker, heat.MaxDepth)
		if err != nil || len(events) != want || want > 0 && events[want-1].ID != "e2500" {
			t.Errorf("after %q: %d events, %v", marker, len(events), err)
		}
	}
	if asked != 5 {
		t.Errorf("Heat was asked %d times", asked)
	}
}
