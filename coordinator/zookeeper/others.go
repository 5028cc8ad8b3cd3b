package zookeeper

import (
	"sync"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

const (
	// crowdsShare is the time between the checks of all sessions together, so that each of three
	// servers still gets a hundred a second: any session's request releases what a server has lost
	// by a missing wake-up.
	crowdsShare = 3 * time.Millisecond
	// longestCrowdsRest bounds that, in case most of the clients are not there.
	longestCrowdsRest = 8 * shortestBeat
	// countAgain is how often the clients are counted.
	countAgain = time.Minute
)

// others are the clients that wait at the coordinator, as this session does.
type others struct {
	mu      sync.Mutex
	at      string // the node with a child for each; "" if unknown
	size    int
	counted time.Time
}

func (s *client) Among(path store.Path) {
	s.others.mu.Lock()
	defer s.others.mu.Unlock()
	s.others.at = s.at(path)
}

// due returns the node at which to count them, "" if they were counted recently.
func (o *others) due() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at == "" || !o.counted.IsZero() && time.Since(o.counted) < countAgain {
		return ""
	}
	o.counted = time.Now()
	return o.at
}

// count sets their number.
func (o *others) count(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size = size
}

// rest is the time between two checks by this session.
func (o *others) rest() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(shortestRest, min(time.Duration(o.size)*crowdsShare, longestCrowdsRest))
}
