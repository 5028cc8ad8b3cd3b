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

	"github.com/hotc-dev/hotc/coordinator/store"
)

// security is the parameters of a zk+tls:// URL. nil is an unencrypted connection.
type security struct {
	// ca is a PEM file of the servers' certificate authorities, or inline and their DER; "" is the
	// machine's trust store.
	ca string
	// cert and key are files in PEM, of the client; "" is none.
	cert, key string
	// serverName is the name in the servers' certificates; "" is the host's own.
	serverName string
}

// inline is the prefix of certificates in a URL: the base64url of each one's DER, separated by dots.
const inline = "der:"

// parseSecurity reads ca=FILE&cert=FILE&key=FILE&server_name=NAME.
func parseSecurity(query string) (*security, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the parameters after ? are not KEY=VALUE&KEY=VALUE: %w", err)
	}
	s := &security{}
	known := map[string]*string{"ca": &s.ca, "cert": &s.cert, "key": &s.key, "server_name": &s.serverName}
	for key, given := range values {
		to := known[key]
		if to == nil {
			return nil, fmt.Errorf("unknown parameter %q of zk+tls://: use ca, cert, key or server_name", key)
		}
		if len(given) != 1 || given[0] == "" {
			return nil, fmt.Errorf("%s needs one value", key)
		}
		*to = given[0]
	}
	if (s.cert == "") != (s.key == "") {
		return nil, errors.New("cert and key must be used together")
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

// mostAuthority bounds a file of certificates, in bytes.
const mostAuthority = 1 << 20

// authorities are the certificates that ca names.
func (s *security) authorities() ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	add := func(der []byte) error {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("ca is not a certificate: %w", err)
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
		return nil, fmt.Errorf("ca: %s contains no PEM certificate", s.ca)
	}
	return all, nil
}

// config is for one connection to a host. Files are read each time, so that certificates may be
// renewed under a running agent.
func (s *security) config(host string) (*tls.Config, error) {
	c := &tls.Config{ServerName: cmp.Or(s.serverName, host), MinVersion: tls.VersionTLS12}
	if s.ca != "" { // otherwise the machine's trust store
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

// secure starts TLS on a connection to HOST:PORT. The error explains what is wrong, for the
// console.
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
		by := "an authority that this machine trusts"
		if s.ca != "" {
			by = "an authority in ca="
		}
		who := "its certificate"
		if authority.Cert != nil {
			who = fmt.Sprintf("its certificate (%s, issued by %s)", authority.Cert.Subject.CommonName, authority.Cert.Issuer.CommonName)
		}
		return fmt.Sprintf("%s is not signed by %s: is ca= the file of ZooKeeper's own CA, and is this the right server?", who, by)
	case errors.As(err, &host):
		names := slices.Clone(host.Certificate.DNSNames)
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		if len(names) == 0 {
			names = []string{"no name (a common name alone does not count)"}
		}
		return fmt.Sprintf("its certificate is not for %s, but for %s: use that name in the URL, or server_name=", host.Host, strings.Join(names, ", "))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("its certificate is valid from %s to %s, and it is %s on this machine: is it due for renewal, or is this machine's clock wrong?",
			invalid.Cert.NotBefore.UTC().Format(time.RFC3339), invalid.Cert.NotAfter.UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339))
	case errors.As(err, &invalid):
		return "its certificate is invalid: " + invalid.Error()
	case errors.As(err, &record):
		return "the server does not speak TLS: is this ZooKeeper's secureClientPort? use zk:// for an unencrypted connection"
	case errors.As(err, &op) && op.Op == "remote error":
		return s.alert(op.Err.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &op) && op.Op == "read":
		return "it accepts connections, and drops them when TLS starts: is this its secureClientPort, and are the netty jars on its class path? (" + err.Error() + ")"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "it accepts connections, and does not answer when TLS starts: is this its secureClientPort?"
	}
	return "the handshake failed: " + err.Error()
}

// alert explains the alert with which a server ended the handshake.
func (s *security) alert(said string) string {
	said = strings.TrimPrefix(said, "tls: ")
	switch {
	case s.cert == "" && (strings.Contains(said, "certificate") || strings.Contains(said, "handshake failure")):
		return "it requires a client certificate (" + said + "): set cert=FILE and key=FILE to one that its trust store knows"
	case strings.Contains(said, "certificate"), strings.Contains(said, "unknown certificate authority"), strings.Contains(said, "handshake failure"):
		return "it refuses the client's certificate " + filepath.Base(s.cert) + " (" + said + "): is it signed by a CA of its trust store, and not expired?"
	}
	return "it ends the TLS handshake: " + said
}

// Secure is the part of a probe after connecting: it returns why TLS fails, or why the server ends
// it; nil if the URL is without TLS.
func Secure(ctx context.Context, rawURL string, conn net.Conn, addr string) error {
	a, err := parse(rawURL)
	if err != nil || a.security == nil {
		return err
	}
	secured, err := a.security.secure(ctx, conn, addr)
	if err != nil {
		return err
	}
	// With TLS 1.3 a server checks the client's certificate when the handshake is over for the
	// client; if it accepts, it sends nothing.
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

// Portable is a URL for other machines: it contains the certificates of its authorities instead of
// the name of a local file. With withClient it keeps the names of the client's files, which must
// exist there. *store.URLError.
func Portable(rawURL string, withClient bool) (string, error) {
	a, err := parse(rawURL)
	if err != nil || a.security == nil {
		return rawURL, err
	}
	query, err := a.security.portable(withClient)
	if err != nil {
		return "", &store.URLError{URL: rawURL, Err: err}
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
			return "", fmt.Errorf("%s: cert and key must be absolute paths of files on the servers", file)
		}
	}
	return there.query(), nil
}
