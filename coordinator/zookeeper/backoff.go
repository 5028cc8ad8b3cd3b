package zookeeper

import (
	"sync"
	"time"
)

const (
	// patienceWithSlow is how many times the latency of an answer the session waits before it sends
	// more to a busy server.
	patienceWithSlow = 4
	// mostStretch bounds that, as a multiple of the usual wait.
	mostStretch = 4
)

// backoff measures how fast the server answers a session. When thousands of sessions wake at once,
// keep-alive checks and repeated reads would be most of the server's work.
//
// A request that a server has lost looks slow as well, and there the checks are the cure. So only
// answers that no later request can have released count: those to the session's last request. After
// one that hung, the next is answered at once, and counts.
type backoff struct {
	mu    sync.Mutex
	asked uint64 // requests so far
	delay time.Duration
}

// asked is one request: its number, and when it was sent.
type asked struct {
	number uint64
	at     time.Time
}

func (t *backoff) ask() asked {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	return asked{t.asked, time.Now()}
}

func (t *backoff) answered(a asked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.number == t.asked {
		t.delay = time.Since(a.at)
	}
}

// stretch lengthens a wait if answers are slow.
func (t *backoff) stretch(wait time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return min(max(wait, patienceWithSlow*t.delay), mostStretch*wait)
}
