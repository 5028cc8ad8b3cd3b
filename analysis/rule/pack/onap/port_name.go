package onap

import (
	"fmt"
	"regexp"

	"github.com/hotc-dev/hotc/analysis/rule"
)

var portName = regexp.MustCompile(`^([A-Za-z0-9_]+?)_(\d+)_(int_)?[A-Za-z0-9_]+_port_\d+$`)

// findPortNames is R-20453 and, for internal networks, R-26351: of ports that servers of the
// template have.
func findPortNames(l *rule.Look) {
	for _, s := range servers(l) {
		for _, port := range s.ports(l) {
			if !portName.MatchString(port.Name) {
				l.Found(port.Entry.Key, fmt.Sprintf("ONAP wants a server's port called {vm-type}_{vm-type_index}_{network-role}_port_{port-index}, not %q (R-20453)", port.Name),
					"on an internal network {vm-type}_{vm-type_index}_int_{network-role}_port_{port-index} (R-26351)")
			}
		}
	}
}
