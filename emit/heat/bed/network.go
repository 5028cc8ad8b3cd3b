package bed

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// The bed's network. Everything is on one bridge: the operator's place with Heat, the files and the
// commands, members of ZooKeeper, and servers, with whatever addresses their template assigns.
// Nothing leads out of it.
const bridge = "bed"

// addresses are those of a bed, all of one IP version.
type addresses struct {
	network  string // of servers without a subnet
	length   string // of its prefix
	operator string
	members  string // ZooKeeper's, without the number; Heat's own begin at the network's other end
	// private are the networks that a template's subnets may use. They are reached directly, as all
	// servers are on the one bridge.
	private []string
}

var (
	version4 = addresses{network: "10.77.0.0/16", length: "/16", operator: "10.77.0.1", members: "10.77.255.",
		private: []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "203.0.113.0/24"}}
	version6 = addresses{network: "fd77::/64", length: "/64", operator: "fd77::1", members: "fd77::ff:0:",
		private: []string{"fc00::/7", "2001:db8::/32"}}
)

// on is the argument of ip that adds an address to a link. An IPv6 address is used at once: no
// other link can have it.
func on(address, link string) string {
	if strings.Contains(address, ":") {
		return "addr add " + address + " dev " + link + " nodad"
	}
	return "addr add " + address + " dev " + link
}

func run(name string, args ...string) error { return runWith("", name, args...) }

func runWith(input, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// ip runs lines of the ip program in a namespace, "" for our own.
func ip(place string, lines ...string) error {
	args := []string{"-batch", "-"}
	if place != "" {
		args = append([]string{"-n", place}, args...)
	}
	return runWith(strings.Join(lines, "\n")+"\n", "ip", args...)
}

func (a addresses) makeBridge() error {
	// an address of its own: otherwise the bridge takes a port's, and changes it when that is
	// removed
	lines := []string{"link set lo up", "link add name " + bridge + " address 02:00:00:00:00:01 type bridge forward_delay 0",
		on(a.operator+a.length, bridge), "link set " + bridge + " up"}
	for _, net := range a.private {
		lines = append(lines, "route add "+net+" dev "+bridge+" src "+a.operator)
	}
	return ip("", lines...)
}

// nic is a server's address with its prefix length, and the interface's hardware address, if fixed.
type nic struct {
	Address string `json:"address"`
	MAC     string `json:"mac"`
}

// addPlace creates a network namespace whose eth0, with all the addresses, is on the bridge.
func (a addresses) addPlace(name string, nics []nic) error {
	if err := run("ip", "netns", "add", name); err != nil {
		return err
	}
	if err := ip("", "link add name "+name+" type veth peer name eth0 netns "+name, "link set "+name+" master "+bridge+" up"); err != nil {
		return err
	}
	lines := []string{"link set lo up"}
	if len(nics) > 0 && nics[0].MAC != "" {
		lines = append(lines, "link set eth0 address "+nics[0].MAC)
	}
	for _, n := range nics {
		lines = append(lines, on(n.Address, "eth0"))
	}
	lines = append(lines, "link set eth0 up")
	if len(nics) > 0 {
		own, _, _ := strings.Cut(nics[0].Address, "/")
		for _, net := range a.private {
			lines = append(lines, "route add "+net+" dev eth0 src "+own)
		}
	}
	return ip(name, lines...)
}

// Silence cuts a port of the operator's place off from all servers, or reconnects it. The operator
// itself reaches it.
func (b *Bed) Silence(port string, silent bool) error {
	what := "add"
	if !silent {
		what = "del"
	}
	return ip("", "rule "+what+" from "+b.net.operator+" to "+b.net.network+" ipproto tcp sport "+port+" pref 10 blackhole")
}

// wiring is what the kernel knows of a place's link and neighbours.
func wiring(name string) string {
	outside, _ := exec.Command("ip", "-s", "link", "show", name).CombinedOutput()
	inside, _ := exec.Command("ip", "-n", name, "neigh").CombinedOutput()
	ours, _ := exec.Command("ip", "neigh", "show", "dev", bridge).CombinedOutput()
	return fmt.Sprintf("%s\nneighbours:\n%s\nthe operator's neighbours:\n%s", outside, inside, ours)
}

func removePlace(name string) error { return run("ip", "netns", "del", name) }

// setLink pulls a place's cable at the other end, or plugs it in again.
func setLink(name string, up bool) error {
	if up {
		return ip("", "link set "+name+" up")
	}
	return ip("", "link set "+name+" down")
}

// startIn starts a command in a place. Only the thread that does so changes its network namespace,
// and changes it back.
func startIn(place string, cmd *exec.Cmd) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	there, err := os.Open("/run/netns/" + place)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter the network of %s: %w", place, err)
	}
	started := cmd.Start()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("leave the network of %s: %w", place, err) // the thread stays locked: unused
	}
	runtime.UnlockOSThread()
	return started
}
