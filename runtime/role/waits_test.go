package role

import (
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// What a read saw of its role is shown before the role is let go, or not at all: behind
// the role's end it would stand for ever.
func TestNothingIsShownBehindTheEnd(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	shown := 0
	l := &life{kill: func(error) {}, host: &Host{Now: time.Now, Show: func(protocol.RoleState) {
		if shown++; shown == 3 {
			close(entered)
			<-leave
		}
	}}}
	late := l.blocked(protocol.Wait{})
	stop := l.blocked(protocol.Wait{})
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
