package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// probePatience is how long one address may take to answer.
const probePatience = 5 * time.Second

// endpoint is one address of a coordinator: its name in messages, and how it is dialled.
type endpoint struct {
	name    string // zk://10.0.0.5:2181
	network string
	address string
	// talk checks a connection; nil if there is nothing to check.
	talk func(ctx context.Context, conn net.Conn) error
}

// Probe diagnoses, for the console, why a coordinator cannot be reached: for each of its addresses
// what is wrong and what to check. nil means that one of them accepts connections, or that the URL
// has no address to dial.
func Probe(ctx context.Context, url string) error {
	b, err := choose(url)
	if err != nil {
		return nil
	}
	places, err := b.endpoints(url)
	if err != nil {
		return err
	}
	return probe(ctx, places)
}

func probe(ctx context.Context, places []endpoint) error {
	ctx, stop := context.WithTimeout(ctx, probePatience)
	defer stop()
	found := make([]error, len(places))
	var all sync.WaitGroup
	for i, p := range places {
		mistake.GoIn(&all, func() {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, p.network, p.address)
			if err != nil {
				found[i] = fmt.Errorf("cannot reach %s: %s", p.name, explain(p, err))
				return
			}
			defer conn.Close()
			if p.talk != nil {
				if err := p.talk(ctx, conn); err != nil {
					found[i] = fmt.Errorf("%s: %w", p.name, err)
					return
				}
			}
			stop() // one is enough
		})
	}
	all.Wait()
	var lines []string
	for _, err := range found {
		if err == nil {
			return nil
		}
		lines = append(lines, err.Error())
	}
	return errors.New(strings.Join(lines, "\n"))
}

// explain says what a failure to connect means and what to check.
func explain(p endpoint, err error) string {
	var unknown *net.DNSError
	var timeout net.Error
	host, port, _ := net.SplitHostPort(p.address)
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("the name %s cannot be resolved (%s); is it right, and does this server's DNS (/etc/resolv.conf) know it? an IP address works without DNS",
			unknown.Name, unknown.Err)
	case p.network == "unix":
		if path, is := errors.AsType[*os.SyscallError](err); is {
			err = path.Err
		}
		return fmt.Sprintf("%v; is the coordinator that serves this socket running?", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("connection refused; %s is up, but nothing listens on port %s: is the coordinator running there, on this port, and not only on 127.0.0.1?", host, port)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return fmt.Sprintf("%v; does this server have a route to %s?", rootOf(err), host)
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer in %v; do the security groups and firewalls allow port %s, is the address right, and is there a route?", probePatience, port)
	}
	return rootOf(err).Error()
}

// rootOf removes what the message already says.
func rootOf(err error) error {
	if call, is := errors.AsType[*os.SyscallError](err); is {
		return call.Err
	}
	return err
}
