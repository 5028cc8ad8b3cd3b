package zookeeper

import (
	"math/rand/v2"
	"time"
)

const (
	// Clients that lose a server at the same moment spread their dials over this time, and starting
	// ones over less, since they do not start in the same moment. ZooKeeper's listen queue holds
	// 50; a connection that it drops is retried after a second (docs/coordination.md, "Measured").
	spreadAgain = 100 * time.Millisecond
	spreadFirst = 20 * time.Millisecond
	// A round over all servers without success is followed by a pause, which grows with each round.
	// A factor near 1 keeps the last pause short relative to the sum: after an election of half a
	// second not another half second is lost.
	shortestPause = 40 * time.Millisecond
	longestPause  = 500 * time.Millisecond
	pauseGrowth   = 1.25
)

// hosts tells the library which server to dial next, and delays it: the library's own pause at the
// end of the list is a fixed second. All methods are called by one goroutine of the library.
type hosts struct {
	ended <-chan struct{}

	addrs []string
	next  int
	met   bool          // a dial has succeeded
	tried int           // since the last success
	pause time.Duration // after the last round, at most
}

// Init implements zk.HostProvider; the library has shuffled the servers.
func (h *hosts) Init(servers []string) error {
	h.addrs = servers
	return nil
}

func (h *hosts) Len() int { return len(h.addrs) }

// Next implements zk.HostProvider. It reports the end of the list only when the link is closed:
// that is where the library checks whether it was closed. Otherwise it would dial a refusing server
// forever.
func (h *hosts) Next() (server string, end bool) {
	var most time.Duration
	switch {
	case h.tried == 0 && !h.met:
		most = spreadFirst
	case h.tried == 0:
		most = spreadAgain
	case h.tried%len(h.addrs) == 0:
		h.pause = min(max(shortestPause, time.Duration(pauseGrowth*float64(h.pause))), longestPause)
		most = h.pause
	}
	if most > 0 {
		pause := time.NewTimer(rand.N(most))
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-h.ended:
		}
	}
	server = h.addrs[h.next]
	h.next = (h.next + 1) % len(h.addrs)
	h.tried++
	select {
	case <-h.ended:
		return server, true
	default:
		return server, false
	}
}

func (h *hosts) Connected() { h.met, h.tried, h.pause = true, 0, 0 }
