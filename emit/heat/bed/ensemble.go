package bed

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// jars are Debian's ZooKeeper and its logging.
var jars = []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}

// Ensemble is a ZooKeeper of one or several servers, each with a network namespace and an address
// of its own.
type Ensemble struct{ Members []*Member }

// Member is a server of an ensemble.
type Member struct {
	Address string
	place   string
	dir     string

	mu      sync.Mutex
	process *exec.Cmd // nil while it is stopped
	ended   chan struct{}
}

const clientPort = "2181"

// startTime is more than ZooKeeper needs on a busy machine.
const startTime = 2 * time.Minute

// ZooKeeper starts an ensemble and waits until it serves.
func (b *Bed) ZooKeeper(size int) (*Ensemble, error) {
	e := &Ensemble{}
	b.mu.Lock()
	first := b.members + 1
	b.members += size
	b.mu.Unlock()
	list := ""
	for i := range size {
		number := strconv.Itoa(first + i)
		m := &Member{Address: b.net.members + number, place: "zookeeper" + number, dir: filepath.Join(memberDir, number)}
		if err := b.net.addPlace(m.place, []nic{{Address: m.Address + b.net.length}}); err != nil {
			return nil, err
		}
		e.Members = append(e.Members, m)
		if size > 1 {
			list += fmt.Sprintf("server.%d=%s:3888\n", i+1, net.JoinHostPort(m.Address, "2888"))
		}
	}
	for i, m := range e.Members {
		if err := m.configure(i+1, list); err != nil {
			return nil, err
		}
		if err := m.Start(); err != nil {
			return nil, err
		}
	}
	for _, m := range e.Members {
		if err := m.Await(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// diskSize is that of a member's own disk, which tests can therefore fill. Each page of the docs has a
// ROOT of its own, and in it an agent of 5 MB; with 64 MB the last of 15 pages stopped the ensemble.
const diskSize = "256m"

// configure creates a member's disk, and writes its configuration. No fsync: the disk is memory.
func (m *Member) configure(id int, list string) error {
	if err := os.MkdirAll(m.data(), 0o755); err != nil {
		return err
	}
	if err := unix.Mount("zookeeper", m.data(), "tmpfs", 0, "mode=755,size="+diskSize); err != nil {
		return fmt.Errorf("mount the disk of ZooKeeper at %s: %w", m.Address, err)
	}
	text := fmt.Sprintf(`tickTime=1000
initLimit=20
syncLimit=10
dataDir=%s
clientPortAddress=%s
clientPort=%s
maxClientCnxns=0
minSessionTimeout=1000
maxSessionTimeout=60000
4lw.commands.whitelist=srvr
admin.enableServer=false
%s`, m.data(), m.Address, clientPort, list)
	if err := writeFile(filepath.Join(m.dir, "zoo.cfg"), text, 0o644); err != nil {
		return err
	}
	return writeFile(filepath.Join(m.data(), "myid"), strconv.Itoa(id)+"\n", 0o644)
}

// Wipe deletes all that a stopped member has stored.
func (m *Member) Wipe() error {
	stored, err := os.ReadDir(m.data())
	for _, entry := range stored {
		if entry.Name() != "myid" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(m.data(), entry.Name())))
		}
	}
	return err
}

// Start starts a stopped member with its data, and does not wait.
func (m *Member) Start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil && !m.hasEnded() {
		return fmt.Errorf("ZooKeeper at %s is running", m.Address)
	}
	log, err := os.OpenFile(m.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("java", "-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no",
		"-Djava.net.preferIPv4Stack="+strconv.FormatBool(!strings.Contains(m.Address, ":")), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", strings.Join(jars, ":"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(m.dir, "zoo.cfg"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.dir, log, log
	if err := startIn(m.place, cmd); err != nil {
		return fmt.Errorf("start ZooKeeper: %w", err)
	}
	ended := make(chan struct{})
	m.process, m.ended = cmd, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return nil
}

// Await waits until the member serves.
func (m *Member) Await() error {
	for end := time.Now().Add(startTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if m.Mode() != "" {
			return nil
		}
		select {
		case <-m.ended:
			return fmt.Errorf("ZooKeeper at %s ended at its start:\n%s", m.Address, m.Log())
		default:
		}
	}
	return fmt.Errorf("ZooKeeper at %s does not serve after %v:\n%s", m.Address, startTime, m.Log())
}

// Stop ends a member in order.
func (m *Member) Stop() error { return m.end(syscall.SIGTERM) }

// Kill ends a member as a power cut would.
func (m *Member) Kill() error { return m.end(syscall.SIGKILL) }

func (m *Member) end(signal syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return nil
	}
	err := m.process.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-m.ended
	m.process = nil
	return err
}

func (m *Member) hasEnded() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// Ended reports whether the member does not run, even by its own choice.
func (m *Member) Ended() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process == nil || m.hasEnded()
}

// FillDisk leaves no room on the member's disk.
func (m *Member) FillDisk() error { return fill(m.filler()) }

// FreeDisk ends a FillDisk.
func (m *Member) FreeDisk() error { return os.Remove(m.filler()) }

func (m *Member) filler() string { return filepath.Join(m.data(), "filler") }

func (m *Member) data() string { return filepath.Join(m.dir, "data") }

// Cut pulls the member's network cable.
func (m *Member) Cut() error { return setLink(m.place, false) }

// Restore ends a Cut.
func (m *Member) Restore() error { return setLink(m.place, true) }

// Mode is "standalone", "leader" or "follower", and empty while it does not serve.
func (m *Member) Mode() string {
	return zktest.Fact(net.JoinHostPort(m.Address, clientPort), "Mode")
}

// Log is what the member has printed.
func (m *Member) Log() string {
	text, err := os.ReadFile(m.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (m *Member) logFile() string { return filepath.Join(m.dir, "log") }

// Leader waits until a member leads, and returns it.
func (e *Ensemble) Leader() (*Member, error) {
	for end := time.Now().Add(startTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, m := range e.Members {
			if mode := m.Mode(); mode == "leader" || mode == "standalone" {
				return m, nil
			}
		}
	}
	return nil, errors.New("the ensemble has no leader")
}

// Close ends all members.
func (e *Ensemble) Close() error {
	var errs []error
	for _, m := range e.Members {
		errs = append(errs, m.Kill(), removePlace(m.place), unix.Unmount(m.data(), unix.MNT_DETACH))
	}
	return errors.Join(errs...)
}

// URL is the coordinator's URL with a root.
func (e *Ensemble) URL(root string) string {
	addresses := make([]string, len(e.Members))
	for i, m := range e.Members {
		addresses[i] = net.JoinHostPort(m.Address, clientPort)
	}
	return "zk://" + strings.Join(addresses, ",") + "/" + root
}
