package up

import (
	"slices"

	"github.com/hotc-dev/hotc/runtime/heat"
)

// Failure is a resource that has failed for itself, and not because one in it has.
type Failure struct {
	heat.Resource
	// Path are the resources that it lies in, from the root stack's on, and itself. A group's
	// members lie in it by their names in Heat.
	Path []string
}

// failures are those among all resources of a stack.
func failures(all []heat.Resource) []Failure {
	within := map[string]bool{} // stacks in which something has failed
	for _, r := range all {
		if r.State.Failed() {
			within[r.StackID] = true
		}
	}
	at := places(all)
	var out []Failure
	for _, r := range all {
		if r.State.Failed() && !within[r.NestedID] {
			out = append(out, Failure{r, append(slices.Clone(at[r.StackID]), r.Name)})
		}
	}
	return out
}

// places are the paths of stacks by their ids, as the resources say that they are. A cycle,
// which no Heat gives, ends nowhere.
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
