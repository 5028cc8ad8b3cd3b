package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var splitList = Rule{Code: source.SplitList, Category: Roles, Severity: source.Warning, Evidence: TextShows, Whole: true, Role: findSplitLists}

// findSplitLists finds inputs that are lists, and that a shell script takes for several words: it
// gets JSON.
func findSplitLists(l *roles, role *program.Role) {
	if !read(role) || len(role.Meaning.Sequence.Split) == 0 {
		return
	}
	for in, bound := range l.analysis.Bound(role) {
		at, is := role.Meaning.Sequence.Split[in.Name]
		if !is || in.Type != contract.List && (in.Type != "" || l.types().Of(role.Stack, bound.Expr) != contract.List) {
			continue
		}
		l.diags.Warning(source.SplitList, at, fmt.Sprintf("%s takes input %q for several words, but it is a list: the variable contains JSON, such as [\"a\", \"b\"]", sourceName(role), in.Name),
			fmt.Sprintf("`$(hotc-agent get --lines %s)` has each item on a line; or make the input a text, with `list_join: [' ', …]`", in.Name)).Note(in.At, "the input")
	}
}
