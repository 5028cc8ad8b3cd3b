package fetch_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/fetch"
)

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// server answers with what a test says, in order; the last answer stays.
func server(t *testing.T, answers ...func(http.ResponseWriter)) (url string, asked *int) {
	t.Helper()
	asked = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		answers[min(*asked, len(answers))-1](w)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func says(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { fmt.Fprint(w, text) }
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(code) }
}

// breaksOff promises more than it sends.
func breaksOff(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100")
	fmt.Fprint(w, "he")
}

func TestDownloads(t *testing.T) {
	right := digest([]byte("hello"))
	for _, c := range []struct {
		name    string
		answers []func(http.ResponseWriter)
		sum     string
		limit   int64
		asked   int
		wants   string
	}{
		{"at once", []func(http.ResponseWriter){says("hello")}, right, 0, 1, ""},
		{"a server that is not ready", []func(http.ResponseWriter){status(503), status(502), says("hello")}, right, 0, 3, ""},
		{"a connection that breaks", []func(http.ResponseWriter){breaksOff, says("hello")}, right, 0, 2, ""},
		{"another file", []func(http.ResponseWriter){says("hullo")}, right, 0, 1, "its sha256 is " + digest([]byte("hullo")) + ", but " + right + " was declared"},
		{"no checksum", []func(http.ResponseWriter){says("hello")}, "", 0, 1, "no checksum"},
		{"not there", []func(http.ResponseWriter){status(404)}, right, 0, 1, "the server answered 404 Not Found"},
		{"too much", []func(http.ResponseWriter){says("hello")}, right, 4, 1, "larger than 4 bytes"},
		{"never ready", []func(http.ResponseWriter){status(500)}, right, 0, 6, "the server answered 500"},
	} {
		address, asked := server(t, c.answers...)
		path := filepath.Join(t.TempDir(), "file")
		err := fetch.Download{URL: address, SHA256: c.sum, Limit: c.limit, Pause: time.Millisecond}.To(t.Context(), path)
		text, _ := os.ReadFile(path)
		switch {
		case c.wants == "" && (err != nil || string(text) != "hello"):
			t.Errorf("%s: %v, %q", c.name, err, text)
		case c.wants != "" && (err == nil || !strings.Contains(err.Error(), c.wants) || text != nil):
			t.Errorf("%s: %v, %q", c.name, err, text)
		case *asked != c.asked:
			t.Errorf("%s: asked %d times", c.name, *asked)
		}
		if left, _ := filepath.Glob(path + ".*"); left != nil {
			t.Errorf("%s: left %q", c.name, left)
		}
	}
}

func TestADownloadThroughAProxy(t *testing.T) {
	proxied := ""
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied = r.URL.String()
		fmt.Fprint(w, "hello")
	}))
	defer proxy.Close()
	err := fetch.Download{URL: "http://far.example/file", SHA256: digest([]byte("hello")), Proxy: proxy.URL}.To(t.Context(), filepath.Join(t.TempDir(), "file"))
	if err != nil || proxied != "http://far.example/file" {
		t.Errorf("%v, the proxy was asked for %q", err, proxied)
	}
}

func TestADownloadThatIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	address, _ := server(t, func(w http.ResponseWriter) {
		cancel(fmt.Errorf("the agent was told to end"))
		w.WriteHeader(503)
	})
	err := fetch.Download{URL: address, SHA256: digest(nil), Pause: time.Hour}.To(ctx, filepath.Join(t.TempDir(), "file"))
	if err == nil || !strings.Contains(err.Error(), "told to end") {
		t.Error(err)
	}
}

// files are a plan's files.
type files map[string][]byte

func (f files) File(_ context.Context, digest string) ([]byte, error) {
	if data, ok := f[digest]; ok {
		return data, nil
	}
	return nil, fmt.Errorf("the plan has no file %s", digest)
}

// values are a role's inputs.
type values map[string]string

