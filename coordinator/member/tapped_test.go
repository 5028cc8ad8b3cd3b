package member_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// tap is somebody between servers and a ZooKeeper who keeps every byte that passes.
type tap struct {
	mu   sync.Mutex
	seen bytes.Buffer
}

func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(b)
}

func (p *tap) saw(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Contains(p.seen.Bytes(), []byte(text))
}

// between starts a tap, and returns the address that leads through it.
func (p *tap) between(t *testing.T, target string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", target)
			if err != nil {
				from.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(io.MultiWriter(to, p), from)
				to.Close()
				from.Close()
			}
			go pass(to, from)
			go pass(from, to)
		}
	}()
	return l.Addr().String()
}

// Who taps the way to ZooKeeper reads what is not sealed, and the passwords that it is told;
// never a sealed value, a token or the deployment's secret. With TLS he reads nothing.
func TestWhoTapsReads(t *testing.T) {
	for _, c := range []struct {
		name  string
		plain bool
		dial  func(t *testing.T, p *tap) string
	}{
		{"plain", true, func(t *testing.T, p *tap) string {
			return "zk://" + p.between(t, zktest.Start(t).Addr()) + "/hotc"
		}},
		{"TLS", false, func(t *testing.T, p *tap) string {
			ca := zktest.NewAuthority(t, "the CA")
			direct, err := url.Parse(zktest.StartTLS(t, ca.Sign("127.0.0.1", time.Hour), ca, zktest.NoCert).URL("hotc", url.Values{"ca": {ca.CA}}.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			direct.Host = p.between(t, direct.Host)
			return direct.String()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			between := &tap{}
			address := c.dial(t, between)
			b := deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
				t.Helper()
				s, err := zookeeper.Open(t.Context(), address, creds...)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return s
			}}
			p := deploytest.WithGiven("app", "web")
			b.Publish(t, p)
			b.Give(t, p, `"hush-hush"`)
			app := b.Join(t, deploytest.NewMachine(t, "app", "a1"), false)
			deploytest.ExpectValue(t, app, deploytest.GivenPassword, `"hush-hush"`)
			credential := protocol.ServerCredential("app", deploytest.TokenOf("app"))
			for what, x := range map[string]struct {
				text string
				seen bool
			}{
				"the plan":                {`"template": "site.yaml"`, c.plain},
				"a server's password":     {credential.Password, c.plain},
				"a server's instance":     {`"instance":"i-`, c.plain},
				"a sealed value":          {"hush-hush", false},
				"a server's token":        {deploytest.TokenOf("app"), false},
				"the deployment's secret": {"6f1c0b9e4d2a7385c4be91d07a36f8e25b0d9c8171e4a6f3902c5d8b7e6f1a43", false},
			} {
				if got := between.saw(x.text); got != x.seen {
					t.Errorf("%s: seen %v, want %v", what, got, x.seen)
				}
			}
		})
	}
}
