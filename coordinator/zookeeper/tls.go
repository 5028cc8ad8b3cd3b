package zookeeper

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
)

// security is how a zk+tls:// URL wants its connections: the parameters behind its
// root. nil is a connection in clear.
type security struct {
	// ca is a file of certificates in PEM that may have signed the servers', or
	// inline and their DER; "" is what the machine trusts.
	ca string
	// cert and key are files in PEM, of the client; "" is none.
	cert, key string
	// serverName is the name in the servers' certificates; "" is the host's own.
	serverName string
}

// inline begins certificates in a URL: base64url of each one's DER, a dot between.
const inline = "der:"

// parseSecurity reads ca=FILE&cert=FILE&key=FILE&server_name=NAME.
func parseSecurity(query string) (*security, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("what follows the ? is not KEY=VALUE&KEY=VALUE: %w", err)
	}
	s := &security{}
	known := map[string]*string{"ca": &s.ca, "cert": &s.cert, "key": &s.key, "server_name": &s.serverName}
	for key, given := range values {
		to := known[key]
		if to == nil {
			return nil, fmt.Errorf("zk+tls:// knows no %q: it takes ca, cert, key and server_name", key)
		}
		if len(given) != 1 || given[0] == "" {
			return nil, fmt.Errorf("%s needs one value", key)
		}
		*to = given[0]
	}
	if (s.cert == "") != (s.key == "") {
		return nil, errors.New("cert and key go together")
	}
	return s, nil
}

func (s *security) query() string {
	var parts []string
	for _, p := range [][2]string{{"ca", s.ca}, {"cert", s.cert}, {"key", s.key}, {"server_name", s.serverName}} {
		if p[1] != "" {
			parts = append(parts, p[0]+"="+strings.ReplaceAll(url.QueryEscape(p[1]), "%2F", "/"))
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "&"), "ca=der%3A", "ca="+inline)
}

// mostAuthority is more than a file of certificates has, in bytes.
const mostAuthority = 1 << 20

// authorities are the certificates that ca names: they may have signed a server's.
func (s *security) authorities() ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	add := func(der []byte) error {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("ca holds what is not a certificate: %w", err)
		}
		all = append(all, c)
		return nil
	}
	if text, ok := strings.CutPrefix(s.ca, inline); ok {
		for part := range strings.SplitSeq(text, ".") {
			der, err := base64.RawURLEncoding.DecodeString(part)
			if err != nil {
				return nil, fmt.Errorf("ca=der:… is not base64url: %w", err)
			}
			if err := add(der); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	file, err := os.Open(s.ca)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostAuthority))
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			if err := add(block.Bytes); err != nil {
				return nil, fmt.Errorf("%w, in %s", err, s.ca)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("ca: %s holds no certificate in PEM", s.ca)
	}
	return all, nil
}

// config is for one connection to a host. Files are read anew each time, so that
// certificates may be renewed under a running agent.
func (s *security) config(host string) (*tls.Config, error) {
	c := &tls.Config{ServerName: cmp.Or(s.serverName, host), MinVersion: tls.VersionTLS12}
	if s.ca != "" { // else what the machine trusts
		all, err := s.authorities()
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		for _, one := range all {
			c.RootCAs.AddCert(one)
		}
	}
	if s.cert != "" {
		pair, err := tls.LoadX509KeyPair(s.cert, s.key)
		if err != nil {
			return nil, fmt.Errorf("cert and key, the client's certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// secure makes a connection to HOST:PORT one over TLS. The error says what is wrong
// in words for people.
func (s *security) secure(ctx context.Context, raw net.Conn, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	config, err := s.config(host)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.New(s.explain(err))
	}
	return conn, nil
}

// explain says what a failed handshake means and what to check.
func (s *security) explain(err error) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &authority):
		by := "this machine trusts"
		if s.ca != "" {
			by = "ca= names"
		}
		who := "its certificate"
		if authority.Cert != nil {
			who = fmt.Sprintf("its certificate (%s, issued by %s)", authority.Cert.Subject.CommonName, authority.Cert.Issuer.CommonName)
		}
		return fmt.Sprintf("%s is signed by none of the authorities that %s: is ca= the file of ZooKeeper's own CA, and is this the right server?", who, by)
	case errors.As(err, &host):
		names := slices.Clone(host.Certificate.DNSNames)
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		if len(names) == 0 {
			names = []string{"no name at all (a common name alone does not count)"}
		}
		return fmt.Sprintf("its certificate is not for %s, but for %s: use that name in the URL, or server_name=", host.Host, strings.Join(names, ", "))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("its certificate holds from %s to %s, and here it is %s: is it due for renewal, or is this machine's clock wrong?",
			invalid.Cert.NotBefore.UTC().Format(time.RFC3339), invalid.Cert.NotAfter.UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339))
	case errors.As(err, &invalid):
		return "its certificate does not hold: " + invalid.Error()
	case errors.As(err, &record):
		return "what answers speaks no TLS: is this ZooKeeper's secureClientPort? for a connection in clear the URL begins with zk://"
	case errors.As(err, &op) && op.Op == "remote error":
		return s.alert(op.Err.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &op) && op.Op == "read":
		return "it takes connections, and drops them when TLS begins: is this its secureClientPort, and has its class path the netty jars? (" + err.Error() + ")"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "it takes connections, and does not answer when TLS begins: is this its secureClientPort?"
	}
	return "the handshake failed: " + err.Error()
}