func (v values) Read(_ context.Context, input string) (json.RawMessage, error) {
	return json.Marshal(v[input])
}
func (v values) Write(context.Context, string, json.RawMessage) error { return nil }
func (v values) WriteText(context.Context, string, []byte) error      { return nil }

func job(t *testing.T, f files) *driver.Job {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return &driver.Job{Folder: t.TempDir(), Files: f, Values: values{"key": "PRIVATE"}, Stdout: out, Stderr: out,
		Environment: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		Need:        func(_ context.Context, tool driver.Tool) (string, error) { return exec.LookPath(tool.Program) }}
}

func tree(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"books/mysql/recipe.rb", "README"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(name)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(name))
	}
	w.Close()
	return b.Bytes()
}

func TestATreeFromThePlanAndFromAURL(t *testing.T) {
	data := tree(t)
	address, _ := server(t, says(string(data)))
	j := job(t, files{digest(data): data})
	for name, o := range map[string]fetch.Origin{
		"the plan": {File: digest(data), Path: "books"},
		"a URL":    {URL: address + "/books.tar", SHA256: digest(data), Path: "books"},
	} {
		path, err := fetch.Tree(t.Context(), j, o, "cookbooks")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text, err := os.ReadFile(filepath.Join(path, "mysql/recipe.rb")); string(text) != "books/mysql/recipe.rb" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for wants, o := range map[string]fetch.Origin{
		"cookbooks: fetch the plan's file: the plan has no file 00": {File: "00"},
		"the fetched tree has no none":                              {File: digest(data), Path: "none"},
		`the path "../.." is outside the tree`:                      {File: digest(data), Path: "../.."},
		"the plan has no origin for it":                             {},
	} {
		if _, err := fetch.Tree(t.Context(), j, o, "cookbooks"); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%v, want %s", err, wants)
		}
	}
}

// repository makes a git repository with a branch, a tag and an older commit; it
// returns its URL and that commit.
func repository(t *testing.T) (address, first string) {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(text string) string {
		if err := os.WriteFile(filepath.Join(dir, "recipe.rb"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "-q", "-m", text)
		return git("rev-parse", "HEAD")
	}
	git("init", "-q")
	first = commit("one")
	commit("two")
	git("tag", "v2")
	commit("three")
	return (&url.URL{Scheme: "file", Path: dir}).String(), first
}

func TestARepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git on this machine")
	}
	address, first := repository(t)
	for want, o := range map[string]fetch.Origin{
		"three": {Git: address, Branch: "main"}, "two": {Git: address, Tag: "v2"}, "one": {Git: address, Commit: first},
	} {
		path, err := fetch.Tree(t.Context(), job(t, nil), o, "cookbooks")
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if text, _ := os.ReadFile(filepath.Join(path, "recipe.rb")); string(text) != want {
			t.Errorf("%s: got %q", want, text)
		}
	}
	for wants, o := range map[string]fetch.Origin{
		"Remote branch none not found":                    {Git: address, Branch: "none"},
		"does not appear to be a git repository":          {Git: "file:///nowhere", Branch: "main"},
		"the ssh key /nowhere is not on this server":      {Git: "git@x.invalid:a.git", Branch: "main", SSHKey: json.RawMessage(`"/nowhere"`)},
		"clone git@127.0.0.1:a.git: git: exit status 128": {Git: "git@127.0.0.1:a.git", Branch: "main", SSHKey: json.RawMessage(`{"input":"key"}`)},
	} {
		j := job(t, nil)
		_, err := fetch.Tree(t.Context(), j, o, "cookbooks")
		said, _ := os.ReadFile(j.Stderr.Name())
		if err == nil || !strings.Contains(err.Error()+string(said), wants) {
			t.Errorf("%v, want %s", err, wants)
		}
		if strings.Contains(fmt.Sprint(err)+string(said), "PRIVATE") {
			t.Errorf("the key is told: %v %s", err, said)
		}
	}
}
