package bed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"
)

// packages are the programs that a bed needs, with Debian's packages for them.
var packages = map[string]string{"ip": "iproute2", "nsenter": "util-linux", "cloud-init": "cloud-init", "java": "default-jre-headless"}

// machineCan says why this machine cannot have a bed.
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
