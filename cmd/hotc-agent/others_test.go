package main

import (
	"errors"
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

// A local user has put files, links and a folder of his own into a state folder that an image has made
// for all, before the agent's first start: nothing is run or written there until they are gone.
func TestWhatOthersHavePutIntoTheStateFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can become another user")
	}
	for planted, plant := range map[string]string{
		"values": ": >values", "key": "ln -s $victim key", "journal": "ln -s $victim.new journal",
		"run": "mkdir run", "roles": "mkdir roles; ln -s $victim roles/r1.stdout",
	} {
		t.Run(planted, func(t *testing.T) {
			b := newBed(t, false, "echo begun")
			state, victim := filepath.Join(b.folder, "state"), filepath.Join(b.folder, "precious")
			if err := errors.Join(os.Chmod(b.folder, 0o755), os.Mkdir(state, 0), os.Chmod(state, 0o777), os.WriteFile(victim, []byte("precious"), 0o600)); err != nil {
				t.Fatal(err)
			}
			sh := exec.Command("sh", "-c", "umask 0; "+plant)
			sh.Dir, sh.Env = state, append(os.Environ(), "victim="+victim)
			sh.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			p := b.start("--work", filepath.Join(state, "roles"), "--once")
			if status := p.status(); status != 1 || !strings.Contains(p.printed.String(), filepath.Join(state, planted)+" ") || !strings.Contains(p.printed.String(), "move it away") {
				t.Errorf("the agent ended with %d: %s", status, p.printed)
			}
			text, err := os.ReadFile(victim)
			if _, made := os.Lstat(victim + ".new"); err != nil || string(text) != "precious" || !errors.Is(made, fs.ErrNotExist) {
				t.Errorf("root wrote through a link: %q (%v, %v)", text, err, made)
			}
			if entries, err := os.ReadDir(state); err != nil || len(entries) != 1 {
				t.Errorf("in the folder are %v (%v)", entries, err)
			}
			if err := os.Rename(filepath.Join(state, planted), filepath.Join(b.folder, "moved")); err != nil {
				t.Fatal(err)
			}
			p = b.start("--work", filepath.Join(state, "roles"), "--once")
			if status := p.status(); status != 0 {
				t.Errorf("then it ended with %d: %s", status, p.printed)
			}
		})
	}
}
