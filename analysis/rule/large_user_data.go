package rule

import (
	"encoding/base64"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
)

var largeUserData = Rule{Code: source.LargeUserData, Category: UserData, Severity: source.Warning, Evidence: CreationFails, LintOnly: true, Template: findLargeUserData}

// Nova refuses more user_data than maxUserData, in base64. wrapping is what Heat adds
// before that, by format (heat/engine/clients/os/nova.py, build_userdata).
const maxUserData = 65535

var wrapping = map[string]int{"HEAT_CFNTOOLS": 8100, "SOFTWARE_CONFIG": 3200, "RAW": 0}

// findLargeUserData skips texts with replacements: their final size is unknown.
func findLargeUserData(l *Checker) {
	for _, t := range l.BootTexts() {
		if t.server == nil || !t.whole || t.format == "" || t.part {
			continue
		}
		if n := base64.StdEncoding.EncodedLen(len(t.text) + wrapping[t.format]); n > maxUserData {
			l.Report(t.node, fmt.Sprintf("this user_data has %d bytes after Heat wraps it for the format %s and encodes it in base64; Nova accepts %d", n, t.format, maxUserData),
				"fetch the large part from elsewhere when the server boots, or pass it in a software deployment")
		}
	}
}
