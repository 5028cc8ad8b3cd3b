package pack_test

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/analysis/rule/pack"
)

// Each rule of a pack is unique, checks templates, and is found by its code; none is one of
// hotc's own.
func TestPacks(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range pack.Rules() {
		if seen[string(r.Code)] {
			t.Errorf("%s is there twice", r.Code)
		}
		seen[string(r.Code)] = true
	}
	for _, p := range pack.All() {
		rules, err := pack.Named([]string{p.Name, p.Name})
		if err != nil || len(rules) != len(p.Rules) {
			t.Errorf("%s: %d rules, %v", p.Name, len(rules), err)
		}
		for _, r := range p.Rules {
			if pack.Of(r.Code) != r || rule.Of(r.Code) != nil || r.Template == nil || string(r.Category) != p.Name || !strings.HasPrefix(string(r.Code), strings.ToUpper(p.Name)+"-") {
				t.Errorf("%s of the pack %s: %+v", r.Code, p.Name, r)
			}
		}
	}
	if _, err := pack.Named([]string{"nova"}); err == nil || !strings.Contains(err.Error(), "onap") {
		t.Errorf("a pack that is not there: %v", err)
	}
}
