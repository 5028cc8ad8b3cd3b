package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

var snapshotPolicy = Rule{Code: source.SnapshotPolicy, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findSnapshotPolicies}

// findSnapshotPolicies finds the deletion policy Snapshot on types without snapshots (heat/
// engine/resource.py, validate_deletion_policy). HOT accepts it in lower case, too; a cloud's
// description of its own types does not mention snapshots.
func findSnapshotPolicies(l *Checker) {
	for _, b := range l.Blocks() {
		if b.Path != "" || b.Type.Snapshots || b.Type.Own != "" || l.Template.Resource(b.Resource.Name) != b.Resource {
			continue
		}
		n := b.Resource.Entry.Value.Get(l.Template.Keywords().DeletionPolicy)
		if n == nil {
			continue
		}
		if v, known := l.Value(n); known {
			if text, is := v.Value.(string); is && strings.EqualFold(text, "snapshot") {
				l.Report(n, when(fmt.Sprintf("%s does not support snapshots in %s", b.Type.Name, l.Types.Says(b.Type)), v), "Retain keeps the resource itself")
			}
		}
	}
}
