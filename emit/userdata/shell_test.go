package userdata

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// agent is a stand-in for hotc-agent: it notes that it ran, and with what.
const agent = "#!/bin/sh\necho \"ran $*\" >>\"$HOTC_ROOT/ran\"\nexit \"$(cat \"$HOTC_ROOT/exit\" 2>/dev/null || echo 0)\"\n"

// server is a folder in which the shell part thinks it is on a server.
type server struct {
	t     *testing.T
	root  string
	tools string
}

// tools are the programs that every image has.
var tools = []string{"sh", "cat", "chmod", "mkdir", "mv", "rm", "sed", "setsid", "sha256sum", "sleep", "tail", "tee", "tr", "uname"}

func newServer(t *testing.T, more ...string) *server {
	t.Helper()
	s := &server{t: t, root: t.TempDir(), tools: t.TempDir()}
	for _, tool := range append(slices.Clone(tools), more...) {
		path, err := exec.LookPath(tool)
		if tool == "python3" {
			path, err = "/usr/bin/python3", nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(s.tools, tool)); err != nil {
			t.Fatal(err)
		}
	}
	s.write("var/lib/cloud/instance/boot-finished", "")
	s.write("dev/console", "")
	// what runs on has to be gone before the folder goes
	t.Cleanup(func() {
		s.write("exit", "0")
		s.write("var/lib/cloud/instance/boot-finished", "")
		s.until("the loop's end", func() bool { return !s.looping() })
	})
	return s
}

func (s *server) path(name string) string { return filepath.Join(s.root, name) }

func (s *server) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(text)
}

// run runs a script as cloud-init does: nothing on standard input, a bare
// environment.
func (s *server) run(script string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{script}, args...)...)
	cmd.Env = []string{"PATH=" + s.tools, "HOTC_ROOT=" + s.root, "HOTC_PAUSE=0.05", "HOTC_TRIES=4"}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Errorf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// install runs the shell part of the user-data.
func (s *server) install(o Options, boot, url string) string {
	s.t.Helper()
	script, err := install(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("part", strings.NewReplacer(BootKey, boot, AgentURLKey, url).Replace(script))
	return s.run(s.path("part"))
}

// until waits; the test binary's own time limit ends it.
func (s *server) until(what string, holds func() bool) {
	s.t.Helper()
	for n := 1; !holds(); n++ {
		if n%500 == 0 {
			s.t.Logf("still waiting for %s; log: %s", what, s.read("var/log/hotc-agent.log"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// looping tells whether the server's supervisor runs.
func (s *server) looping() bool {
	pid := strings.TrimSpace(s.read("run/hotc-agent.pid"))
	if pid == "" {
		return false
	}
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && bytes.Contains(line, []byte(s.path("etc/hotc/start")))
}

func (s *server) ran() int { return strings.Count(s.read("ran"), "ran run --boot ") }

func digests(text string) Options {
	sum := sha256.Sum256([]byte(text))
	return Options{AgentDigests: map[Arch]string{Arch(runtime.GOARCH): hex.EncodeToString(sum[:])}}
}

// A boot file may hold anything: here-document, shell and MIME leave it alone.
func TestBootFile(t *testing.T) {
	s := newServer(t)
	s.write("usr/bin/hotc-agent", agent)
	boot := `{"a": "HOTC_BOOT\nHOTC_BOOT", "b": "$HOME ` + "`id`" + ` \\ \" '", "c": "\u017e\u2028", "d": "--` + Boundary + `--"}`
	s.install(Options{}, boot, "")
	if got := s.read("etc/hotc/boot.json"); got != boot+"\n" {
		t.Errorf("boot.json is %q", got)
	}
	if info, err := os.Stat(s.path("etc/hotc/boot.json")); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	s.until("the agent", func() bool { return s.ran() == 1 })
	want := "ran run --boot " + s.path("etc/hotc/boot.json") + " --state " + s.path("var/lib/hotc") + "\n"
	if got := s.read("ran"); got != want {
		t.Errorf("the agent %q, want %q", got, want)
	}
}

func TestWaitsForTheUsersOwnPart(t *testing.T) {
	s := newServer(t)
	s.write("usr/bin/hotc-agent", agent)
	os.Remove(s.path("var/lib/cloud/instance/boot-finished"))
	s.install(Options{}, "{}", "")
	s.until("the loop", s.looping)
	time.Sleep(300 * time.Millisecond)
	if s.ran() != 0 {
		t.Error("the agent runs before cloud-init has finished")
	}
	s.write("run/cloud-init/result.json", "{}")
	s.until("the agent", func() bool { return s.ran() == 1 })
}

func TestDownload(t *testing.T) {
	for _, tool := range []string{"curl", "wget", "python3"} {
		for name, answers := range map[string][]string{
			"at once": {agent}, "after failures": {"", "", agent}, "after a wrong file": {"<html>", agent},
		} {
			t.Run(tool+" "+name, func(t *testing.T) {
				if tool != "python3" {
					need(t, tool)
				}
				s := newServer(t, tool)
				var n atomic.Int32
				site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					answer := answers[min(int(n.Add(1)), len(answers))-1]
					if answer == "" || r.URL.Path != "/agent-"+runtime.GOARCH {
						http.Error(w, "not now", http.StatusInternalServerError)
						return
					}
					w.Write([]byte(answer))
				}))
				defer site.Close()
				s.install(digests(agent), "{}", site.URL+"/agent-{arch}")
				s.until("the agent", func() bool { return s.ran() == 1 })
				if got := s.read("usr/local/bin/hotc-agent"); got != agent {
					t.Errorf("installed %q", got)
				}
				// what is said goes through a pipe of its own
				s.until("the log", func() bool {
					return strings.Contains(s.read("var/log/hotc-agent.log"), "hotc: downloaded ") &&
						s.read("dev/console") == s.read("var/log/hotc-agent.log")
				})
				if log := s.read("var/log/hotc-agent.log"); strings.Count(log, "hotc: try") != len(answers)-1 ||
					!strings.Contains(log, "hotc: downloaded ") {
					t.Errorf("log: %s", log)
				}
				if s.read("dev/console") != s.read("var/log/hotc-agent.log") {
					t.Error("console and log differ")
				}
			})
		}
	}
}

// rude answers with what steers a terminal.
func rude(t *testing.T, w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	fmt.Fprint(conn, "HTTP/1.1 418 \x1b]0;title\x07 no\r\nContent-Length: 4\r\n\r\n\x1b[2J")
	conn.Close()
}

// What the server of the agent's URL answers does not steer who reads the console.
func TestAnswersDoNotSteerTheConsole(t *testing.T) {
	for _, tool := range []string{"curl", "wget", "python3"} {
		t.Run(tool, func(t *testing.T) {
			if tool != "python3" {
				need(t, tool)
			}
			s := newServer(t, tool)
			var asked atomic.Int32
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) <= 2 {
					rude(t, w)
					return
				}
				w.Write([]byte(agent))
			}))
			defer site.Close()
			s.install(digests(agent), "{}", site.URL)
			s.until("the agent", func() bool { return s.ran() == 1 && strings.Contains(s.read("dev/console"), "hotc: downloaded") })
			if got := s.read("dev/console"); strings.ContainsAny(got, "\x1b\x07") {
				t.Errorf("%q", got)
			}
		})
	}
}

