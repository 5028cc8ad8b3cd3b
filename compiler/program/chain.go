package program

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// ChainOutput is the output of a chain's template behind an attribute that is read
// through the chain, and the path into it. The outputs are named as Heat names those of
// its own (heat/engine/resources/openstack/heat/resource_chain.py,
// _attribute_output_name): a path belongs to each member's attribute. Before 2014-10-16
// it selects from what the attribute gives.
func ChainOutput(v hot.Version, attribute string, path []hot.Value) (output string, rest []hot.Value) {
	if len(path) == 0 || v <= hot.V20130523 || attribute == "refs" || strings.HasPrefix(attribute, "resource.") {
		return attribute, path
	}
	parts := []string{attribute}
	for _, p := range path {
		parts = append(parts, hot.ToString(p))
	}
	return strings.Join(parts, ", "), nil
}
