package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// othersCan is what another user of this machine may do, by find's test, below a folder.
func othersCan(t *testing.T, test, folder string) []string {
	t.Helper()
	// what find may not enter it complains of
	cmd := exec.Command("find", folder, "!", "-type", "l", test, "-printf", "%P\n")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.Output()
	if _, complains := err.(*exec.ExitError); err != nil && !complains {
		t.Fatal(err)
	}
	found := strings.Fields(string(out))
	slices.Sort(found)
	return found
}

// A local user of a server, who is not root, sees and changes nothing of the agent's, not
// even where an image has made the state folder for all; where --work lies elsewhere he sees
// what roles leave in their folders, and their exit status, but not what they print.
func TestOtherUsersOfAServer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can look as another user")
	}
	for _, elsewhere := range []bool{false, true} {
		b := newBed(t, false, "echo left >file; echo hush; hotc-agent get x", "exit 3")
		state := filepath.Join(b.folder, "state")
		for _, folder := range []string{b.folder, state} {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		work := filepath.Join(state, "roles")
		if elsewhere {
			work = b.work()
		}
		p := b.start("--work", work)
		b.awaitBlocked()
		sockets := 0
		if err := filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
			if err != nil || path == work || path == filepath.Join(state, "tools") {
				return err
			}
			info, err := e.Info()
			if err != nil || info.Mode()&fs.ModeSymlink != 0 || strings.HasPrefix(path, work) {
				return err
			}
			if info.Mode()&fs.ModeSocket != 0 {
				sockets++
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has the mode %v", path, info.Mode())
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if sockets != 1 {
			t.Errorf("%d sockets", sockets)
		}
		for _, test := range []string{"-readable", "-writable", "-executable"} {
			if found := othersCan(t, test, state); len(found) > 0 {
				t.Errorf("%s: others have %q", test, found)
			}
		}
		b.web(`"good"`)
		b.awaitSaid(p, "db.r2: exit status 3")
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		p.status()
		if !elsewhere {
			continue
		}
		if got := strings.Join(othersCan(t, "-readable", work), " "); got != "r1 r1.status r1/file r2 r2.status" {
			t.Errorf("others read %s", got)
		}
		if found := othersCan(t, "-writable", work); len(found) > 0 {
			t.Errorf("others write %q", found)
		}
	}
}
