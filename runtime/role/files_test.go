package role

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// A file is put in its place whole, with its own mode whatever the umask is; what was
// there is replaced, a link is not followed, and nothing else is left behind.
func TestPlaceFile(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	folder := t.TempDir()
	other := filepath.Join(folder, "other")
	if err := os.WriteFile(other, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "new", "app.conf")
	if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	f := renderedFile{RenderedFile: contract.RenderedFile{Path: link, Mode: "0644"}, path: link, text: []byte("new"), uid: -1, gid: -1}
	if err := f.write(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for path, want := range map[string]string{link: "new", other: "untouched"} {
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", path, text, err)
		}
	}
	f.path = filepath.Dir(link)
	if err := f.write(); err == nil || !strings.Contains(err.Error(), "exist") && !strings.Contains(err.Error(), "directory") {
		t.Errorf("written over a folder: %v", err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Owners are looked up on the server; numbers need not be known.
func TestFileOwner(t *testing.T) {
	for _, c := range []struct {
		owner, group string
		uid, gid     int
		err          string
	}{
		{"", "", -1, -1, ""},
		{"root", "root", 0, 0, ""},
		{"12345", "54321", 12345, 54321, ""},
		{"nobody-here", "", 0, 0, `there is no user "nobody-here" on this server`},
		{"", "nobody-here", 0, 0, `there is no group "nobody-here" on this server`},
	} {
		f := renderedFile{RenderedFile: contract.RenderedFile{Owner: c.owner, Group: c.group}}
		err := f.findOwner()
		switch {
		case c.err != "":
			if err == nil || err.Error() != c.err {
				t.Errorf("%s:%s: %v", c.owner, c.group, err)
			}
		case err != nil || f.uid != c.uid || f.gid != c.gid:
			t.Errorf("%s:%s is %d:%d, %v", c.owner, c.group, f.uid, f.gid, err)
		}
	}
}
