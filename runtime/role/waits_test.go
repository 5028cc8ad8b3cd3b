package role

import (
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
)

// What a read saw of its role is shown before the role is let go, or not at all: behind
// the role's end it would stand for ever.
func TestNothingIsShownBehindTheEnd(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	shown := 0
	l := &life{kill: func(error) {}, host: &Host{Now: time.Now, Show: func(coordinator.RoleState) {
		if shown++; shown == 3 {
			close(entered)
			<-leave
		}
	}}}
	late := l.blocked(coordinator.Wait{})
	stop := l.blocked(coordinator.Wait{})
	go stop()
	<-entered
	released := make(chan struct{})
	go func() {
		l.release()
		close(released)
	}()
	select {
	case <-released:
		t.Error("the role was let go while its state was being shown")
	case <-time.After(50 * time.Millisecond):
	}
	close(leave)
	<-released
	late()
	if shown != 3 {
		t.Errorf("%d states were shown, want 3: one came behind the end", shown)
	}
}
