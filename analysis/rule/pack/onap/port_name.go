package onap

import (
	"fmt"
	"regexp"

	"github.com/hotc-dev/hotc/analysis/rule"
)

var portName = regexp.MustCompile(`^([A-Za-z0-9_]+?)_(\d+)_(int_)?[A-Za-z0-9_]+_port_\d+$`)

// findPortNames is R-20453 and, for internal networks, R-26351, for ports of the template's
// servers.
func findPortNames(l *rule.Checker) {
	for _, s := range servers(l) {
		for _, port := range s.ports(l) {
			if !portName.MatchString(port.Name) {
				l.Report(port.Entry.Key, fmt.Sprintf("ONAP requires a server's port to be named {vm-type}_{vm-type_index}_{network-role}_port_{port-index}, not %q (R-20453)", port.Name),
					"name it {vm-type}_{vm-type_index}_int_{network-role}_port_{port-index} on an internal network (R-26351)")
			}
		}
	}
}
