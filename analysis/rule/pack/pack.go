// Package pack lists the packs of rules: each has the rules of one community, in a folder of
// its own, and is enabled by --pack NAME. A pack is a value, and a line in All.
package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/analysis/rule/pack/onap"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
)

// All returns the packs.
func All() []rule.Pack { return []rule.Pack{onap.Pack} }

// Names returns the names of the packs.
func Names() (names []string) {
	return lists.Map(All(), func(p rule.Pack) string { return p.Name })
}

// Rules returns all rules: hotc's own, and those of all packs.
func Rules() []*rule.Rule {
	return slices.Concat(rule.All(), lists.Flat(All(), func(p rule.Pack) []*rule.Rule { return p.Rules }))
}

// Of finds the rule of a code, packs included; nil if there is none.
func Of(code source.Code) *rule.Rule {
	if r := rule.Of(code); r != nil {
		return r
	}
	for _, p := range All() {
		for _, r := range p.Rules {
			if r.Code == code {
				return r
			}
		}
	}
	return nil
}

// Named returns the rules of some packs.
func Named(names []string) (rules []*rule.Rule, err error) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		i := slices.IndexFunc(All(), func(p rule.Pack) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no pack %q: the packs are %s", name, strings.Join(Names(), ", "))
		}
		rules = append(rules, All()[i].Rules...)
	}
	return rules, nil
}
