// Package dial opens the coordinator that a URL names. A back end is one line in
// backEnds.
package dial

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
)

// backEnd opens the URLs of one scheme.
type backEnd struct {
	scheme string
	form   string // of a URL, for people
	open   func(ctx context.Context, url string, creds ...coordinator.Credential) (coordinator.Store, error)
	// endpoints are what Probe dials; nil is nothing.
	endpoints func(url string) ([]endpoint, error)
}

// backEnds are the known ones.
var backEnds = []backEnd{
	{"zk", "zk://HOST:PORT[,HOST:PORT…]/ROOT", zookeeper.Open, zooKeepers},
	{"zk+tls", "zk+tls://HOST:PORT[,HOST:PORT…]/ROOT?ca=FILE", zookeeper.Open, zooKeepers},
	{"unix", "unix:///PATH", openSocket, socketOf},
}

// Open starts a session with the coordinator at a URL under some identities. It
// tries until the context ends.
func Open(ctx context.Context, url string, creds ...coordinator.Credential) (coordinator.Store, error) {
	scheme, _, _ := strings.Cut(url, "://")
	var forms []string
	for _, b := range backEnds {
		if b.scheme == scheme {
			return b.open(ctx, url, creds...)
		}
		if b.form != "" {
			forms = append(forms, b.form)
		}
	}
	return nil, fmt.Errorf("%q names no coordinator that hotc knows: write %s", url, strings.Join(forms, " or "))
}

func openSocket(ctx context.Context, url string, creds ...coordinator.Credential) (coordinator.Store, error) {
	path := strings.TrimPrefix(url, "unix://")
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("%s: a socket's URL is unix:// and an absolute path", url)
	}
	s, err := memory.Dial(ctx, path, creds...)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", url, err)
	}
	return s, nil
}

func zooKeepers(url string) ([]endpoint, error) {
	hosts, err := zookeeper.Hosts(url)
	scheme, _, _ := strings.Cut(url, "://")
	var places []endpoint
	for _, host := range hosts {
		places = append(places, endpoint{name: scheme + "://" + host, network: "tcp", address: host,
			talk: func(ctx context.Context, conn net.Conn) error { return zookeeper.Secure(ctx, url, conn, host) }})
	}
	return places, err
}

func socketOf(url string) ([]endpoint, error) {
	return []endpoint{{name: url, network: "unix", address: strings.TrimPrefix(url, "unix://")}}, nil
}

// Portable is a coordinator's URL for servers: what it names of this machine's files
// is in it, as far as they need it. With withClient the client's certificate and key stay
// names of files, which are the servers' own.
func Portable(url string, withClient bool) (string, error) {
	if !strings.HasPrefix(url, "zk+tls://") {
		return url, nil
	}
	return zookeeper.Portable(url, withClient)
}
