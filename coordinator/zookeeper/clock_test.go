package zookeeper

import (
	"errors"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// The server runs on this machine: its clock is ours.
func TestTheCoordinatorsClock(t *testing.T) {
	ctx := within(t)
	s := join(t, ctx, shared.Server(t).URL("hotc/clock"), sessionTimeout, operator)
	if _, err := s.Written(ctx, "n"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of no node: %v", err)
	}
	from := time.Now().Truncate(time.Millisecond)
	must(t, s.Create(ctx, []store.NewNode{{Path: "n"}}))
	must(t, s.Commit(ctx, store.Op{Path: "n", Write: true, Data: []byte("x")}))
	written, err := s.Written(ctx, "n")
	must(t, err)
	if written.Before(from) || written.After(time.Now()) {
		t.Errorf("written at %v, between %v and now", written, from)
	}
}
