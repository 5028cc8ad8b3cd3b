package install_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// insideVariable names, in the environment of the process inside, the folder that
// its root lies in.
const insideVariable = "HOTC_INSTALL_TEST"

// patience bounds what would otherwise hang a test for ever; no test is about it.
const patience = 5 * time.Minute

// onItsOwnMachine runs a test where it may install packages: in a process whose root
// is a view of this machine's that is copied on write, and whose apt knows no source
// but /srv/repository. The test program is started once more for that.
func onItsOwnMachine(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if dir := os.Getenv(insideVariable); dir != "" {
		enter(t, dir)
		test(t)
		return
	}
	if testing.Short() {
		t.Skip("NOT INSTALLED for real: -short")
	}
	for _, program := range []string{"apt-get", "dpkg-deb", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: installing packages needs %s, which this machine has not", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a root without the tool needs mounts, and so the rights of root")
	}
	dir := t.TempDir()
	if err := unix.Mount("install", dir, "tmpfs", 0, "mode=755"); err != nil {
		t.Skipf("SKIPPED: a root without the tool needs mounts, which this machine refuses: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--", os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideVariable+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("on its own machine: %v\n%s", err, out)
	}
}

// enter makes the root and moves there.
func enter(t *testing.T, dir string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(dir, "root")
	for _, name := range []string{"own", "work", "root"} {
		must(os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	must(unix.Mount("root", root, "overlay", 0, fmt.Sprintf("lowerdir=/,upperdir=%s/own,workdir=%s/work", dir, dir)))
	must(unix.Mount("proc", filepath.Join(root, "proc"), "proc", 0, ""))
	must(unix.Mount("/dev", filepath.Join(root, "dev"), "", unix.MS_BIND, ""))
	must(unix.Mount("tmp", filepath.Join(root, "tmp"), "tmpfs", 0, "mode=1777"))
	must(unix.Chroot(root))
	must(os.Chdir("/"))
	for _, name := range []string{"/etc/apt/sources.list.d", "/var/lib/apt/lists", "/var/cache/apt"} {
		must(os.RemoveAll(name))
	}
	must(os.MkdirAll("/srv/repository", 0o755))
	must(os.WriteFile("/etc/apt/sources.list", []byte("deb [trusted=yes] file:/srv/repository ./\n"), 0o644))
	must(os.WriteFile("/usr/sbin/policy-rc.d", []byte("#!/bin/sh\nexit 101\n"), 0o755))
	offer(t)
}

// debOf builds a package of the tool, which prints its version. What it does after
// its installation is a line of shell.
func debOf(t *testing.T, version, afterwards string) string {
	t.Helper()
	tree := t.TempDir()
	for name, text := range map[string]string{
		"DEBIAN/control":         fmt.Sprintf("Package: hotc-test-tool\nVersion: %s\nArchitecture: all\nMaintainer: hotc\nDescription: a tool\n", version),
		"DEBIAN/postinst":        "#!/bin/sh\n" + afterwards + "\n",
		"usr/bin/hotc-test-tool": "#!/bin/sh\necho tool " + version + "\n",
	} {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	deb := filepath.Join("/srv/repository", "tool_"+version+".deb")
	if out, err := exec.Command("dpkg-deb", "--build", "--root-owner-group", tree, deb).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return deb
}

// offer lists packages in the repository.
func offer(t *testing.T, debs ...string) {
	t.Helper()
	var index strings.Builder
	for _, deb := range debs {
		control, err := exec.Command("dpkg-deb", "--field", deb).Output()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(deb)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&index, "%sFilename: ./%s\nSize: %d\nSHA256: %s\n\n", control, filepath.Base(deb), len(data), sumOf(data))
	}
	if err := os.WriteFile("/srv/repository/Packages", []byte(index.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
