package driver_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/driver"
)

// folder makes files from lines: "NAME = TEXT", "NAME * TEXT" for a program,
// "NAME -> TARGET", "NAME/", "NAME |" for a pipe.
func folder(t *testing.T, lines ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, " ")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		kind, text, _ := strings.Cut(rest, " ")
		var err error
		switch kind {
		case "=":
			err = os.WriteFile(path, []byte(text), 0o600)
		case "*":
			err = os.WriteFile(path, []byte(text), 0o700)
		case "->":
			err = os.Symlink(text, path)
		case "|":
			err = syscall.Mkfifo(path, 0o600)
		default:
			err = os.MkdirAll(path, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func archive(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return driver.Archive(root.FS())
}

func TestAFolderIsOneArchiveWhoeverMadeItAndWhen(t *testing.T) {
	lines := []string{"recipes/default.rb = package 'x'", "bin/run * #!/bin/sh", "empty/", "latest -> recipes/default.rb",
		".git/config = [core]", "recipes/.kitchen.yml = x"}
	first := folder(t, lines...)
	one, err := archive(first)
	if err != nil {
		t.Fatal(err)
	}
	second := folder(t, lines[5], lines[4], lines[3], lines[2], lines[1], lines[0])
	os.Chtimes(filepath.Join(second, "bin/run"), time.Unix(1, 0), time.Unix(1, 0))
	two, err := archive(second)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("the same files give other bytes (%v)", err)
	}
	var got []string
	for in := tar.NewReader(bytes.NewReader(one)); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(in)
		got = append(got, fmt.Sprintf("%s %o %s%s", h.Name, h.Mode, h.Linkname, text))
		if h.Uid != 0 || h.Uname != "" || !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s says who made it, or when", h.Name)
		}
	}
	want := `bin/ 755 
bin/run 755 #!/bin/sh
empty/ 755 
latest 777 recipes/default.rb
recipes/ 755 
recipes/.kitchen.yml 644 x
recipes/default.rb 644 package 'x'`
	if all := strings.Join(got, "\n"); all != want {
		t.Errorf("got\n%s\nwant\n%s", all, want)
	}
}

func TestWhatCannotTravel(t *testing.T) {
	for _, c := range []struct{ line, wants string }{
		{"out -> /etc/shadow", "out is a symbolic link to /etc/shadow, outside the folder"},
		{"a/out -> ../../secret", "a/out is a symbolic link to ../../secret, outside the folder"},
		{"pipe |", "pipe is a device, a pipe or a socket"},
	} {
		if _, err := archive(folder(t, c.line)); err == nil || !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%s: %v", c.line, err)
		}
	}
	big := folder(t)
	if err := os.WriteFile(filepath.Join(big, "image"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(big, "image"), 17<<20); err != nil {
		t.Fatal(err)
	}
	var large *driver.TooLargeError
	if _, err := archive(big); !errors.As(err, &large) {
		t.Errorf("17 MB: %v", err)
	}
}
