package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/user"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/coordinator/deploy"
)

// addLockFlag is for commands that change a deployment or its stack: one at a time does.
func (t *target) addLockFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.takeOver, "take-over", false, "take over from a hotc up, down, apply or destroy of the stack that is still running: it stops")
}

// lock makes a command the only one that changes the deployment and its stack. *deploy.HeldError,
// deploy.ErrNotApplied.
func (s *session) lock(ctx context.Context, command string) (*deploy.Lock, error) {
	h := deploy.Holder{ID: rand.Text(), Command: command, User: "an unknown user", Host: "an unknown host", Process: os.Getpid(), Since: time.Now(), Machine: thisMachine()}
	if me, err := user.Current(); err == nil {
		h.User = me.Username
	}
	if name, err := os.Hostname(); err == nil {
		h.Host = name
	}
	within, stop := s.Within(ctx)
	defer stop()
	return deploy.TakeLock(within, s.Session, s.Deployment, s.Secret, h, func(there deploy.Holder) bool {
		return there.Machine != "" && there.Machine == h.Machine && errors.Is(syscall.Kill(there.Process, 0), syscall.ESRCH)
	}, s.target.takeOver)
}

// thisMachine is a boot of a machine, and a container in it: where a process has its number. It is
// "" where that is unknown.
func thisMachine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	within, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + within
}
