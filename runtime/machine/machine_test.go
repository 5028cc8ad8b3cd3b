package machine_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/machine"
)

// root makes a file system of some files.
func root(t *testing.T, files map[string]string) machine.Machine {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine.Machine{Root: folder, Interfaces: func() ([]machine.Interface, error) {
		return []machine.Interface{eth("eth0", true, "10.0.0.5")}, nil
	}}
}

func eth(name string, routed bool, addresses ...string) machine.Interface {
	i := machine.Interface{Name: name, Default: routed}
	for _, a := range addresses {
		i.Addresses = append(i.Addresses, netip.MustParseAddr(a))
	}
	return i
}

const (
	data = "run/cloud-init/instance-data.json"
	id   = "var/lib/cloud/data/instance-id"
)

func TestWhatCloudInitWroteDown(t *testing.T) {
	for name, c := range map[string]struct {
		files    map[string]string
		id, name string
	}{
		"OpenStack": {map[string]string{data: `{"v1":{"instance_id":"i-7","local_hostname":"db-1"},
			"ds":{"meta_data":{"uuid":"5e7-uuid","name":"DB 1"}}}`}, `"5e7-uuid"`, `"DB 1"`},
		"another cloud":    {map[string]string{data: `{"v1":{"instance_id":"i-7","local_hostname":"db-1"},"ds":{}}`}, `"i-7"`, `"db-1"`},
		"cloud-init 18":    {map[string]string{data: `{"v1":{"instance-id":"i-7","local-hostname":"db-1"}}`}, `"i-7"`, `"db-1"`},
		"only the id file": {map[string]string{id: "i-7\n"}, `"i-7"`, "!has not stored the server's name"},
		"nothing":          {nil, "!has not stored the instance's id", "!has not stored the server's name"},
		"empty":            {map[string]string{data: "{}", id: "\n"}, "!id: what it has stored is empty", "!no server name"},
		"damaged":          {map[string]string{data: `{"v1"`}, "!instance data", "!instance data"},
	} {
		t.Run(name, func(t *testing.T) {
			m := root(t, c.files)
			for fact, want := range map[contract.Fact]string{contract.FactID: c.id, contract.FactName: c.name, contract.FactFirstAddress: `"10.0.0.5"`,
				"colour": "!unknown fact"} {
				value, err := m.Fact(t.Context(), fact)
				if part, fails := strings.CutPrefix(want, "!"); fails {
					if err == nil || !strings.Contains(err.Error(), part) {
						t.Errorf("%s: %s, %v; want %q", fact, value, err, part)
					}
				} else if err != nil || string(value) != want {
					t.Errorf("%s is %s, %v; want %s", fact, value, err, want)
				}
			}
		})
	}
}

func TestTheFirstAddress(t *testing.T) {
	for name, c := range map[string]struct {
		interfaces []machine.Interface
		want       string
	}{
		"one network":                  {[]machine.Interface{eth("eth0", true, "10.0.0.5", "fe80::1", "2001:db8::5")}, "10.0.0.5"},
		"without a default route":      {[]machine.Interface{eth("eth0", false, "10.0.0.5")}, "10.0.0.5"},
		"IPv6 alone":                   {[]machine.Interface{eth("eth0", true, "fe80::1", "2001:db8::5")}, "2001:db8::5"},
		"a bridge of containers":       {[]machine.Interface{eth("docker0", false, "172.17.0.1"), eth("ens3", true, "10.0.0.5")}, "10.0.0.5"},
		"two networks":                 {[]machine.Interface{eth("eth0", true, "10.0.0.5"), eth("eth1", true, "10.1.0.5")}, "!several networks (interfaces eth0, eth1)"},
		"two networks without a route": {[]machine.Interface{eth("eth0", false, "10.0.0.5"), eth("eth1", false, "10.1.0.5")}, "!several networks"},
		"two addresses":                {[]machine.Interface{eth("eth0", true, "10.0.0.5", "10.0.0.6")}, "!several addresses"},
		"none":                         {[]machine.Interface{eth("eth0", true, "fe80::1")}, "!no network address"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := machine.FirstAddress(c.interfaces)
			if part, fails := strings.CutPrefix(c.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("got %s, %v", got, err)
				}
			} else if err != nil || got != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestThisMachineCanBeLookedAt(t *testing.T) {
	list, err := machine.Here().Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := machine.FirstAddress(list); err != nil && !errors.Is(err, machine.ErrNoAddress) &&
		!strings.Contains(err.Error(), "several") {
		t.Error(err)
	}
}

// A server with several networks has the addresses that Nova says or, where it leaves them to
// DHCP, those of the interface with the link's MAC address.
func TestAddressesOfSeveralNetworks(t *testing.T) {
	const told = `{"ds":{"network_json":{"links":[{"id":"tap1","ethernet_mac_address":"fa:16:3e:00:00:01"},{"id":"tap2","ethernet_mac_address":"FA:16:3E:00:00:02"},{"id":"tap3","ethernet_mac_address":"fa:16:3e:00:00:03"}],
		"networks":[{"link":"tap1","ip_address":"10.1.0.5"},{"link":"tap1","ip_address":"2001:db8::5"},{"link":"tap2","type":"ipv4_dhcp"}]}}}`
	interfaces := []machine.Interface{eth("eth0", true, "10.1.0.5"), eth("eth1", false, "fe80::1", "10.2.0.5")}
	interfaces[0].MAC, interfaces[1].MAC = "fa:16:3e:00:00:01", "fa:16:3e:00:00:02"
	for _, c := range []struct {
		network, number int
		data, want      string
	}{
		{0, 0, told, `"10.1.0.5"`},
		{0, 1, told, `"2001:db8::5"`},
		{1, 0, told, `"10.2.0.5"`},
		{0, 2, told, "!the server has 2 addresses on its network 0, but no address 2"},
		{3, 0, told, "!the server has 3 networks, but no network 3"},
		{0, 0, `{"ds":{}}`, "!the cloud does not provide the server's networks"},
		{0, 0, "", "!cloud-init has not stored"},
	} {
		files := map[string]string{}
		if c.data != "" {
			files[data] = c.data
		}
		m := root(t, files)
		m.Interfaces = func() ([]machine.Interface, error) { return interfaces, nil }
		value, err := m.Fact(t.Context(), contract.AddressFact(c.network, c.number))
		if part, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("address %d on network %d: %s, %v; want %q", c.number, c.network, value, err, part)
			}
		} else if err != nil || string(value) != c.want {
			t.Errorf("address %d on network %d is %s, %v; want %s", c.number, c.network, value, err, c.want)
		}
	}
}
