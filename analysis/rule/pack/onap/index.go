package onap

import (
	"fmt"
	"strconv"

	"github.com/hotc-dev/hotc/analysis/rule"
)

// findIndexes is R-11690: a server's index is one more than that of another server of its
// type. The first of a template may have any: a VNF has several templates.
func findIndexes(l *rule.Checker) {
	least, seen := map[string]int{}, map[string]bool{}
	all := servers(l)
	for _, s := range all {
		if n, err := strconv.Atoi(s.index); err == nil {
			if first, is := least[s.kind]; !is || n < first {
				least[s.kind] = n
			}
			seen[fmt.Sprint(s.kind, " ", n)] = true
		}
	}
	for _, s := range all {
		n, err := strconv.Atoi(s.index)
		if err == nil && n > least[s.kind] && !seen[fmt.Sprint(s.kind, " ", n-1)] {
			l.Report(s.Resource.Entry.Key, fmt.Sprintf("there are %[1]s_server_%[2]d and %[3]s, but not the server before it: ONAP requires indexes without gaps (R-11690)", s.kind, least[s.kind], s.Resource.Name), "")
		}
	}
}
