package role

import (
	"slices"
	"time"

	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// waits are the currently blocked reads, and how long at least one was blocked.
type waits struct {
	list  []*protocol.Wait
	since time.Time
	total time.Duration
}

func (w *waits) begin(wait *protocol.Wait) {
	if len(w.list) == 0 {
		w.since = wait.Since
	}
	w.list = append(w.list, wait)
}

func (w *waits) end(wait *protocol.Wait, now time.Time) {
	w.list = slices.DeleteFunc(w.list, func(x *protocol.Wait) bool { return x == wait })
	if len(w.list) == 0 {
		w.total += now.Sub(w.since)
	}
}

func (w *waits) now() []protocol.Wait {
	var list []protocol.Wait
	for _, x := range w.list {
		list = append(list, *x)
	}
	return list
}

func (w *waits) seconds(now time.Time) float64 {
	total := w.total
	if len(w.list) > 0 {
		total += now.Sub(w.since)
	}
	return max(0, total.Seconds())
}

// blocked records and shows a waiting read, and returns the function that ends it.
func (l *life) blocked(wait protocol.Wait) (stop func()) {
	l.mu.Lock()
	l.waits.begin(&wait)
	l.mu.Unlock()
	l.show()
	return func() {
		l.mu.Lock()
		l.waits.end(&wait, l.host.Now())
		l.mu.Unlock()
		l.show()
	}
}

// show reports the role's state while it runs. A read may end after the role has, and its
// older state must not be reported after the end.
func (l *life) show() {
	l.showing.Lock()
	defer l.showing.Unlock()
	if !l.over {
		l.host.Show(l.state())
	}
}
