package bed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Server is a machine in the bed.
type Server struct {
	ID       string // Nova's
	Name     string // Nova's
	HostName string
	Address  string // the first one
	UserData string

	place string // its network namespace
	dir   string
	root  string
	order order

	mu    sync.Mutex
	init  *exec.Cmd     // its first process; nil while it is off
	ended chan struct{} // closed when that has ended
}

// order is a request of Nova's.
type order struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	NICs     []nic             `json:"nics"`
	UserData string            `json:"user_data"`
	Metadata map[string]string `json:"metadata"`
}

var notInHostName = regexp.MustCompile(`[^a-z0-9-]+`)

// hostName is Nova's host name for a server's name.
func hostName(name string) string {
	name = strings.Trim(notInHostName.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if len(name) > 63 {
		name = name[:63]
	}
	if name == "" {
		return "server"
	}
	return name
}

// boot creates a server and powers it on.
func (b *Bed) boot(o order) (*Server, error) {
	b.mu.Lock()
	b.machines++
	number := strconv.Itoa(b.machines)
	b.mu.Unlock()
	s := &Server{ID: o.ID, Name: o.Name, HostName: hostName(o.Name), UserData: o.UserData, order: o,
		place: "server" + number, dir: filepath.Join(serverDir, number)}
	if len(o.NICs) > 0 {
		s.Address, _, _ = strings.Cut(o.NICs[0].Address, "/")
	}
	if err := b.net.addPlace(s.place, o.NICs); err != nil {
		return nil, err
	}
	if err := s.disk(b.net.operator); err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.servers = append(b.servers, s)
	b.mu.Unlock()
	return s, s.On()
}

// disk gives the server an empty disk.
func (s *Server) disk(operator string) (err error) {
	if s.root, err = mountRoot(s.dir); err != nil {
		return err
	}
	return s.seed(s.order, operator)
}

// wipe is what Nova does to rebuild a server: it boots from an empty disk.
func (b *Bed) wipe(s *Server) error {
	if err := s.Off(); err != nil {
		return err
	}
	if err := s.noDisk(); err != nil {
		return err
	}
	if err := s.disk(b.net.operator); err != nil {
		return err
	}
	return s.On()
}

// move is what Nova does to evacuate a server: it boots from an empty disk on another host, and the
// old one, which may still run, is cut off.
func (b *Bed) move(s *Server) error {
	if err := s.Cut(); err != nil {
		return err
	}
	b.forget(s)
	_, err := b.boot(s.order)
	return err
}

// seed writes what distinguishes this machine.
func (s *Server) seed(o order, operator string) error {
	about := map[string]any{"instance-id": o.ID, "local-hostname": s.HostName}
	if !strings.Contains(s.Address, ":") {
		about["local-ipv4"] = s.Address
	}
	for key, value := range o.Metadata {
		about[key] = value
	}
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	hosts := "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 " + s.HostName + "\n" + operator + " operator\n"
	for name, text := range map[string]string{
		"etc/hostname": s.HostName + "\n", "etc/hosts": hosts,
		"etc/machine-id":                         strings.ReplaceAll(o.ID, "-", "") + "\n",
		"var/lib/cloud/seed/nocloud/meta-data":   string(text),
		"var/lib/cloud/seed/nocloud/user-data":   o.UserData,
		"var/lib/cloud/seed/nocloud/vendor-data": "",
	} {
		if err := writeFile(filepath.Join(s.root, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// On powers the server on: the next boot of cloud-init on the same root. It
// returns when the server has begun to boot.
func (s *Server) On() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.init != nil {
		return fmt.Errorf("server %s is on", s.Name)
	}
	if err := os.Remove(s.path(stateDir + "/booted")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	console, err := os.OpenFile(filepath.Join(s.dir, "console"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer console.Close()
	cmd := exec.Command("/bin/sh", "/"+stateDir+"/init")
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = []string{}, "/", console, console
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: s.root, Setsid: true,
		Cloneflags:   unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
		Unshareflags: unix.CLONE_NEWNS,
	}
	if err := startIn(s.place, cmd); err != nil {
		return fmt.Errorf("power server %s on: %w", s.Name, err)
	}
	ended := make(chan struct{})
	s.init, s.ended = cmd, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return nil
}

// Off cuts the server's power: when it returns, all its processes are gone.
func (s *Server) Off() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.init == nil {
		return nil
	}
	err := s.init.Process.Kill() // the first process takes all others with it
	<-s.ended
	s.init = nil
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Reboot is Off and On.
func (s *Server) Reboot() error {
	if err := s.Off(); err != nil {
		return err
	}
	return s.On()
}

// delete is what Nova does to a server that Heat no longer wants.
func (b *Bed) delete(s *Server) error {
	b.forget(s)
	if err := s.Off(); err != nil {
		return err
	}
	if err := removePlace(s.place); err != nil {
		return err
	}
	return s.noDisk()
}

func (b *Bed) forget(s *Server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers = slices.DeleteFunc(slices.Clone(b.servers), func(known *Server) bool { return known == s })
}

func (s *Server) noDisk() error {
	if err := unix.Unmount(s.root, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the root of server %s: %w", s.Name, err)
	}
	return os.RemoveAll(s.dir)
}

// path is the path of a server's file outside it.
func (s *Server) path(name string) string { return filepath.Join(s.root, name) }

// Booted reports whether cloud-init has finished in this boot.
func (s *Server) Booted() bool {
	_, err := os.Stat(s.path(stateDir + "/booted"))
	return err == nil
}

// Boots is how often the server has begun to boot.
func (s *Server) Boots() int {
	text, _ := os.ReadFile(s.path(stateDir + "/boots"))
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}