// Nor does what Keystone answers, where Heat is told that there is no agent.
func TestKeystoneDoesNotSteerTheConsole(t *testing.T) {
	var asked atomic.Int32
	var told atomic.Value
	site := httptest.NewServer(nil)
	defer site.Close()
	site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case asked.Add(1) == 1:
			rude(t, w)
		case r.URL.Path == "/auth/tokens":
			w.Header().Set("X-Subject-Token", "x")
			fmt.Fprintf(w, `{"token":{"catalog":[{"type":"orchestration","endpoints":[{"interface":"public","url":%q}]}]}}`, site.URL)
		default:
			body, _ := io.ReadAll(r.Body)
			told.Store(string(body))
		}
	})
	handle, _ := json.Marshal(map[string]string{"auth_url": site.URL, "user_id": "u", "password": "p", "project_id": "x"})
	boot, _ := json.Marshal(map[string]string{"signal": string(handle), "server": "db", "deployment": "blog", "stack_id": "1", "signal_resource": "h"})
	path := filepath.Join(t.TempDir(), "boot.json")
	if err := os.WriteFile(path, boot, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("/usr/bin/python3", "parts/tell.py", path, "no agent").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "418") || strings.ContainsAny(string(out), "\x1b\x07") {
		t.Errorf("%v: %q", err, out)
	}
	if text, _ := told.Load().(string); !strings.Contains(text, `"reason": "db: no agent"`) {
		t.Errorf("Heat was told %s", text)
	}
}

