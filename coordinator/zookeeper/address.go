package zookeeper

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// address is what a URL names.
type address struct {
	hosts []string // HOST:PORT each
	root  string   // "/hotc"
}

const (
	scheme      = "zk://"
	tlsScheme   = "zk+tls://"
	defaultPort = "2181"
)

// parse reads zk://HOST[:PORT][,HOST[:PORT]…]/ROOT. It is no RFC 3986 URL, since
// that has one host.
func parse(url string) (address, error) {
	if strings.HasPrefix(url, tlsScheme) {
		return address{}, fmt.Errorf("%s: ZooKeeper over TLS is not supported yet: use zk://", url)
	}
	rest, ok := strings.CutPrefix(url, scheme)
	if !ok {
		return address{}, fmt.Errorf("%s: a ZooKeeper URL is zk://HOST:PORT[,HOST:PORT…]/ROOT", url)
	}
	hosts, root, _ := strings.Cut(rest, "/")
	var a address
	for host := range strings.SplitSeq(hosts, ",") {
		hostPort, err := parseHost(host)
		if err != nil {
			return address{}, fmt.Errorf("%s: %w", url, err)
		}
		a.hosts = append(a.hosts, hostPort)
	}
	if err := checkRoot(root); err != nil {
		return address{}, fmt.Errorf("%s: %w", url, err)
	}
	a.root = "/" + root
	return a, nil
}

// Hosts are the addresses that a URL names, HOST:PORT each.
func Hosts(url string) ([]string, error) {
	a, err := parse(url)
	return a.hosts, err
}

func parseHost(text string) (string, error) {
	host, port := text, defaultPort
	bare := strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]")
	if bare {
		host = text[1 : len(text)-1]
	} else if strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("%q is not HOST:PORT (an IPv6 address stands in brackets)", text)
		}
	}
	if bare || strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil {
			return "", fmt.Errorf("%q is no IPv6 address", host)
		}
	}
	if host == "" || strings.ContainsAny(host, "@?#/ ") {
		return "", fmt.Errorf("%q names no host", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("%q has no port from 1 to 65535", text)
	}
	return net.JoinHostPort(host, port), nil
}

func checkRoot(root string) error {
	if root == "" {
		return errors.New("it names no root: write zk://HOST:PORT/hotc")
	}
	if strings.ContainsAny(root, "?#") {
		return fmt.Errorf("the root %q has a ? or #", root)
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
