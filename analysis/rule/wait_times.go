package rule

import (
	"cmp"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
)

var longWait = Rule{Code: source.LongWait, Category: Resources, Severity: source.Info, Evidence: CreationFails, LintOnly: true, Template: findLongWaits}

// stackTimeout is Heat's default timeout for a stack, in seconds (heat/common/config.py,
// stack_action_timeout).
const stackTimeout = 3600

// findLongWaits finds wait conditions whose timeout exceeds that of the stack.
func findLongWaits(l *Checker) {
	for b := range l.BlocksOf("OS::Heat::WaitCondition", "AWS::CloudFormation::WaitCondition", "OS::Heat::SwiftSignal") {
		n := cmp.Or(b.Get("timeout"), b.Get("Timeout"))
		if seconds, v, known := l.Number(n); known && seconds > stackTimeout {
			l.Report(n, when(fmt.Sprintf("this waits %d seconds, but Heat's default timeout for a stack is %d", seconds, stackTimeout), v),
				fmt.Sprintf("create the stack with `--timeout %d` (minutes) or more", (seconds+59)/60))
		}
	}
}
