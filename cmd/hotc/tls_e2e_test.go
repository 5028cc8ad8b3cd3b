package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// Agents meet at a ZooKeeper over TLS: user-data holds the certificate of its CA,
// whose file is on the operator's machine alone.
func TestSiteOverTLS(t *testing.T) {
	ca := zktest.NewAuthority(t, "the CA")
	server := zktest.StartTLS(t, ca.Sign("127.0.0.1", time.Hour), ca, zktest.NoCert)
	mine := filepath.Join(t.TempDir(), "mine.pem")
	text, err := os.ReadFile(ca.CA)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, url: server.URL("hotc", "ca="+url.QueryEscape(mine)), secret: filepath.Join(t.TempDir(), "secret"), dir: filepath.Join(t.TempDir(), "made")}
	w.hotc("secret", "new", w.secret)
	w.hotc("compile", "../../testdata/three-tier/site.yaml", "-o", w.dir, "--coordinator", w.url)
	w.hotc(w.on("tls", "apply", w.dir)...)
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	stack, err := os.ReadFile(filepath.Join(w.dir, "stack.yaml"))
	if err != nil || strings.Contains(string(stack), "mine.pem") || !strings.Contains(string(stack), "?ca=der:") {
		t.Errorf("the template names the operator's file, or lacks the certificate (%v)", err)
	}
	st := w.create("tls")
	w.bootAll(st, 4)
	st.Complete(t)
	if got := outputsOf(t, st); !regexp.MustCompile(`^"http://[0-9.]+/"$`).MatchString(got["site"]) {
		t.Errorf("outputs: %v", got)
	}
}
