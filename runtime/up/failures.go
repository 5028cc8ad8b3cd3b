package up

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// Failure is a resource that failed itself, not because of one inside it.
type Failure struct {
	heat.Resource
	// Path leads from the root stack's resource down to this one. A group's members appear under
	// their names in Heat.
	Path []string
}

// failures picks them from all resources of a stack. Of those that have failed in the last action
// (its, by stack and name), if it is known of any: Heat keeps the others' state and reason until it
// comes to them.
func failures(all []heat.Resource, its map[[2]string]bool) []Failure {
	failed := slices.DeleteFunc(slices.Clone(all), func(r heat.Resource) bool { return !r.State.Failed() })
	if now := lists.Only(failed, func(r heat.Resource) bool { return its[[2]string{r.StackID, r.Name}] }); len(now) > 0 {
		failed = now
	}
	within := map[string]bool{} // stacks that contain a failure
	for _, r := range failed {
		within[r.StackID] = true
	}
	at := places(all)
	var out []Failure
	for _, r := range failed {
		if !within[r.NestedID] {
			out = append(out, Failure{r, append(slices.Clone(at[r.StackID]), r.Name)})
		}
	}
	return out
}

// places are the paths of stacks by id, as their resources report. A cycle, which Heat never
// returns, leads nowhere.
func places(all []heat.Resource) map[string][]string {
	is := map[string]heat.Resource{}
	for _, r := range all {
		if r.NestedID != "" {
			is[r.NestedID] = r
		}
	}
	out := map[string][]string{}
	for id := range is {
		var path []string
		for r, nested := is[id]; nested && len(path) < 2*heat.MaxDepth; r, nested = is[r.StackID] {
			path = append([]string{r.Name}, path...)
		}
		out[id] = path
	}
	return out
}
