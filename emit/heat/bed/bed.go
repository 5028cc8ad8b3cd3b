// Package bed is a cloud on one machine, for tests and for trying a template without a cloud: stock
// Heat creates the stack, and its servers boot.
//
// A server is a network namespace on a private bridge, an overlay over the machine's own root that
// shows only the system, a host name of its own, a NoCloud seed with the user-data that Heat
// resolved, and the four stages of real cloud-init, run to the end. What a hypervisor adds is
// simulated; the rest is what a user's cloud does. Heat, its APIs and the stand-ins for what is
// beyond it are the oracle's (emit/heat/heattest); ZooKeeper is Debian's, each member in a
// namespace of its own.
//
// The whole bed, including the program that drives it, lives in namespaces that Enter creates:
// processes, network, mounts. So nothing has to be cleaned up. When the program ends, however it
// ends, the kernel kills what it started, and namespaces, links, mounts and the file systems in
// memory disappear with the last process. Nothing of the bed is ever visible outside, several beds
// do not interfere, and the machine's own network is neither used nor changed.
//
// A new fault is a method of Server (faults.go) or Ensemble (ensemble.go).
package bed

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// Paths of the bed in its own mount namespace, whose /run is in memory.
const (
	folder     = "/run/bed"
	serverDir  = folder + "/servers"
	baseDir    = folder + "/base"
	memberDir  = folder + "/zookeeper"
	socketFile = folder + "/hypervisor"
)

// Bed is the running cloud. Its methods may be used concurrently.
type Bed struct {
	// Oracle is stock Heat.
	Oracle *heattest.Oracle
	// FilesURL is where servers download Options.Files.
	FilesURL string

	net      addresses
	listener net.Listener
	files    net.Listener

	mu       sync.Mutex
	servers  []*Server
	members  int // of ZooKeeper, so far
	machines int // servers so far
}

// Options are how to create a bed.
type Options struct {
	// Files is a folder that servers can download from.
	Files string
	// IPv6 creates a bed without any IPv4 address.
	IPv6 bool
}

// New creates a bed in the namespaces of Enter.
func New(o Options) (*Bed, error) {
	if !inside() {
		return nil, errors.New("a bed is made in namespaces of its own: call bed.Enter first")
	}
	if err := os.Mkdir(serverDir, 0o755); err != nil {
		return nil, fmt.Errorf("one bed a process: %w", err)
	}
	if err := makeBase(); err != nil {
		return nil, fmt.Errorf("prepare the servers' base: %w", err)
	}
	b := &Bed{net: version4}
	if o.IPv6 {
		b.net = version6
	}
	if err := b.net.makeBridge(); err != nil {
		return nil, err
	}
	if err := b.serveFiles(o.Files); err != nil {
		return nil, err
	}
	if err := b.listen(); err != nil {
		return nil, err
	}
	j, err := heattest.NewAt(heattest.Site{Address: b.net.operator, Bed: socketFile, Network: b.net.network})
	if err != nil {
		return nil, err
	}
	b.Oracle = j
	return b, nil
}

func (b *Bed) serveFiles(folder string) error {
	l, err := net.Listen("tcp", net.JoinHostPort(b.net.operator, "0"))
	if err != nil {
		return fmt.Errorf("serve files: %w", err)
	}
	b.files, b.FilesURL = l, "http://"+l.Addr().String()
	if folder != "" {
		server := &http.Server{Handler: http.FileServer(http.Dir(folder))}
		go server.Serve(l) //nolint:errcheck // it ends with the bed
	}
	return nil
}

// Servers are the existing ones, in the order of their creation.
func (b *Bed) Servers() []*Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.servers)
}

// Server is the one with this id, or the only one whose name equals or contains this, as Heat's
// SITE-db-x4t2 contains db.
func (b *Bed) Server(name string) (*Server, error) {
	var found []*Server
	var known []string
	for _, s := range b.Servers() {
		if name == s.ID {
			return s, nil
		}
		if name == s.Name || name == s.HostName || strings.Contains("-"+s.Name+"-", "-"+name+"-") {
			found = append(found, s)
		}
		known = append(known, s.Name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(known) == 0:
		return nil, fmt.Errorf("there is no server %s, and no other", name)
	}
	return nil, fmt.Errorf("%d servers are called %s; there are %s", len(found), name, strings.Join(known, ", "))
}

// Remove powers a server off and forgets it, as Nova does when Heat deletes it.
func (b *Bed) Remove(s *Server) error { return b.delete(s) }

// Close powers everything off. A program that is about to end need not call it.
func (b *Bed) Close() error {
	for _, s := range b.Servers() {
		if err := b.delete(s); err != nil {
			return err
		}
	}
	b.listener.Close()
	b.files.Close()
	return b.Oracle.Close()
}
