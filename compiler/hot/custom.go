package hot

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/value"
)

// CustomConstraint says how a value violates a custom constraint; nil if it does not, or if
// only the cloud can decide.
func CustomConstraint(name string, v value.Value) error {
	if text, is := v.(string); is && customConstraints[name] != nil {
		return customConstraints[name](text)
	}
	return nil
}

// customConstraints are common constraints that need no cloud (heat/engine/constraint/common_constraints.py,
// neutron_lib/api/validators).
var customConstraints = map[string]func(string) error{
	"ip_addr":  address,
	"net_cidr": cidr,
	"ip_or_cidr": func(text string) error {
		if strings.Contains(text, "/") {
			return cidr(text)
		}
		return address(text)
	},
	"mac_addr": func(text string) error {
		if !macAddress.MatchString(text) {
			return fmt.Errorf("expected a MAC address such as fa:16:3e:00:00:01, not %q", text)
		}
		return nil
	},
	"dns_domain": func(text string) error {
		if text != "" && !strings.HasSuffix(text, ".") {
			return fmt.Errorf("expected a domain with a final dot, not %q", text)
		}
		return nil
	},
	"rel_dns_name": func(text string) error {
		if strings.HasSuffix(text, ".") {
			return fmt.Errorf("expected a relative name, without a final dot, not %q", text)
		}
		return nil
	},
}

// macAddress matches what netaddr accepts, and a little more.
var macAddress = regexp.MustCompile(`^[0-9a-fA-F]{1,12}([:.-][0-9a-fA-F]{1,6}){0,5}$`)

func address(text string) error {
	if a, err := netip.ParseAddr(text); err != nil || a.Zone() != "" {
		return fmt.Errorf("expected an IP address, not %q", text)
	}
	return nil
}

func cidr(text string) error {
	if _, err := netip.ParsePrefix(text); err != nil {
		return fmt.Errorf("expected a network such as 10.0.0.0/24, not %q", text)
	}
	return nil
}
