package zktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for a test; CA is the file of its own certificate.
type Authority struct {
	CA string

	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority creates a CA with a name.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir()}
	a.key = newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.CA = a.write("ca.pem", "CERTIFICATE", der)
	return a
}

// Leaf is a certificate with its key, in files.
type Leaf struct{ Cert, Key string }

// Sign creates a certificate for a name or an address, valid for a while; with
// a negative duration it has expired.
func (a *Authority) Sign(name string, lasts time.Duration) Leaf {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(lasts)}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	base := fmt.Sprintf("%s-%d", name, template.SerialNumber)
	return Leaf{Cert: a.write(base+".pem", "CERTIFICATE", der), Key: a.write(base+".key", "PRIVATE KEY", private)}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *Authority) write(name, kind string, der []byte) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// Auth is what a server requires of its clients' certificates: ssl.clientAuth.
type Auth string

// What a server may require.
const (
	NeedCert Auth = "need"
	NoCert   Auth = "none"
)

// Secured is a server with a port for TLS.
type Secured struct{ *Server }

// StartTLS starts a server with a certificate, which accepts those of an authority's clients.
func StartTLS(t testing.TB, leaf Leaf, clients *Authority, auth Auth) *Secured {
	t.Helper()
	need(t)
	netty, err := filepath.Glob("/usr/share/java/netty-*.jar")
	if err != nil || len(netty) == 0 {
		t.Fatal("Debian's package libnetty-java is not installed: without it ZooKeeper drops every TLS connection")
	}
	dir := t.TempDir()
	var both []byte
	for _, file := range []string{leaf.Key, leaf.Cert} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, text...)
	}
	keys := filepath.Join(dir, "server.pem")
	if err := os.WriteFile(keys, both, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 5 { // another process may take a port that was just found free
		plain, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		secure, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		s, err := configure(filepath.Join(dir, fmt.Sprint(plain.number)), plain.number, fmt.Sprintf(`secureClientPortAddress=127.0.0.1
secureClientPort=%d
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
ssl.keyStore.location=%s
ssl.keyStore.type=PEM
ssl.trustStore.location=%s
ssl.trustStore.type=PEM
ssl.clientAuth=%s
ssl.hostnameVerification=false
`, secure.number, keys, clients.CA, auth))
		if err != nil {
			t.Fatal(err)
		}
		s.secure, s.ports, s.jars = secure.number, []port{plain, secure}, netty
		if err = s.start(); err == nil {
			t.Cleanup(s.Kill)
			return &Secured{s}
		}
		t.Log(err)
	}
	t.Fatal("ZooKeeper with TLS does not start")
	return nil
}

// URL is the coordinator's URL with a root and parameters.
func (s *Secured) URL(root, parameters string) string {
	return fmt.Sprintf("zk+tls://%s/%s?%s", loopback(s.secure), root, parameters)
}