// The agent is downloaded while cloud-init is still at work, and not run. If that
// cannot be done, nothing is said: the user's own part may make it possible.
func TestDownloadBesideCloudInit(t *testing.T) {
	for name, broken := range map[string]bool{"works": false, "does not work yet": true} {
		t.Run(name, func(t *testing.T) {
			need(t, "curl")
			s := newServer(t, "curl", "openssl")
			os.Remove(s.path("var/lib/cloud/instance/boot-finished"))
			var asked atomic.Int32
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 && broken {
					http.Error(w, "not yet", http.StatusInternalServerError)
					return
				}
				w.Write([]byte(agent))
			}))
			defer site.Close()
			s.install(digests(agent), "{}", site.URL)
			s.until("the first request", func() bool { return asked.Load() == 1 })
			if !broken { // it is the agent then that waits
				s.until("the agent", func() bool { return s.ran() == 1 })
				if ran := s.read("ran"); !strings.HasSuffix(ran, " --after-cloud-init\n") {
					t.Errorf("before cloud-init has finished: %s", ran)
				}
				return
			}
			time.Sleep(200 * time.Millisecond)
			if s.ran() != 0 || asked.Load() != 1 {
				t.Errorf("before cloud-init has finished the agent has run %d times, after %d requests", s.ran(), asked.Load())
			}
			s.write("run/cloud-init/result.json", "{}")
			s.until("the agent", func() bool { return s.ran() == 1 })
			if ran := s.read("ran"); strings.Contains(ran, "--after-cloud-init") {
				t.Errorf("after cloud-init has finished: %s", ran)
			}
			if log := s.read("var/log/hotc-agent.log"); strings.Contains(log, "hotc: try") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// The agent is told which settings were read for it: those that the user's own part
// writes while it is on its way are others.
func TestSettingsWhileTheAgentIsDownloaded(t *testing.T) {
	const tells = "#!/bin/sh\necho \"[${HOTC_SETTINGS-none}] ${proxy-}\" >>\"$HOTC_ROOT/settings\"\n"
	for before, want := range map[string]string{"": "[] ", "proxy=old\n": "[proxy=old] old"} {
		t.Run("before "+strings.TrimSpace(before), func(t *testing.T) {
			need(t, "curl")
			s := newServer(t, "curl", "openssl")
			os.Remove(s.path("var/lib/cloud/instance/boot-finished"))
			if before != "" {
				s.write("etc/hotc/environment", before)
			}
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				s.write("etc/hotc/environment", "proxy=new\n")
				w.Write([]byte(tells))
			}))
			defer site.Close()
			s.install(digests(tells), "{}", site.URL)
			s.until("the agent", func() bool { return s.read("settings") != "" })
			if got := s.read("settings"); got != want+"\n" {
				t.Errorf("the agent has %q, want %q", got, want)
			}
		})
	}
}

// An agent in the image is taken if its checksum is the one expected, or none is.
func TestAgentInTheImage(t *testing.T) {
	old := agent + "# old\n"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(agent)) }))
	defer site.Close()
	for _, c := range []struct {
		name       string
		o          Options
		downloaded string
	}{
		{"fits", digests(old), ""},
		{"is not checked", Options{}, ""},
		{"is another", digests(agent), agent},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, "python3")
			s.write("usr/bin/hotc-agent", old)
			s.install(c.o, "{}", site.URL)
			s.until("the agent", func() bool { return s.ran() == 1 })
			if got := s.read("usr/local/bin/hotc-agent"); got != c.downloaded {
				t.Errorf("downloaded %q", got)
			}
		})
	}
}

func TestWithoutAgentItSaysWhy(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		name, url, want string
		o               Options
	}{
		{"no address", "", "hotc_agent_url is empty, and no coordinator is named", digests(agent)},
		{"no checksum", gone.URL, "no checksum is known for ", Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, "python3")
			s.install(c.o, "{}", c.url)
			s.until("a word", func() bool { return strings.Contains(s.read("dev/console"), "hotc: FAILED: ") })
			s.until("the loop's end", func() bool { return !s.looping() })
			if got := s.read("dev/console"); !strings.Contains(got, c.want) {
				t.Errorf("console: %s", got)
			}
		})
	}
	t.Run("nobody answers", func(t *testing.T) {
		s := newServer(t, "python3")
		s.install(digests(agent), "{}", gone.URL)
		s.until("the second round", func() bool { return strings.Count(s.read("dev/console"), "try 4 of 4") >= 2 })
		// and goes on, until there is one
		s.write("opt/hotc/bin/hotc-agent", agent)
		s.until("the agent", func() bool { return s.ran() == 1 })
	})
}

