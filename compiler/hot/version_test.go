package hot

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/compiler/hot/hottest"
)

// heatTable is stock Heat's description of a version.
type heatTable struct {
	Functions     []string          `json:"functions"`
	Removed       []string          `json:"removed"`
	Conditions    []string          `json:"conditions"`
	Classes       map[string]string `json:"classes"`
	Sections      []string          `json:"sections"`
	ResourceKeys  []string          `json:"resource_keys"`
	OutputKeys    []string          `json:"output_keys"`
	ParameterKeys []string          `json:"parameter_keys"`
}

// Every version has exactly the functions, sections and keys that it has in Heat.
func TestVersions(t *testing.T) {
	oracle := hottest.Start(t)
	variants := map[string]*Function{} // Heat's class → our function
	for v := firstVersion; v <= lastVersion; v++ {
		t.Run(v.String(), func(t *testing.T) {
			var heat heatTable
			oracle.Ask(t, "table", map[string]any{"head": headOf(v)}, &heat)
			table := v.Functions()
			got := heatTable{Sections: keysOf(sections, v), ResourceKeys: keysOf(resourceKeys, v), OutputKeys: keysOf(outputKeys, v),
				ParameterKeys: keysOf(parameterKeys, v), Functions: []string{}, Removed: []string{}, Conditions: []string{}}
			if v.CFN() {
				got.Sections, got.ResourceKeys = keysOf(cfnSections, v), keysOf(cfnResourceKeys, v)
				got.OutputKeys, got.ParameterKeys = keysOf(cfnOutputKeys, v), keysOf(cfnParameterKeys, v)
			}
			for _, name := range slices.Sorted(maps.Keys(table.expressions)) {
				if last, isHOT := LastVersion(name); isHOT && last < v {
					got.Removed = append(got.Removed, name)
				} else {
					got.Functions = append(got.Functions, name)
				}
			}
			for _, s := range slices.Concat(conditionFunctions, cfnConditionFunctions) {
				if s.from <= v && v <= s.until {
					got.Conditions = append(got.Conditions, s.function.Name)
				}
			}
			slices.Sort(got.Conditions)
			for _, name := range got.Functions {
				class := fmt.Sprint(v.CFN(), name, heat.Classes[name])
				if f := variants[class]; f != nil && f != table.Lookup(name) {
					t.Errorf("%s is still Heat's %s, but another variant here", name, class)
				}
				variants[class] = table.Lookup(name)
			}
			heat.Classes = nil
			heat.Sections = slices.DeleteFunc(heat.Sections, func(s string) bool { return s == "__undefined__" })
			if diff := cmp.Diff(heat, got); diff != "" {
				t.Errorf("Heat -, hotc +:\n%s", diff)
			}
		})
	}
}

func headOf(v Version) [2]string {
	key, value := v.Head()
	return [2]string{key, value}
}

func keysOf(since map[string]Version, v Version) []string {
	var out []string
	for k, first := range since {
		if first <= v {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
