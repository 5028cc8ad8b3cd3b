//go:build e2e

package bed_test

import (
	"os"
	"strings"
	"testing"
)

// version6Variable makes the bed of this program one without IPv4.
const version6Variable = "HOTC_BED_IPV6"

// Everything works where there is no IPv4 at all: ZooKeeper's members among
// themselves, downloads, signals, addresses as values.
func TestIPv6Only(t *testing.T) {
	t.Parallel()
	out, err := another(t, "TestWithoutIPv4", version6Variable).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestWithoutIPv4") {
		t.Errorf("in a bed without IPv4: %v\n%s", err, out)
	}
}

func TestWithoutIPv4(t *testing.T) {
	if os.Getenv(version6Variable) == "" {
		t.Skip("is started by TestIPv6Only")
	}
	d := newWorld(t, "testdata/anew.yaml", ensemble(t, 3)).deploy("six")
	db, web := d.server("db"), d.server("web")
	open(t, web, "")
	d.stack.Complete(t)
	if !strings.Contains(db.Address, ":") {
		t.Errorf("the address of db is %s", db.Address)
	}
	expectFile(t, web, "var/lib/value", db.Address)
	if got := inServer(t, web, "ip", "-4", "address", "show", "dev", "eth0"); got != "" {
		t.Errorf("web has an address of IPv4:\n%s", got)
	}
	db.Off()
	do(t, db.On())
	d.rebooted("db", db, 2)
}
