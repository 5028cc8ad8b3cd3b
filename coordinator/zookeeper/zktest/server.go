// Package zktest starts real ZooKeeper servers for tests: Debian's, as plain
// processes on free ports of the loopback interface, each with a data folder of
// its own. They can be stopped, killed, paused and started again on the same
// port with the same data, and a Proxy in front of one can cut connections and
// end sessions the way a network or the server would.
//
// A server dies with the process that started it, however that ends: the kernel kills it when its
// parent thread is gone (Pdeathsig), so that thread is kept. It does no fsync, as a test's data
// need not survive, and its Java compiles little, to start faster; AsInstalled leaves both as in
// Debian's server.
package zktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// SkipEnv names the environment variable that lets tests skip where ZooKeeper is
// not installed. Without it they fail.
const SkipEnv = "HOTC_SKIP_ZOOKEEPER"

// jars are where Debian's packages put them. Without a binding of slf4j ZooKeeper logs nothing.
var jars = []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}

// AsInstalled starts a server for measurements.
const AsInstalled Mode = true

// Mode is how a server is started: for tests, or AsInstalled.
type Mode bool

// Server is one ZooKeeper server.
type Server struct {
	mode   Mode
	dir    string
	config string
	port   int
	secure int      // a port for TLS, 0 for none
	ports  []port   // its own
	jars   []string // beside the usual ones

	process *os.Process
	exited  chan struct{} // closed when the process has ended
}

// Start starts a server that ends with the test.
func Start(t testing.TB, mode ...Mode) *Server {
	t.Helper()
	need(t)
	s, err := newServer(t.TempDir(), len(mode) > 0 && bool(mode[0]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// need ends the test where ZooKeeper is not installed.
func need(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT TESTED against ZooKeeper with -short")
	}
	err := installed()
	if err == nil {
		return
	}
	if os.Getenv(SkipEnv) != "" {
		t.Skipf("NOT TESTED against ZooKeeper, since %s is set: %v", SkipEnv, err)
	}
	t.Fatalf("%v\nInstall Debian's packages zookeeper, default-jre-headless and libslf4j-java, or set %s=1 to skip what needs them.", err, SkipEnv)
}

func installed() error {
	if _, err := exec.LookPath("java"); err != nil {
		return errors.New("no java on the PATH")
	}
	for _, jar := range jars {
		if _, err := os.Stat(jar); err != nil {
			return err
		}
	}
	return nil
}

// newServer starts a server of its own. Another process may take the port that was just found free;
// then it tries others.
func newServer(dir string, asInstalled bool) (*Server, error) {
	var last error
	for try := range 5 {
		own, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := configure(filepath.Join(dir, strconv.Itoa(try)), own.number, "")
		if err != nil {
			return nil, err
		}
		s.ports = []port{own}
		s.mode = Mode(asInstalled)
		if last = s.start(); last == nil {
			return s, nil
		}
	}
	return nil, last
}

// configure writes a server's configuration.
func configure(dir string, port int, ensemble string) (*Server, error) {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o777); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf(`tickTime=1000
initLimit=20
syncLimit=10
dataDir=%s
clientPortAddress=127.0.0.1
clientPort=%d
maxClientCnxns=0
minSessionTimeout=1000
maxSessionTimeout=60000
4lw.commands.whitelist=srvr
admin.enableServer=false
enforceQuota=true
%s`, data, port, ensemble)
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		return nil, err
	}
	return &Server{dir: dir, config: config, port: port}, nil
}

// Configure adds lines to a server's configuration, and starts it again.
func (s *Server) Configure(t testing.TB, lines ...string) {
	t.Helper()
	text, err := os.ReadFile(s.config)
	if err == nil {
		err = os.WriteFile(s.config, append(text, strings.Join(append([]string{""}, lines...), "\n")...), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s.Start(t)
}

// Start starts a stopped server again and waits until it serves.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) start() error {
	if err := s.spawn(); err != nil {
		return err
	}
	return s.await()
}

// spawn starts the process in a thread that lives as long as it does.
func (s *Server) spawn() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-Djava.net.preferIPv4Stack=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"}
	if s.mode != AsInstalled {
		args = append(args, "-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no")
	}
	args = append(args, "-cp", strings.Join(append(s.jars, jars...), ":"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", s.config)
	cmd := exec.Command("java", args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	exited := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process, s.exited = cmd.Process, exited
	return nil
}

// startTime is more than a server needs on a busy machine.
const startTime = 2 * time.Minute

// await waits until the server serves. It listens on its TLS port only after it answers on the
// plain one.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for s.Mode() == "" || !s.listensSecurely() {
		select {
		case <-tick.C:
		case <-s.exited:
			return fmt.Errorf("ZooKeeper ended at its start:\n%s", s.Log())
		case <-ctx.Done():
			return fmt.Errorf("ZooKeeper does not serve after %v:\n%s", startTime, s.Log())
		}
	}
	return nil
}

func (s *Server) listensSecurely() bool {
	if s.secure == 0 {
		return true
	}
	conn, err := net.DialTimeout("tcp", loopback(s.secure), time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// Mode is "standalone", "leader" or "follower", and empty while it does not serve.
func (s *Server) Mode() string { return s.fact("Mode") }

// Received is how many packets the server has got from clients. It asks until it has an answer.
func (s *Server) Received(t testing.TB) int {
	t.Helper()
	for end := time.Now().Add(startTime); time.Now().Before(end); {
		if n, err := strconv.Atoi(s.fact("Received")); err == nil {
			return n
		}
	}
	t.Fatalf("the server does not say what it has received within %v", startTime)
	return 0
}

func (s *Server) fact(name string) string { return Fact(s.Addr(), name) }

// Fact asks the server at an address for a line of its "srvr" command; "" where it does not serve.
func Fact(address, name string) string {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return ""
	}
	text, _ := io.ReadAll(conn)
	_, value, _ := strings.Cut(string(text), name+": ")
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// Addr is HOST:PORT.
func (s *Server) Addr() string { return loopback(s.port) }

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// URL is the coordinator's URL with a root.
func (s *Server) URL(root string) string {
	return "zk://" + s.Addr() + "/" + strings.TrimPrefix(root, "/")
}

// Dir is the folder of all that the server writes: its data and its log.
func (s *Server) Dir() string { return s.dir }

// Stop ends the server and waits until it has.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server as a power cut would.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

func (s *Server) end(signal syscall.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Signal(signal)
	<-s.exited
	s.process = nil
}

// Pause stops the server's threads; its connections stay.
func (s *Server) Pause() { _ = s.process.Signal(syscall.SIGSTOP) }

// Resume continues a paused server.
func (s *Server) Resume() { _ = s.process.Signal(syscall.SIGCONT) }

// Log is what the server has printed.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// The ports that servers listen on are below those that the kernel assigns to outgoing connections
// (Linux: from 32768), so that none of these takes one while its server starts, or restarts.
const leastPort, mostPort = 12000, 32000

// port is one that was free, and is reserved against other tests' processes while this is
// referenced: they would need it for UDP, too.
type port struct {
	number int
	held   net.PacketConn
}

func freePort() (port, error) {
	var last error
	for range 1000 {
		number := leastPort + rand.N(mostPort-leastPort)
		held, err := net.ListenPacket("udp", loopback(number))
		if err != nil {
			last = err
			continue
		}
		l, err := net.Listen("tcp", loopback(number))
		if err == nil {
			return port{number, held}, l.Close()
		}
		last = err
		held.Close()
	}
	return port{}, fmt.Errorf("find a free port: %w", last)
}
