package rule

import (
	"cmp"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
)

var longWait = Rule{Code: source.LongWait, Category: Resources, Severity: source.Info, Truth: CreationFails, LintOnly: true, Template: findLongWaits}

// stackTimeout is how long Heat gives a stack that is made without --timeout, in seconds
// (heat/common/config.py, stack_action_timeout).
const stackTimeout = 3600

// findLongWaits finds wait conditions whose timeout comes after that of the stack.
func findLongWaits(l *Look) {
	for b := range l.BlocksOf("OS::Heat::WaitCondition", "AWS::CloudFormation::WaitCondition", "OS::Heat::SwiftSignal") {
		n := cmp.Or(b.Get("timeout"), b.Get("Timeout"))
		if seconds, v, known := l.Number(n); known && seconds > stackTimeout {
			l.Found(n, when(fmt.Sprintf("this waits %d seconds, and Heat gives a stack %d, if nothing else is said", seconds, stackTimeout), v),
				fmt.Sprintf("make the stack with `--timeout %d` (minutes) or more", (seconds+59)/60))
		}
	}
}
