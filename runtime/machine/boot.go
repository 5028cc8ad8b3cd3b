package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// Polling intervals for the end of cloud-init, which may upgrade an image for half an
// hour. Its failure is checked less often, since that starts a program.
const (
	lookSoon   = 10 * time.Millisecond
	soon       = 30 * time.Second
	lookLater  = 500 * time.Millisecond
	askSystemd = time.Second
)

// AwaitCloudInit waits until cloud-init has finished in this boot, including the user's own
// part, or has failed permanently.
func (m Machine) AwaitCloudInit(ctx context.Context) error {
	began, asked := time.Now(), time.Now()
	for !m.cloudInitFinished() {
		if time.Since(asked) > askSystemd {
			if m.cloudInitFailed(ctx) {
				return nil
			}
			asked = time.Now()
		}
		pause := lookSoon
		if time.Since(began) > soon {
			pause = lookLater
		}
		if err := store.Pause(ctx, pause); err != nil {
			return fmt.Errorf("wait for cloud-init: %w", err)
		}
	}
	return nil
}

// cloudInitFinished checks for the files that appear at every boot when cloud-init ends, and
// are removed when it begins.
func (m Machine) cloudInitFinished() bool {
	for _, name := range []string{"var/lib/cloud/instance/boot-finished", "run/cloud-init/result.json"} {
		if _, err := os.Stat(filepath.Join(m.Root, name)); err == nil {
			return true
		}
	}
	return false
}

// cloudInitFailed asks systemd, if present, whether the last stage has failed: it then
// creates neither file.
func (m Machine) cloudInitFailed(ctx context.Context) bool {
	if _, err := os.Stat(filepath.Join(m.Root, "run/systemd/system")); err != nil {
		return false
	}
	return exec.CommandContext(ctx, "systemctl", "is-failed", "-q", "cloud-final.service").Run() == nil
}

// Settings is the content of the file with the agent's environment, which the user's own
// part may write, without trailing line ends; "" if there is none.
func (m Machine) Settings() string {
	text, err := os.ReadFile(filepath.Join(m.Root, "etc/hotc/environment"))
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(text), "\n")
}