// Who follows docs/howto/upgrade.md on a live server runs the new agent from the next start on.
func TestUpgradeInPlace(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	_, edit, _ := strings.Cut(string(page), "\nsed -i ")
	edit, _, found := strings.Cut(edit, "\n")
	if !found {
		t.Fatal("the page edits no file")
	}
	s := newServer(t, "cut")
	s.write("usr/bin/hotc-agent", agent)
	s.install(digests(agent), "{}", "")
	s.until("the agent", func() bool { return s.ran() == 1 })
	s.until("the end", func() bool { return !s.looping() })

	s.write("usr/local/bin/hotc-agent", "#!/bin/sh\necho \"new run --boot $*\" >>\"$HOTC_ROOT/ran\"\n")
	for _, x := range [][2]string{{"amd64", runtime.GOARCH}, {"/etc/hotc/start", s.path("etc/hotc/start")}} {
		edit = strings.ReplaceAll(edit, x[0], x[1])
	}
	s.write("edit", "set -e\nsum=$(sha256sum "+s.path("usr/local/bin/hotc-agent")+" | cut -d' ' -f1)\nsed -i "+edit+"\n")
	s.run(s.path("edit"))
	s.run(s.path("var/lib/cloud/scripts/per-boot/hotc-agent"))
	s.until("the new agent", func() bool { return strings.Contains(s.read("ran"), "new run") })
	if s.ran() != 1 {
		t.Errorf("ran %q", s.read("ran"))
	}
}

func TestSupervision(t *testing.T) {
	s := newServer(t)
	s.write("usr/bin/hotc-agent", agent)
	s.write("exit", "1")
	s.install(Options{}, "{}", "")
	s.until("three runs", func() bool { return s.ran() >= 3 })
	s.run(s.path("var/lib/cloud/scripts/per-boot/hotc-agent")) // as if called twice
	s.write("exit", "78")
	s.until("the end", func() bool { return !s.looping() })
	ran := s.ran()

	// the next boot
	s.run(s.path("var/lib/cloud/scripts/per-boot/hotc-agent"))
	s.until("the agent", func() bool { return s.ran() == ran+1 })
	s.until("the end", func() bool { return !s.looping() })

	// a server made from an image of this one
	os.Remove(s.path("var/lib/cloud/instance/hotc"))
	s.run(s.path("var/lib/cloud/scripts/per-boot/hotc-agent"))
	if s.looping() || s.ran() != ran+1 {
		t.Error("the agent runs on another server than the one it was made for")
	}
}

func TestSystemd(t *testing.T) {
	s := newServer(t)
	s.write("run/systemd/system/x", "")
	s.write("systemctl", "#!/bin/sh\necho \"$*\" >>\"$HOTC_ROOT/systemctl.log\"\n")
	if err := os.Symlink(s.path("systemctl"), filepath.Join(s.tools, "systemctl")); err != nil {
		t.Fatal(err)
	}
	s.install(Options{}, "{}", "")
	want := "daemon-reload\nenable hotc-agent.service\nrestart --no-block hotc-agent.service\n"
	if got := s.read("systemctl.log"); got != want {
		t.Errorf("systemctl %q", got)
	}
	if _, err := os.Stat(s.path("var/lib/cloud/scripts/per-boot/hotc-agent")); err == nil {
		t.Error("there is a per-boot script, too")
	}
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not here: the unit is not verified")
		return
	}
	out, err := exec.Command(verify, "verify", s.path("etc/systemd/system/hotc-agent.service")).CombinedOutput()
	if err != nil || strings.Contains(string(out), "hotc-agent.service") {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}

// Both scripts as a server gets them are clean, in each shell that /bin/sh may be.
func TestScriptsAreClean(t *testing.T) {
	s := newServer(t)
	s.write("usr/bin/hotc-agent", agent)
	s.install(options, "{}", "")
	s.until("a word", func() bool { return strings.Contains(s.read("dev/console"), "hotc: FAILED: ") }) // else it begins when the folder goes
	s.write("cfntools", strings.NewReplacer(UserKey, "#!/bin/sh", BootKey, "{}", AgentURLKey, "").Replace(file(t, CfnTools, options)))
	for _, script := range []string{"part", "cfntools", "etc/hotc/start", "var/lib/cloud/scripts/per-boot/hotc-agent"} {
		for _, shell := range []string{"dash", "bash"} {
			need(t, shell)
			if out, err := exec.Command(shell, "-n", s.path(script)).CombinedOutput(); err != nil {
				t.Errorf("%s -n %s: %v\n%s", shell, script, err, out)
			}
		}
		need(t, "shellcheck")
		// SC2016: the inner shell expands; SC1090, SC1091: a file of the server's
		out, err := exec.Command("shellcheck", "-s", "sh", "-e", "SC2016,SC1090,SC1091", s.path(script)).CombinedOutput()
		if err != nil {
			t.Errorf("shellcheck %s: %v\n%s", script, err, out)
		}
	}
}

// need fails the test without a program that `make test` installs, or skips it if
// HOTC_SKIP_TOOLS=1.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("HOTC_SKIP_TOOLS") == "1" {
		t.Skipf("NOT TESTED (HOTC_SKIP_TOOLS=1): %s is missing", program)
	}
	t.Fatalf("%s is needed: apt-get install %s (`make test` does it), or set HOTC_SKIP_TOOLS=1", program, program)
}
