package rule

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Budget is the share of the total time that one rule may take. A rule that takes more
// computes something that it should share, or computes it more than once.
const Budget = 0.08

// Profile is the time that each rule takes (`hotc lint --profile`). The zero value is empty;
// nil measures nothing. Templates may be checked in parallel: the times are added up.
type Profile struct {
	mu    sync.Mutex
	whole time.Duration
	spent map[source.Code]Spent
}

// Spent is what the runs of a rule took.
type Spent struct {
	Code source.Code
	Time time.Duration
	Runs int // at templates and roles
}

// fewRuns are too few to judge a rule by: the first run in a process reads Heat's tables.
const fewRuns = 20

// Over says that the rule took more than its budget of the whole.
func (s Spent) Over(whole time.Duration) bool {
	return s.Runs >= fewRuns && s.Time.Seconds() > Budget*whole.Seconds()
}

// Begin returns the start time for Whole.
func (p *Profile) Begin() (now time.Time) {
	if p != nil {
		now = time.Now()
	}
	return now
}

// Whole adds the time of all stages for a template, rules included.
func (p *Profile) Whole(began time.Time) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.whole += time.Since(began)
}

func (p *Profile) add(r *Rule, began time.Time) {
	if p == nil {
		return
	}
	took := time.Since(began)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent == nil {
		p.spent = map[source.Code]Spent{}
	}
	s := p.spent[r.Code]
	p.spent[r.Code] = Spent{r.Code, s.Time + took, s.Runs + 1}
}

// Sum is the time of all stages, and each rule's share of it, the largest first.
func (p *Profile) Sum() (whole time.Duration, rules []Spent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.spent {
		rules = append(rules, s)
	}
	slices.SortFunc(rules, func(a, b Spent) int {
		if a.Time != b.Time {
			return int(b.Time - a.Time)
		}
		return strings.Compare(string(a.Code), string(b.Code))
	})
	return p.whole, rules
}
