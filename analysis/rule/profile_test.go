package rule

import (
	"fmt"
	"testing"
	"time"
)

// Rules' times are added up, the largest first; a few runs are not enough to exceed the budget.
func TestProfile(t *testing.T) {
	var none *Profile
	none.Whole(none.Begin())
	none.add(&Rule{Code: "H1"}, none.Begin())
	p := &Profile{}
	now := time.Now()
	for range 30 {
		p.add(&Rule{Code: "H1"}, now.Add(-time.Second))
		p.add(&Rule{Code: "H2"}, now.Add(-time.Hour))
	}
	p.add(&Rule{Code: "H3"}, now.Add(-100*time.Hour))
	p.Whole(now.Add(-200 * time.Hour))
	whole, rules := p.Sum()
	got := ""
	for _, r := range rules {
		got += fmt.Sprint(r.Code, " ", r.Runs, " ", r.Over(whole), "; ")
	}
	if want := "H3 1 false; H2 30 true; H1 30 false; "; got != want || whole < 200*time.Hour {
		t.Errorf("of %v: %s, want %s", whole, got, want)
	}
}
