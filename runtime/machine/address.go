package machine

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Interface is a network interface that is up, except the loopback.
type Interface struct {
	Name string
	MAC  string
	// Default is set if it has a default route.
	Default   bool
	Addresses []netip.Addr
}

// ErrNoAddress reports that the server has no address yet.
var ErrNoAddress = errors.New("the server has no network address")

// FirstAddress is the address of a server with one network: of the one interface with
// the default route or, without such a route, of the one with an address; IPv4 before
// IPv6. If there are several, the agent does not guess which one Heat means.
func FirstAddress(list []Interface) (string, error) {
	candidates := slices.DeleteFunc(slices.Clone(list), func(i Interface) bool { return len(i.usable()) == 0 })
	if routed := slices.DeleteFunc(slices.Clone(candidates), func(i Interface) bool { return !i.Default }); len(routed) > 0 {
		candidates = routed
	}
	switch {
	case len(candidates) == 0:
		return "", ErrNoAddress
	case len(candidates) > 1:
		var names []string
		for _, i := range candidates {
			names = append(names, i.Name)
		}
		return "", fmt.Errorf("the server has several networks (interfaces %s), so that its first address is ambiguous; "+
			"let Heat provide it (bind: deploy on the input)", strings.Join(names, ", "))
	}
	addresses := candidates[0].usable()
	if len(addresses) > 1 {
		return "", fmt.Errorf("interface %s has several addresses (%v), so that the first one is ambiguous; "+
			"let Heat provide it (bind: deploy on the input)", candidates[0].Name, addresses)
	}
	return addresses[0].String(), nil
}

// usable returns the interface's IPv4 addresses or, if there are none, its IPv6 addresses
// beyond link scope.
func (i Interface) usable() []netip.Addr {
	var four, six []netip.Addr
	for _, a := range i.Addresses {
		switch a = a.Unmap(); {
		case a.IsLinkLocalUnicast() || a.IsLoopback() || a.IsMulticast():
		case a.Is4():
			four = append(four, a)
		default:
			six = append(six, a.WithZone(""))
		}
	}
	if len(four) > 0 {
		return four
	}
	return six
}

func interfaces(proc string) ([]Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	routed := defaultRoutes(proc)
	var list []Interface
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		one := Interface{Name: i.Name, MAC: i.HardwareAddr.String(), Default: routed[i.Name]}
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				one.Addresses = append(one.Addresses, prefix.Addr())
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// defaultRoutes returns the interfaces with a default route: destination 0, mask 0; for
// IPv6 prefix length 0, except the unreachable route of the loopback.
func defaultRoutes(proc string) map[string]bool {
	found := map[string]bool{}
	four, _ := os.ReadFile(filepath.Join(proc, "net/route"))
	for line := range bytes.Lines(four) {
		f := strings.Fields(string(line))
		if len(f) >= 8 && f[1] == "00000000" && f[7] == "00000000" {
			found[f[0]] = true
		}
	}
	six, _ := os.ReadFile(filepath.Join(proc, "net/ipv6_route"))
	for line := range bytes.Lines(six) {
		f := strings.Fields(string(line))
		if len(f) >= 10 && strings.Trim(f[0], "0") == "" && f[1] == "00" && f[9] != "lo" {
			found[f[9]] = true
		}
	}
	return found
}
