package dial

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestProbe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	there, absent := listener.Addr().String(), "127.0.0.1:1"
	socket := filepath.Join(t.TempDir(), "s")
	for url, want := range map[string]string{
		"zk://" + there + "/hotc":                  "",
		"zk://" + absent + "," + there + "/hotc":   "",
		"zk://" + absent + "/hotc":                 "cannot reach zk://" + absent + ": connection refused; 127.0.0.1 is up, but nothing listens on port ",
		"zk://no-such-host.invalid:2181/hotc":      "cannot reach zk://no-such-host.invalid:2181: the name no-such-host.invalid cannot be resolved (",
		"unix://" + socket:                         "cannot reach unix://" + socket + ": no such file or directory; is the coordinator",
		"zk:///hotc":                               "has no host",
		"etcd://h/hotc":                            "",
		"zk://" + absent + ",nowhere.invalid/hotc": "\ncannot reach zk://nowhere.invalid:2181: ",
	} {
		err := Probe(t.Context(), url)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v\nwant %s", url, err, want)
		}
	}
}

func TestWhatAFailedConnectionMeans(t *testing.T) {
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	zk := endpoint{name: "zk://10.0.0.5:2181", network: "tcp", address: "10.0.0.5:2181"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{op(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "connection refused; 10.0.0.5 is up, but nothing listens on port 2181"},
		{op(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), "no route to host; does this server have a route"},
		{op(os.NewSyscallError("connect", syscall.ENETUNREACH)), "network is unreachable; does this server have a route"},
		{op(context.DeadlineExceeded), "no answer in 5s; do the security groups and firewalls allow port 2181"},
		{op(os.NewSyscallError("connect", syscall.EACCES)), "permission denied"},
	} {
		if got := explain(zk, c.err); !strings.Contains(got, c.want) {
			t.Errorf("%v: %s\nwant %s", c.err, got, c.want)
		}
	}
}
