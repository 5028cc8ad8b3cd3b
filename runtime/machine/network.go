package machine

import (
	"fmt"
	"net/netip"
	"strings"
)

// networkData is Nova's description of a server's networks (network_data.json), as stored by
// cloud-init. The links are in the order of the server's requested networks.
type networkData struct {
	Links []struct {
		ID  string `json:"id"`
		MAC string `json:"ethernet_mac_address"`
	} `json:"links"`
	Networks []struct {
		Link    string `json:"link"`
		Address string `json:"ip_address"` // none with DHCP
	} `json:"networks"`
}

// addressOn is a server's address on one of its networks, both counted from 0: from Nova or
// otherwise from the network's interface.
func (m Machine) addressOn(list []Interface, network, number int) (string, error) {
	d, err := m.instanceData()
	if err != nil {
		return "", fmt.Errorf("cloud-init has not stored the server's networks: %w", err)
	}
	links := d.DS.Network.Links
	if len(links) == 0 {
		return "", fmt.Errorf("the cloud does not provide the server's networks to it; let Heat provide the address to a role of another server")
	}
	if network >= len(links) {
		return "", fmt.Errorf("the server has %d networks, but no network %d", len(links), network)
	}
	var addresses []string
	for _, n := range d.DS.Network.Networks {
		if a, err := netip.ParseAddr(n.Address); err == nil && n.Link == links[network].ID {
			addresses = append(addresses, a.String())
		}
	}
	if len(addresses) == 0 {
		for _, i := range list {
			if strings.EqualFold(i.MAC, links[network].MAC) {
				for _, a := range i.usable() {
					addresses = append(addresses, a.String())
				}
			}
		}
	}
	if len(addresses) == 0 {
		return "", ErrNoAddress
	}
	if number >= len(addresses) {
		return "", fmt.Errorf("the server has %d addresses on its network %d, but no address %d", len(addresses), network, number)
	}
	return addresses[number], nil
}
