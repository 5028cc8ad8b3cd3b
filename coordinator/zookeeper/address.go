package zookeeper

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// address is a parsed URL.
type address struct {
	hosts    []string // HOST:PORT each
	root     string   // "/hotc"
	security *security
}

const (
	scheme         = "zk://"
	tlsScheme      = "zk+tls://"
	defaultPort    = "2181"
	defaultTLSPort = "2281"
)

// parse reads zk://HOST[:PORT][,HOST[:PORT]…]/ROOT, or zk+tls:// and the same with
// parameters after it (parseSecurity). It is not an RFC 3986 URL, since that has one host.
// *store.URLError says which part is wrong.
func parse(url string) (address, error) {
	a, err := parseParts(url)
	if err != nil {
		return address{}, &store.URLError{URL: url, Err: err}
	}
	return a, nil
}

func parseParts(url string) (a address, err error) {
	place, query, asked := strings.Cut(url, "?")
	port := defaultPort
	rest, clear := strings.CutPrefix(place, scheme)
	switch {
	case clear && asked:
		return a, errors.New("the parameters after ? are for TLS: use zk+tls:// instead of zk://")
	case clear:
	case strings.HasPrefix(place, tlsScheme):
		rest, port = strings.TrimPrefix(place, tlsScheme), defaultTLSPort
		if a.security, err = parseSecurity(query); err != nil {
			return a, err
		}
	default:
		return a, errors.New("a ZooKeeper URL is zk://HOST:PORT[,HOST:PORT…]/ROOT, or zk+tls://…")
	}
	if strings.Contains(rest, "@") {
		return a, errors.New("a ZooKeeper URL has no user and no password: it starts with a host")
	}
	hosts, root, _ := strings.Cut(rest, "/")
	for host := range strings.SplitSeq(hosts, ",") {
		hostPort, err := parseHost(host, port)
		if err != nil {
			return a, err
		}
		a.hosts = append(a.hosts, hostPort)
	}
	a.root = "/" + root
	return a, checkRoot(root)
}

// Hosts are the addresses in a URL, HOST:PORT each.
func Hosts(url string) ([]string, error) {
	a, err := parse(url)
	return a.hosts, err
}

func parseHost(text, port string) (string, error) {
	host := text
	bare := strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]")
	if bare {
		host = text[1 : len(text)-1]
	} else if strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("%q is not HOST:PORT (put an IPv6 address in brackets)", text)
		}
	}
	if bare || strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil {
			return "", fmt.Errorf("%q is not an IPv6 address", host)
		}
	}
	if host == "" || strings.ContainsAny(host, "#/ ") {
		return "", fmt.Errorf("%q has no host", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("%q has no port from 1 to 65535", text)
	}
	return net.JoinHostPort(host, port), nil
}

func checkRoot(root string) error {
	if root == "" {
		return errors.New("it has no root: write zk://HOST:PORT/hotc")
	}
	if strings.Contains(root, "#") {
		return fmt.Errorf("the root %q has a #", root)
	}
	for i, segment := range strings.Split(root, "/") {
		switch {
		case segment == "", segment == ".", segment == "..":
			return fmt.Errorf("the root %q has an empty segment, . or ..", root)
		case i == 0 && segment == "zookeeper":
			return errors.New("the root /zookeeper is ZooKeeper's own")
		}
	}
	return nil
}
