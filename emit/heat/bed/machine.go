package bed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// packages are the programs that a bed needs, with their Debian packages.
var packages = map[string]string{"ip": "iproute2", "nsenter": "util-linux", "cloud-init": "cloud-init", "java": "default-jre-headless"}

// machineCan says why this machine cannot run a bed.
func machineCan() error {
	if os.Geteuid() != 0 {
		return errors.New("a bed is made of namespaces and mounts, which need root: run this as root")
	}
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return err
	}
	if !bytes.Contains(known, []byte("\toverlay\n")) {
		if err := exec.Command("modprobe", "overlay").Run(); err != nil {
			return errors.New("servers' roots are overlays, and this kernel has no overlay file system")
		}
	}
	if inChroot() {
		return errors.New("a bed makes mounts private, which a chroot cannot: run this where the root folder is a mount point, after pivot_root or in a container")
	}
	var missing []string
	for program, name := range packages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, name)
		}
	}
	for _, jar := range jars {
		if _, err := os.Stat(jar); err != nil {
			missing = append(missing, "zookeeper", "libslf4j-java")
			break
		}
	}
	if len(missing) > 0 {
		sort.Strings(missing)
		return fmt.Errorf("a bed needs Debian's packages: apt-get install %s", strings.Join(missing, " "))
	}
	return nil
}

// inChroot reports whether the root folder is not a mount point: the kernel then refuses to change
// the propagation of mounts below it (mount_namespaces(7), "Shared subtrees").
func inChroot() bool {
	var root unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, "/", 0, 0, &root)
	return err == nil && root.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && root.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0
}
