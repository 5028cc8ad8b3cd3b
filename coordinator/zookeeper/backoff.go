package zookeeper

import (
	"sync"
	"time"
)

const (
	// patienceWithSlow is how many times as long as an answer takes the session waits
	// before it asks more of a server that is busy.
	patienceWithSlow = 4
	// mostStretch bounds that, as a multiple of the usual wait.
	mostStretch = 4
)

// backoff is how fast the server answers a session. Where thousands of sessions wake at
// once, looks of the keep-alive and reads made again would be most of the server's work.
//
// What a server has lost looks slow as well, and there the looks are the cure. So
// only an answer counts that nothing asked later can have set free: that to the
// session's last request. Where one hung, the next is answered at once, and counts.
type backoff struct {
	mu    sync.Mutex
	asked uint64 // requests so far
	delay time.Duration
}

// asked is one request: its number, and when it was made.
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

// stretch makes a wait longer where answers are slow.
func (t *backoff) stretch(wait time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return min(max(wait, patienceWithSlow*t.delay), mostStretch*wait)
}
