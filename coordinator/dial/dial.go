// Package dial connects to the coordinator at a URL. A back end is one line in backEnds.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
)

// backEnd opens the URLs of one scheme.
type backEnd struct {
	scheme string
	form   string // of a URL, for messages
	open   func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error)
	// endpoints are what Probe dials.
	endpoints func(url string) ([]endpoint, error)
	portable  func(url string, withClient bool) (string, error)
}

// backEnds are the known back ends.
var backEnds = []backEnd{
	{"zk", "zk://HOST:PORT[,HOST:PORT…]/ROOT", zookeeper.Open, zooKeepers, zookeeper.Portable},
	{"zk+tls", "zk+tls://HOST:PORT[,HOST:PORT…]/ROOT?ca=FILE", zookeeper.Open, zooKeepers, zookeeper.Portable},
	{"unix", "unix:///PATH", openSocket, socketOf, sameSocket},
}

// choose finds the back end of a URL. *store.URLError.
func choose(url string) (backEnd, error) {
	scheme, _, _ := strings.Cut(url, "://")
	var forms []string
	for _, b := range backEnds {
		if b.scheme == scheme {
			return b, nil
		}
		forms = append(forms, b.form)
	}
	return backEnd{}, &store.URLError{Err: fmt.Errorf("%q is not a coordinator URL: write %s",
		store.ShownURL(url), strings.Join(forms, " or "))}
}

// Open starts a session with the coordinator at a URL under some identities. It retries until the
// context ends; an error in the URL itself, or a file that it names, is a *store.URLError at
// once.
func Open(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
	b, err := choose(url)
	if err != nil {
		return nil, err
	}
	return b.open(ctx, url, creds...)
}

func openSocket(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
	path, err := socketPath(url)
	if err != nil {
		return nil, err
	}
	return memory.Dial(ctx, path, creds...)
}

func socketPath(url string) (string, error) {
	path := strings.TrimPrefix(url, "unix://")
	if !strings.HasPrefix(path, "/") {
		return "", &store.URLError{URL: url, Err: errors.New("a socket's URL is unix:// followed by an absolute path")}
	}
	return path, nil
}

func sameSocket(url string, _ bool) (string, error) {
	_, err := socketPath(url)
	return url, err
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
	path, err := socketPath(url)
	return []endpoint{{name: url, network: "unix", address: path}}, err
}

// Portable is a coordinator's URL for servers: it embeds those of this machine's files that they
// need. With withClient the client's certificate and key stay file names, of the servers' own
// files. *store.URLError.
func Portable(url string, withClient bool) (string, error) {
	b, err := choose(url)
	if err != nil {
		return "", err
	}
	return b.portable(url, withClient)
}
