package zookeeper

import (
	"sync"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
)

const (
	// crowdsShare is how far apart all sessions' looks are together in a crowd, so that a
	// server of three still gets a hundred a second: what it has lost by a missing
	// wake-up anybody's request sets free.
	crowdsShare = 3 * time.Millisecond
	// longestCrowdsRest bounds that, for when most of the crowd are not there.
	longestCrowdsRest = 8 * shortestBeat
	// countAgain is how often a crowd is counted.
	countAgain = time.Minute
)

// others are those who wait at the coordinator as this session does.
type others struct {
	mu      sync.Mutex
	at      string // the node with a child for each; "" if nobody named it
	size    int
	counted time.Time
}

func (s *store) Among(path coordinator.Path) {
	s.others.mu.Lock()
	defer s.others.mu.Unlock()
	s.others.at = s.at(path)
}

// due returns the node to count them at, "" where they have been counted not long ago.
func (o *others) due() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at == "" || !o.counted.IsZero() && time.Since(o.counted) < countAgain {
		return ""
	}
	o.counted = time.Now()
	return o.at
}

// count takes how many there are.
func (o *others) count(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size = size
}

// rest is how long the session waits between two looks of its own.
func (o *others) rest() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(shortestRest, min(time.Duration(o.size)*crowdsShare, longestCrowdsRest))
}
