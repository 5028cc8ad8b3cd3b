package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// Checks before any role runs. By then the coordinator has answered and accepted the token, or the
// problem is on the console (reach, join); over TLS, so has its certificate been checked.
//
// Permanent problems fail the first role that has not run, so that Heat and all waiting roles learn
// of it at once. What an earlier role, an operator or time may still fix is a warning: on the
// console, and in the server's state.
const (
	// leastRoom is the free disk space needed for the journal, files and logs, in bytes.
	leastRoom = 64 << 20
	// mostSkew is how far the server's clock may differ from the coordinator's.
	mostSkew = time.Minute
)

// probeAfter is how long the coordinator may take to answer before it is probed.
const probeAfter = time.Second

// reach reports on the console why the coordinator cannot be reached, whenever the reason changes,
// until the context ends.
func (a *agent) reach(ctx context.Context, p *patience) {
	if a.Probe == nil {
		return
	}
	said := ""
	for pause := probeAfter; ; pause = min(2*pause, time.Minute) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		err := a.Probe(ctx, a.Boot.Coordinator)
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			p.because(strings.ReplaceAll(said, "\n", "\n  "))
		}
		if err == nil && said != "" {
			said = ""
			p.because(store.ShownURL(a.Boot.Coordinator) + " accepts connections now; no session with it yet")
		}
	}
}

// appear reports that the agent is up, and compares the clocks: the coordinator records the time of
// the report.
func (a *agent) appear(ctx context.Context) error {
	from := a.Now()
	if err := a.enter(ctx, protocol.PhaseUp); err != nil {
		return err
	}
	until := a.Now()
	written, err := a.store.Written(ctx, protocol.Deployment(a.Boot.Deployment).State(a.Boot.Server))
	if err != nil {
		return err
	}
	if off := skew(written, from, until); off != "" {
		a.warn("the clock of this server is " + off + " the coordinator's: certificates and Keystone tokens are validated against it, and times in logs will not match; is NTP set up?")
	}
	return nil
}

// skew is "3m0s behind" or "… ahead of", for a moment between two others on another clock; "" if it
// is tolerable.
func skew(there, from, until time.Time) string {
	switch {
	case there.Sub(until) > mostSkew:
		return there.Sub(until).Round(time.Second).String() + " behind"
	case from.Sub(there) > mostSkew:
		return from.Sub(there).Round(time.Second).String() + " ahead of"
	}
	return ""
}

// preflight checks whether the roles can run at all; the error says why not.
func (a *agent) preflight(ctx context.Context, roles []contract.Role) error {
	var found []error
	for _, folder := range []string{a.State, a.Work} {
		found = append(found, a.checkRoom(folder))
	}
	for i, r := range roles {
		tool := driver.Find(a.Drivers, r.Driver)
		switch {
		case tool == nil && i == 0:
			found = append(found, fmt.Errorf("this agent has no driver %q", r.Driver))
			continue
		case tool == nil:
			found = append(found, fmt.Errorf("this agent has no driver %q, which the role %s needs", r.Driver, r.Name))
			continue
		}
		if err := driver.CheckTool(ctx, tool, r); err != nil {
			a.warn(fmt.Sprintf("role %s: %v", r.Name, err))
		}
	}
	return errors.Join(found...)
}

// checkRoom returns an error if a folder's disk is full.
func (a *agent) checkRoom(folder string) error {
	room := a.Room
	if room == nil {
		room = roomOf
	}
	free, err := room(folder)
	if err != nil {
		return fmt.Errorf("check the disk space of %s: %w", folder, err)
	}
	if free < leastRoom {
		return fmt.Errorf("the disk of %s has %d MiB left, but %d are needed", folder, free>>20, leastRoom>>20)
	}
	return nil
}

// roomOf is the free space, in bytes, of the file system of a folder, or of its nearest existing
// parent.
func roomOf(folder string) (uint64, error) {
	for {
		var fs unix.Statfs_t
		err := unix.Statfs(folder, &fs)
		if err == nil {
			return fs.Bavail * uint64(fs.Bsize), nil
		}
		above := filepath.Dir(folder)
		if !errors.Is(err, unix.ENOENT) || above == folder {
			return 0, os.NewSyscallError("statfs", err)
		}
		folder = above
	}
}

// warn reports a warning on the console and in the server's state, once.
func (a *agent) warn(text string) {
	known := false
	a.board.show(func(s *protocol.ServerState) {
		if known = strings.Contains(s.Message, text); !known {
			s.Message = strings.TrimPrefix(s.Message+"; "+text, "; ")
		}
	})
	if !known {
		a.console.say("%s", text)
	}
}
