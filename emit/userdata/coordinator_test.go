package userdata

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

func boot(t *testing.T, url string) string {
	t.Helper()
	text, err := json.Marshal(map[string]string{"coordinator": url})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func publish(t *testing.T, url, program string) {
	t.Helper()
	session, err := zookeeper.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := deploy.PublishAgent(t.Context(), session, store.Credential{User: "operator", Password: "o"}, false, []byte(program)); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(program))
	if has, err := deploy.HasAgent(t.Context(), session, hex.EncodeToString(sum[:])); !has || err != nil {
		t.Fatalf("%v, %v", has, err)
	}
}

// large is an agent that takes several nodes.
func large() string {
	noise := make([]byte, 2<<20)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(noise)
	return agent + "exit 0\n" + hex.EncodeToString(noise)
}

// A server whose image has no agent, and that is told no URL, gets it from the
// coordinator, as soon as somebody has put it there.
func TestAgentFromTheCoordinator(t *testing.T) {
	for name, program := range map[string]string{"in one node": agent, "in parts": large()} {
		t.Run(name, func(t *testing.T) {
			zk := zktest.Start(t)
			s := newServer(t, "python3")
			t.Cleanup(func() { s.write("usr/local/bin/hotc-agent", program) }) // a loop that waits ends
			s.install(digests(program), boot(t, zk.URL("hotc")), "")
			s.until("a word", func() bool { return strings.Contains(s.read("dev/console"), "nobody has put the agent there yet") })
			publish(t, zk.URL("hotc"), program)
			s.until("the agent", func() bool { return s.ran() == 1 })
			if s.read("usr/local/bin/hotc-agent") != program {
				t.Error("another program is installed")
			}
		})
	}
}

// So it does over TLS, where the authority stands in the URL as agents get it.
func TestAgentFromTheCoordinatorByTLS(t *testing.T) {
	ca := zktest.NewAuthority(t, "the CA")
	zk := zktest.StartTLS(t, ca.Sign("zk.example", time.Hour), ca, zktest.NoCert)
	url, err := zookeeper.Portable(zk.URL("hotc", "server_name=zk.example&ca="+ca.CA), true)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, url, agent)
	s := newServer(t, "python3")
	s.install(digests(agent), boot(t, url), "")
	s.until("the agent", func() bool { return s.ran() == 1 })

	other := newServer(t, "python3") // knows another authority
	stranger := zktest.NewAuthority(t, "another CA")
	url, err = zookeeper.Portable(zk.URL("hotc", "server_name=zk.example&ca="+stranger.CA), true)
	if err != nil {
		t.Fatal(err)
	}
	other.install(digests(agent), boot(t, url), "")
	other.until("a word", func() bool { return strings.Contains(other.read("dev/console"), "CERTIFICATE_VERIFY_FAILED") })
	if other.ran() != 0 {
		t.Error("it trusts anybody")
	}
	other.write("usr/bin/hotc-agent", agent) // else it goes on for ever
}

// What somebody else has put into the agent's place is not run.
func TestAnothersAgent(t *testing.T) {
	zk := zktest.Start(t)
	sum := sha256.Sum256([]byte(agent))
	session, err := zookeeper.Open(t.Context(), zk.URL("hotc"))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	path := store.Path(":agents/" + hex.EncodeToString(sum[:]))
	for name, text := range map[string][]byte{
		"garbage": []byte("x"), "parts that are not there": []byte(`{"parts":3}`), "too many parts": []byte(`{"parts":100000000}`), "no number": []byte(`{"parts":[`),
		"another program": gzipped(t, "#!/bin/sh\necho stolen >\"$HOTC_ROOT/stolen\"\n"), "a bomb": gzipped(t, strings.Repeat("0", 100<<20)), "nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			everybody := []store.Grant{{May: store.MayAll}}
			if err := session.Create(t.Context(), []store.NewNode{{Path: ":agents", Grants: everybody}, {Path: path, Data: text, Grants: everybody}}); err != nil {
				t.Fatal(err)
			}
			defer session.DeleteTree(t.Context(), path)
			s := newServer(t, "python3")
			s.install(digests(agent), boot(t, zk.URL("hotc")), "")
			s.until("a word", func() bool {
				return strings.Contains(s.read("dev/console"), "waiting for an agent: ") || strings.Contains(s.read("dev/console"), "expected "+hex.EncodeToString(sum[:]))
			})
			if s.ran() != 0 || s.read("stolen") != "" {
				t.Error("it runs")
			}
			if has, err := deploy.HasAgent(t.Context(), session, hex.EncodeToString(sum[:])); has || err != nil {
				t.Errorf("it counts as the agent: %v, %v", has, err)
			}
			s.write("usr/bin/hotc-agent", agent) // else it goes on for ever
		})
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