// alert says what a server means that ends the handshake.
func (s *security) alert(said string) string {
	said = strings.TrimPrefix(said, "tls: ")
	switch {
	case s.cert == "" && (strings.Contains(said, "certificate") || strings.Contains(said, "handshake failure")):
		return "it wants a certificate of the client (" + said + "): cert=FILE and key=FILE name one that its trust store knows"
	case strings.Contains(said, "certificate"), strings.Contains(said, "unknown certificate authority"), strings.Contains(said, "handshake failure"):
		return "it refuses the client's certificate " + filepath.Base(s.cert) + " (" + said + "): is that signed by a CA of its trust store, and not expired?"
	}
	return "it ends the TLS handshake: " + said
}

// Secure is the part of a probe that comes after the connection: it says why no TLS
// comes about, or why the server ends it; nil where the URL wants none.
func Secure(ctx context.Context, rawURL string, conn net.Conn, addr string) error {
	a, err := parse(rawURL)
	if err != nil || a.security == nil {
		return err
	}
	secured, err := a.security.secure(ctx, conn, addr)
	if err != nil {
		return err
	}
	// With TLS 1.3 a server looks at the client's certificate when the handshake is over
	// for the client; one that is content says nothing.
	if err := secured.SetReadDeadline(time.Now().Add(alertPatience)); err != nil {
		return err
	}
	_, err = secured.Read(make([]byte, 1))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New(a.security.explain(err))
	}
	return nil
}

const alertPatience = 500 * time.Millisecond

// Portable is a URL for other machines: the certificates of its authorities are in
// it, and not the name of a file here. Which files of the client's stay is up to the
// caller: they must be there, too. *coordinator.URLError.
func Portable(rawURL string, withClient bool) (string, error) {
	a, err := parse(rawURL)
	if err != nil || a.security == nil {
		return rawURL, err
	}
	query, err := a.security.portable(withClient)
	if err != nil {
		return "", &coordinator.URLError{URL: rawURL, Err: err}
	}
	before, _, _ := strings.Cut(rawURL, "?")
	if query != "" {
		return before + "?" + query, nil
	}
	return before, nil
}

func (s *security) portable(withClient bool) (query string, err error) {
	there := *s
	if s.ca != "" {
		all, err := s.authorities()
		if err != nil {
			return "", err
		}
		parts := make([]string, len(all))
		for i, c := range all {
			parts[i] = base64.RawURLEncoding.EncodeToString(c.Raw)
		}
		there.ca = inline + strings.Join(parts, ".")
	}
	if !withClient {
		there.cert, there.key = "", ""
	}
	for _, file := range []string{there.cert, there.key} {
		if file != "" && !filepath.IsAbs(file) {
			return "", fmt.Errorf("%s: cert and key name files on the servers, by absolute paths", file)
		}
	}
	return there.query(), nil
}
