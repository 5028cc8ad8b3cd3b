package bed

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// What a server sees of the machine: the system, copy-on-write. Everything else is hidden:
// whiteouts for what is not in these lists, empty folders for what a system has but whose content
// on this machine must not show.
var (
	shown = map[string]bool{"bin": true, "sbin": true, "lib": true, "lib32": true, "lib64": true, "libx32": true, "usr": true,
		"etc": true, "var": true, "boot": true}
	emptied = map[string]os.FileMode{"root": 0o700, "home": 0o755, "tmp": 0o777 | os.ModeSticky, "run": 0o755, "mnt": 0o755,
		"media": 0o755, "srv": 0o755, "opt": 0o755, "proc": 0o555, "sys": 0o555, "dev": 0o755, "usr/local": 0o755,
		"var/lib/cloud": 0o755, "var/lib/hotc": 0o700, "var/lib/zookeeper": 0o755, "var/log": 0o755, "var/spool": 0o755,
		"var/tmp": 0o777 | os.ModeSticky, "etc/hotc": 0o755, stateDir: 0o755}
)

// stateDir is where a server's first process keeps notes, in its root.
const stateDir = "var/lib/bed"

//go:embed init.sh
var initScript string

// cloudConfig replaces what an image would contain.
const cloudConfig = `datasource_list: [NoCloud, None]
network: {config: disabled}
apt: {preserve_sources_list: true}
locale: C.UTF-8
resize_rootfs: false
growpart: {mode: 'off'}
ssh_genkeytypes: [ed25519]
`

// makeBase creates the layer between the machine's root and the servers' own.
func makeBase() error {
	if err := os.Mkdir(baseDir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if _, empty := emptied[name]; empty || shown[name] || e.Type()&os.ModeSymlink != 0 {
			continue
		}
		// a whiteout of overlayfs is a device 0/0
		if err := unix.Mknod(filepath.Join(baseDir, name), unix.S_IFCHR, 0); err != nil {
			return fmt.Errorf("hide /%s: %w", name, err)
		}
	}
	for name, mode := range emptied {
		path := filepath.Join(baseDir, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		if err := unix.Setxattr(path, "trusted.overlay.opaque", []byte("y"), 0); err != nil {
			return fmt.Errorf("hide what is in /%s: %w", name, err)
		}
	}
	for _, dir := range []string{"usr/local/bin", "usr/local/sbin", "usr/local/lib", "usr/local/share", "usr/local/etc", "var/log/apt"} {
		if err := os.MkdirAll(filepath.Join(baseDir, dir), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"etc/cloud/cloud.cfg.d/99-bed.cfg": cloudConfig, "etc/resolv.conf": "", "etc/fstab": "",
		"etc/default/locale": "LANG=C.UTF-8\n", stateDir + "/init": initScript} {
		if err := writeFile(filepath.Join(baseDir, name), text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file and its parent folders.
func writeFile(path, text string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

// fill writes a file that takes all the room of its file system.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	zeros := make([]byte, 1<<20)
	for len(zeros) > 0 {
		if _, err := file.Write(zeros); err != nil {
			if !errors.Is(err, unix.ENOSPC) {
				return err
			}
			zeros = zeros[:len(zeros)/2] // for the rest
		}
	}
	return nil
}

// mountRoot mounts a server's root in a folder of its own.
func mountRoot(dir string) (string, error) {
	for _, name := range []string{"own", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return "", err
		}
	}
	root := filepath.Join(dir, "root")
	layers := fmt.Sprintf("lowerdir=%s:/,upperdir=%s/own,workdir=%s/work", baseDir, dir, dir)
	if err := unix.Mount("bed", root, "overlay", 0, layers); err != nil {
		return "", fmt.Errorf("mount a server's root: %w", err)
	}
	return root, nil
}
