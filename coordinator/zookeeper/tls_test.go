package zookeeper

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/storetest"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

func parameters(p map[string]string) string {
	v := url.Values{}
	for key, value := range p {
		v.Set(key, value)
	}
	return v.Encode()
}

// The whole suite, with a server that wants certificates of its clients.
func TestConformanceOverTLS(t *testing.T) {
	ca := zktest.NewAuthority(t, "the CA")
	server := zktest.StartTLS(t, ca.Sign("127.0.0.1", time.Hour), ca, zktest.NeedCert)
	client := ca.Sign("client", time.Hour)
	address := server.URL("hotc", parameters(map[string]string{"ca": ca.CA, "cert": client.Cert, "key": client.Key}))
	storetest.Run(t, func(t testing.TB, creds ...store.Credential) store.Session {
		s, err := Open(t.Context(), address, creds...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// What is wrong with certificates is said, by what tries to work and by what only
// probes.
func TestWhatIsWrongWithTLSIsSaid(t *testing.T) {
	ca, other := zktest.NewAuthority(t, "the CA"), zktest.NewAuthority(t, "another CA")
	client, stranger := ca.Sign("client", time.Hour), other.Sign("stranger", time.Hour)
	expired := ca.Sign("client", -time.Hour)
	right := zktest.StartTLS(t, ca.Sign("127.0.0.1", time.Hour), ca, zktest.NeedCert)
	named := zktest.StartTLS(t, ca.Sign("zk.example", time.Hour), ca, zktest.NoCert)
	late := zktest.StartTLS(t, ca.Sign("127.0.0.1", -time.Minute), ca, zktest.NoCert)
	clear := shared.Server(t)
	for name, c := range map[string]struct {
		server interface{ URL(string, string) string }
		p      map[string]string
		want   string
	}{
		"no client certificate":             {right, map[string]string{"ca": ca.CA}, "it requires a client certificate ("},
		"a client's of another CA":          {right, map[string]string{"ca": ca.CA, "cert": stranger.Cert, "key": stranger.Key}, "it refuses the client's certificate stranger-"},
		"a client's that has ended":         {right, map[string]string{"ca": ca.CA, "cert": expired.Cert, "key": expired.Key}, "it refuses the client's certificate client-"},
		"a server's of an unknown CA":       {right, map[string]string{"ca": other.CA, "cert": client.Cert, "key": client.Key}, "its certificate (127.0.0.1, issued by the CA) is not signed by an authority in ca="},
		"a server's that nobody has signed": {named, map[string]string{"server_name": "zk.example"}, "is not signed by an authority that this machine trusts"},
		"another name":                      {named, map[string]string{"ca": ca.CA}, "its certificate is not for 127.0.0.1, but for zk.example: use that name in the URL, or server_name="},
		"a server's that has ended":         {late, map[string]string{"ca": ca.CA}, "its certificate is valid from "},
		"no TLS at all":                     {plainly{clear}, map[string]string{"ca": ca.CA}, "is this "},
		"server_name":                       {named, map[string]string{"ca": ca.CA, "server_name": "zk.example"}, ""},
		"all is right":                      {right, map[string]string{"ca": ca.CA, "cert": client.Cert, "key": client.Key}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			address := c.server.URL("hotc", parameters(c.p))
			if err := probe(t, address); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the probe says %v\nwant %q", err, c.want)
			}
			if c.want != "" {
				awaitTrouble(t, address, c.want)
				return
			}
			s, err := Open(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
		})
	}
}

// awaitTrouble connects, and waits until what goes wrong is this.
func awaitTrouble(t *testing.T, address, want string) {
	t.Helper()
	a, err := parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := connect(a.hosts, a.security, sessionTimeout, func(zk.Event) {}, func(bool) {})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		last = l.trouble
		l.mu.Unlock()
		if last != nil && strings.Contains(last.Error(), want) {
			return
		}
	}
	t.Errorf("what does not come about says %v, want %q", last, want)
}

// plainly is the port in clear as if it were one for TLS.
type plainly struct{ *zktest.Server }

func (p plainly) URL(root, parameters string) string {
	return "zk+tls://" + p.Addr() + "/" + root + "?" + parameters
}

func probe(t *testing.T, address string) error {
	hosts, err := Hosts(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", hosts[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	within, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	return Secure(within, address, conn, hosts[0])
}

func TestFilesThatAreWrongEndOpenAtOnce(t *testing.T) {
	ca := zktest.NewAuthority(t, "the CA")
	client, other := ca.Sign("client", time.Hour), ca.Sign("client", time.Hour)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"ca=nowhere.pem": "no such file",
		"ca=" + empty:    "contains no PEM certificate",
		"ca=der:%21":     "not base64url",
		"ca=der:AAAA":    "is not a certificate",
		"cert=" + client.Cert + "&key=" + other.Key: "private key does not match public key",
	} {
		_, err := Open(t.Context(), "zk+tls://127.0.0.1:1/hotc?"+query)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
}

// What servers get has the authority in it, and works where its file is not.
func TestAPortableURL(t *testing.T) {
	ca := zktest.NewAuthority(t, "the CA")
	server := zktest.StartTLS(t, ca.Sign("127.0.0.1", time.Hour), ca, zktest.NoCert)
	text, err := os.ReadFile(ca.CA)
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(mine, text, 0o600); err != nil {
		t.Fatal(err)
	}
	address := server.URL("hotc", parameters(map[string]string{"ca": mine, "cert": "/etc/zk/c.pem", "key": "/etc/zk/k.pem"}))
	with, err := Portable(address, true)
	if err != nil || !strings.Contains(with, "&cert=/etc/zk/c.pem&key=/etc/zk/k.pem") || strings.Contains(with, mine) {
		t.Errorf("%s, %v", with, err)
	}
	portable, err := Portable(address, false)
	if err != nil || strings.Contains(portable, "/etc") {
		t.Fatalf("%s, %v", portable, err)
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), portable)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if again, err := Portable(portable, false); again != portable || err != nil {
		t.Errorf("%s, %v", again, err)
	}
	if _, err := Portable("zk+tls://h/hotc?cert=c.pem&key=k.pem", true); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("a relative path: %v", err)
	}
}
