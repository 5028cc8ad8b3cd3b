package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestServeFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hotc-agent-amd64", "in/index.html", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveFiles(ctx, streams{out: write, err: io.Discard}, dir, "127.0.0.1:0") }()
	line := make([]byte, 4096)
	n, err := read.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, read)
	base := regexp.MustCompile(`http://\S+/`).FindString(string(line[:n]))
	for name, want := range map[string]string{"hotc-agent-amd64": "text of hotc-agent-amd64", "": "", "in/": "", "in": "", ".hidden": "", "out": "", "../../etc/passwd": "", "absent": ""} {
		response, err := http.Get(base + name)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if want != "" && string(text) != want || want == "" && response.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %d %s", name, response.StatusCode, text)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := serveFiles(t.Context(), streams{out: io.Discard}, filepath.Join(dir, "none"), ":0"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestAReleaseKnowsItsAgents(t *testing.T) {
	before := releasedAgents
	defer func() { releasedAgents = before }()
	releasedAgents = "amd64=" + strings.Repeat("a", 64) + ",arm64=" + strings.Repeat("b", 64)
	c := compilation{agentURL: "http://files/{version}/hotc-agent-{arch}", signal: "heat", facts: "run"}
	o, err := c.options("site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if o.AgentDigests["amd64"] != strings.Repeat("a", 64) || o.AgentDigests["arm64"] != strings.Repeat("b", 64) || o.AgentURL != "http://files/"+version+"/hotc-agent-{arch}" {
		t.Errorf("%v from %s", o.AgentDigests, o.AgentURL)
	}
}
