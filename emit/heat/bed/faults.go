package bed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// environment is that of a login as root.
var environment = []string{"HOME=/root", "LANG=C.UTF-8", "TERM=dumb",
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

// Command is a command to run in the server.
func (s *Server) Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	pid, err := s.first()
	if err != nil {
		return nil, err
	}
	enter := enterCommand(pid, args)
	cmd := exec.CommandContext(ctx, enter[0], enter[1:]...)
	cmd.Env = environment
	return cmd, nil
}

// enterCommand runs args in the namespaces of a process, at its root.
func enterCommand(pid int, args []string) []string {
	return append([]string{"nsenter", "-t", strconv.Itoa(pid), "-m", "-u", "-i", "-n", "-p", "-r", "-w", "--"}, args...)
}

// Exec runs a command in the server and returns its standard output.
func (s *Server) Exec(ctx context.Context, args ...string) (string, error) {
	cmd, err := s.Command(ctx, args...)
	if err != nil {
		return "", err
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s on %s: %w: %s", strings.Join(args, " "), s.Name, err, errs.String())
	}
	return out.String(), nil
}

// Read reads a file of the server.
func (s *Server) Read(name string) (string, error) {
	text, err := os.ReadFile(s.path(name))
	return string(text), err
}

// Write writes a file of the server.
func (s *Server) Write(name, text string) error { return writeFile(s.path(name), text, 0o644) }

// first is the id of the server's first process.
func (s *Server) first() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.init == nil {
		return 0, fmt.Errorf("server %s is off", s.Name)
	}
	return s.init.Process.Pid, nil
}

// process is one of a server's processes.
type process struct {
	pid   int
	state string   // the kernel's letter for it
	words []string // its command line
}

// processes are all of the server's except its first.
func (s *Server) processes() ([]process, error) {
	first, err := s.first()
	if err != nil {
		return nil, err
	}
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", first))
	if err != nil {
		return nil, err
	}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var list []process
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		if in, err := os.Readlink(folder + "/ns/pid"); err != nil || in != space || pid == first {
			continue
		}
		stat, err := os.ReadFile(folder + "/stat")
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		p := process{pid: pid, state: after[:1]}
		line, _ := os.ReadFile(folder + "/cmdline")
		p.words = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		p.words[0] = filepath.Base(p.words[0])
		if p.state != "Z" {
			list = append(list, p)
		}
	}
	return list, nil
}

// Kill sends a signal to each process whose command line begins with these words, starting with the
// program's base name, and returns how many there were.
func (s *Server) Kill(signal syscall.Signal, words ...string) (int, error) {
	list, err := s.processes()
	if err != nil {
		return 0, err
	}
	hit := 0
	for _, p := range list {
		if len(p.words) >= len(words) && slices.Equal(p.words[:len(words)], words) && syscall.Kill(p.pid, signal) == nil {
			hit++
		}
	}
	return hit, nil
}

// Pause stops every process of the server, as if its host hung.
func (s *Server) Pause() error {
	for {
		list, err := s.processes()
		if err != nil {
			return err
		}
		running := slices.DeleteFunc(list, func(p process) bool { return p.state == "T" })
		if len(running) == 0 {
			return nil
		}
		for _, p := range running {
			_ = syscall.Kill(p.pid, syscall.SIGSTOP)
		}
		time.Sleep(time.Millisecond) // they may have started others meanwhile
	}
}

// Resume continues a paused server.
func (s *Server) Resume() error {
	list, err := s.processes()
	for _, p := range list {
		_ = syscall.Kill(p.pid, syscall.SIGCONT)
	}
	return err
}

// Cut pulls the server's network cable.
func (s *Server) Cut() error { return setLink(s.place, false) }

// Restore ends a Cut.
func (s *Server) Restore() error { return setLink(s.place, true) }

// Rebuild builds a server again: another instance with the same name and user-data, an empty root
// and an address of its own. The old one is left as it is, like a host that Nova has given up and
// that may return.
func (b *Bed) Rebuild(old *Server, id, address string) (*Server, error) {
	return b.boot(order{ID: id, Name: old.Name, UserData: old.UserData, NICs: []nic{{Address: address + b.net.length}}})
}
