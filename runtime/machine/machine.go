// Package machine determines a server's own identity: its id and name in Nova, as stored
// by cloud-init, and its address.
package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Machine is a server as seen from within.
type Machine struct {
	// Root is the root of its file system: "/".
	Root string
	// Interfaces are its network interfaces.
	Interfaces func() ([]Interface, error)
}

// Here is the machine that this program runs on.
func Here() Machine {
	return Machine{Root: "/", Interfaces: func() ([]Interface, error) { return interfaces("/proc") }}
}

// instanceData is the relevant part of cloud-init's instance data. Newer versions have
// underscores instead of hyphens in keys.
type instanceData struct {
	V1 struct {
		InstanceID   string `json:"instance_id"`
		InstanceID18 string `json:"instance-id"`
		Hostname     string `json:"local_hostname"`
		Hostname18   string `json:"local-hostname"`
	} `json:"v1"`
	DS struct {
		MetaData struct {
			UUID string `json:"uuid"`
			Name string `json:"name"`
		} `json:"meta_data"`
		Network networkData `json:"network_json"`
	} `json:"ds"`
}

func (m Machine) instanceData() (instanceData, error) {
	var d instanceData
	text, err := os.ReadFile(filepath.Join(m.Root, "run/cloud-init/instance-data.json"))
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("cloud-init's instance data: %w", err)
	}
	return d, nil
}

// InstanceID is the server's id in Nova.
func (m Machine) InstanceID() (string, error) {
	d, err := m.instanceData()
	if id := cmp.Or(d.DS.MetaData.UUID, d.V1.InstanceID, d.V1.InstanceID18); id != "" {
		return id, nil
	}
	text, fileErr := os.ReadFile(filepath.Join(m.Root, "var/lib/cloud/data/instance-id"))
	if id := strings.TrimSpace(string(text)); id != "" {
		return id, nil
	}
	err = cmp.Or(errors.Join(err, fileErr), errors.New("what it has stored is empty"))
	return "", fmt.Errorf("cloud-init has not stored the instance's id: %w", err)
}

// Name is the server's name in Nova or, if the cloud does not provide it, the host name
// that it assigned.
func (m Machine) Name() (string, error) {
	d, err := m.instanceData()
	if err != nil {
		return "", fmt.Errorf("cloud-init has not stored the server's name: %w", err)
	}
	if name := cmp.Or(d.DS.MetaData.Name, d.V1.Hostname, d.V1.Hostname18); name != "" {
		return name, nil
	}
	return "", errors.New("cloud-init's instance data has no server name")
}

// Fact returns the value of one of the plan's facts.
func (m Machine) Fact(ctx context.Context, name contract.Fact) (json.RawMessage, error) {
	var value string
	var err error
	switch name {
	case contract.FactID:
		value, err = m.InstanceID()
	case contract.FactName:
		value, err = m.Name()
	case contract.FactFirstAddress:
		value, err = m.await(ctx, FirstAddress)
	default:
		network, number, ok := contract.ParseAddressFact(name)
		if !ok {
			return nil, errors.New("unknown fact")
		}
		value, err = m.await(ctx, func(list []Interface) (string, error) { return m.addressOn(list, network, number) })
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// The address may appear after the agent has started.
const (
	addressWithin = 30 * time.Second
	addressEvery  = time.Second
)

// await polls the interfaces until they have an address.
func (m Machine) await(ctx context.Context, look func([]Interface) (string, error)) (string, error) {
	deadline := time.Now().Add(addressWithin)
	for {
		list, err := m.Interfaces()
		if err != nil {
			return "", fmt.Errorf("read the network interfaces: %w", err)
		}
		address, err := look(list)
		if !errors.Is(err, ErrNoAddress) || time.Now().After(deadline) {
			return address, err
		}
		if err := store.Pause(ctx, addressEvery); err != nil {
			return "", err
		}
	}
}
