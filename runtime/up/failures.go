package up

import (
	"slices"

	"github.com/hotc-dev/hotc/runtime/heat"
)

// Failure is a resource that failed itself, not because of one inside it.
type Failure struct {
	heat.Resource
	// Path leads from the root stack's resource down to this one. A group's members appear under
	// their names in Heat.
	Path []string
}

// failures picks them from all resources of a stack.
func failures(all []heat.Resource) []Failure {
	within := map[string]bool{} // stacks that contain a failure
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
