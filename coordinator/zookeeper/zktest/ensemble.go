package zktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Cluster is an ensemble.
type Cluster struct{ Servers []*Server }

// Ensemble starts n servers that form an ensemble and end with the test.
func Ensemble(t testing.TB, n int, mode ...Mode) *Cluster {
	t.Helper()
	need(t)
	c := &Cluster{}
	members := ""
	ports := make([][]port, n)
	for i := range n {
		for range 3 {
			own, err := freePort()
			if err != nil {
				t.Fatal(err)
			}
			ports[i] = append(ports[i], own)
		}
		members += fmt.Sprintf("server.%d=127.0.0.1:%d:%d\n", i+1, ports[i][1].number, ports[i][2].number)
	}
	dir := t.TempDir()
	for i := range n {
		s, err := configure(filepath.Join(dir, strconv.Itoa(i+1)), ports[i][0].number, members)
		if err != nil {
			t.Fatal(err)
		}
		s.mode, s.ports = len(mode) > 0 && mode[0], ports[i]
		id := filepath.Join(s.dir, "data", "myid")
		if err := os.WriteFile(id, []byte(strconv.Itoa(i+1)+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := s.spawn(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		c.Servers = append(c.Servers, s)
	}
	for _, s := range c.Servers {
		if err := s.await(); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// URL names all of the servers.
func (c *Cluster) URL(root string) string {
	addrs := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		addrs[i] = s.Addr()
	}
	return "zk://" + strings.Join(addrs, ",") + "/" + strings.TrimPrefix(root, "/")
}

// Leader waits until one server leads, and returns it.
func (c *Cluster) Leader(t testing.TB) *Server {
	t.Helper()
	for end := time.Now().Add(startTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, s := range c.Servers {
			if s.process != nil && s.Mode() == "leader" {
				return s
			}
		}
	}
	t.Fatalf("the ensemble has no leader after %v", startTime)
	return nil
}
