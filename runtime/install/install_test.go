package install_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/install"
)

// tool is a program that no machine has.
var tool = driver.Tool{Name: "tool", Program: "hotc-test-tool", Version: []string{"--version"}, From: "packages",
	Packages: map[string][]string{"apt": {"hotc-test-tool"}}}

// installer installs, and notes for which tools it did.
func installer(t *testing.T) (i *install.Installer, installed *[]string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	installed = new([]string)
	return &install.Installer{Folder: t.TempDir(), Log: log, Environment: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"},
		Begin: func(_ context.Context, tool string) (func(), error) {
			*installed = append(*installed, tool)
			return func() { *installed = append(*installed, "end") }, nil
		}}, installed
}

// ensure wants a version of the tool and gets a program, or an error with a text.
func ensure(t *testing.T, i *install.Installer, want contract.Install, program, wants string) {
	t.Helper()
	got, err := i.Ensure(t.Context(), tool, want)
	switch {
	case wants == "" && (err != nil || got != program):
		log, _ := os.ReadFile(i.Log.Name())
		t.Errorf("%+v: %q, %v\n%s", want, got, err, log)
	case wants != "" && (err == nil || !strings.Contains(err.Error(), wants)):
		t.Errorf("%+v: %v, want %s", want, err, wants)
	}
}

const fromPackage = "/usr/bin/hotc-test-tool"

func TestAToolFromPackages(t *testing.T) {
	onItsOwnMachine(t, func(t *testing.T) {
		offer(t, debOf(t, "1.2.3", "exit 0"), debOf(t, "2.0.1", "exit 0"))
		i, installed := installer(t)
		ensure(t, i, contract.Install{From: "none"}, "", "tool is not on this server, and must not be installed (install: {from: none})")
		i.Forbidden = true
		ensure(t, i, contract.Install{}, "", "tool is not on this server, and `hotc run` installs nothing on this machine")
		i.Forbidden = false
		ensure(t, i, contract.Install{Version: "3"}, "", "E: Version '3*' for 'hotc-test-tool' was not found")
		ensure(t, i, contract.Install{Version: "1.2"}, fromPackage, "")
		ensure(t, i, contract.Install{Version: "1.2"}, fromPackage, "")
		ensure(t, i, contract.Install{From: "none"}, fromPackage, "")
		ensure(t, i, contract.Install{Version: "2", From: "none"}, "", fromPackage+" has version 1.2.3, but 2 is required")
		ensure(t, i, contract.Install{Version: ">=2"}, fromPackage, "")
		if got := strings.Join(*installed, " "); got != "tool end tool end tool end" {
			t.Errorf("installed %s", got)
		}
	})
}

func TestAPackageThatFails(t *testing.T) {
	onItsOwnMachine(t, func(t *testing.T) {
		offer(t, debOf(t, "1.0", "echo no room for me >&2; exit 3"))
		i, _ := installer(t)
		ensure(t, i, contract.Install{}, "", "install tool: apt-get: exit status 100: E: Sub-process /usr/bin/dpkg returned an error code (1)")
		if log, _ := os.ReadFile(i.Log.Name()); !bytes.Contains(log, []byte("no room for me")) {
			t.Errorf("the log does not say why:\n%s", log)
		}
	})
}

// holdLock keeps apt's lock as another package manager would; fcntl's locks are a
// process's own.
func holdLock(t *testing.T) (release func()) {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "-c", "import fcntl,sys\nf=open('/var/lib/dpkg/lock-frontend','w')\nfcntl.lockf(f,fcntl.LOCK_EX)\nprint('held',flush=True)\nsys.stdin.read()")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	return func() { in.Close(); cmd.Wait() }
}

func TestAnotherPackageManagerIsWaitedFor(t *testing.T) {
	onItsOwnMachine(t, func(t *testing.T) {
		offer(t, debOf(t, "1.0", "exit 0"))
		i, _ := installer(t)
		release := holdLock(t)
		go func() {
			for {
				if log, _ := os.ReadFile(i.Log.Name()); bytes.Contains(log, []byte("waiting for another package manager")) {
					release()
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		ensure(t, i, contract.Install{}, fromPackage, "")
		defer holdLock(t)()
		i.Patience = time.Second
		ensure(t, i, contract.Install{Version: "2"}, "", "install tool: it took longer than 1s")
	})
}

func TestAToolFromAURL(t *testing.T) {
	onItsOwnMachine(t, func(t *testing.T) {
		deb, err := os.ReadFile(debOf(t, "1.0", "exit 0"))
		if err != nil {
			t.Fatal(err)
		}
		packed := archiveOf(t)
		files := map[string][]byte{"/tool.deb": deb, "/tool.tgz": packed, "/page": []byte("<html>no such file</html>")}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(files[r.URL.Path]) }))
		defer s.Close()
		from := func(name string) contract.Install {
			return contract.Install{From: "url", URL: s.URL + name, SHA256: sumOf(files[name])}
		}
		i, _ := installer(t)
		wrong := from("/tool.deb")
		wrong.SHA256 = sumOf(nil)
		ensure(t, i, wrong, "", "its sha256 is "+sumOf(deb)+", but "+sumOf(nil)+" was declared")
		ensure(t, i, from("/page"), "", "page is neither a package (deb, rpm, apk), nor an archive (tar, tar.gz, tar.bz2, zip), nor a program")
		ensure(t, i, from("/tool.tgz"), filepath.Join(i.Folder, "tool/bin/hotc-test-tool"), "")
		i, _ = installer(t)
		ensure(t, i, from("/tool.deb"), fromPackage, "")
		if left, _ := filepath.Glob(filepath.Join(i.Folder, "*")); left != nil {
			t.Errorf("left %q", left)
		}
		// beside the package's, which stands first on PATH and does not fit
		newer, older := from("/tool.tgz"), from("/tool.deb")
		newer.Version, older.Version = "4", "1"
		ensure(t, i, newer, filepath.Join(i.Folder, "tool/bin/hotc-test-tool"), "")
		ensure(t, i, older, fromPackage, "")
	})
}

// archiveOf is the tool as an archive.
func archiveOf(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	text := "#!/bin/sh\necho tool 4.5.6\n"
	if err := w.WriteHeader(&tar.Header{Name: "bin/hotc-test-tool", Mode: 0o755, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(text))
	w.Close()
	zipped.Close()
	return b.Bytes()
}

// A gem whose licence nobody has accepted is not installed: not even Ruby is.
func TestAGemWithALicence(t *testing.T) {
	i, _ := installer(t)
	i.Environment = []string{"PATH=" + t.TempDir()}
	licensed := driver.Tool{Name: "tool", Program: "hotc-test-tool", From: "gem", Gem: "hotc-test-tool", GemLicence: "only you can accept its licence"}
	if _, err := i.Ensure(t.Context(), licensed, contract.Install{}); err == nil || err.Error() != "install tool: only you can accept its licence" {
		t.Error(err)
	}
	if _, err := i.Ensure(t.Context(), licensed, contract.Install{Licence: "accept"}); err == nil || strings.Contains(err.Error(), "licence") {
		t.Error(err)
	}
}

// Where any version will do, a gem is installed in the version that its driver
// names.
func TestAGemsVersion(t *testing.T) {
	for want, gem := range map[string]string{"": "~> 18.0", "17.1": "~> 17.1.0"} {
		path := t.TempDir()
		said := filepath.Join(path, "said")
		if err := os.WriteFile(filepath.Join(path, "gem"), []byte("#!/bin/sh\necho \"$*\" > "+said+"\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		i, _ := installer(t)
		i.Environment = []string{"PATH=" + path + ":/usr/bin:/bin"}
		if _, err := i.Ensure(t.Context(), driver.Tool{Name: "tool", Program: "hotc-test-tool", Gem: "x", GemVersion: "18", From: "gem"}, contract.Install{Version: want}); err == nil {
			t.Error("it was installed")
		}
		if text, err := os.ReadFile(said); err != nil || string(text) != "install x --no-document --conservative --version "+gem+"\n" {
			t.Errorf("%q: %s, %v", want, text, err)
		}
	}
}
