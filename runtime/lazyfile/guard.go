package lazyfile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/runtime/process"
)

// The guard's inherited descriptors: fanotify's, and that of the files' folder. The next
// agent may create another folder of that name before the guard has ended.
const (
	guarded = 3
	folder  = 4
)

// Guard is the guard's main function: it holds fanotify's descriptor until the agent
// reports that the role has ended, or is gone itself. Then it ends the role, denies the
// remaining openers and removes the files before it closes the descriptor.
func Guard(in io.Reader) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) // it ends with the agent, not before
	agent := bufio.NewReader(in)
	line, err := agent.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the guard's orders: %w", err)
	}
	var o orders
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("parse the guard's orders: %w", err)
	}
	rest, _ := io.ReadAll(agent)
	if strings.TrimSpace(string(rest)) == roleEnded {
		return nil
	}
	for {
		if _, err := process.EndMarked([]string{o.Mark}, lastGrace); err == nil {
			break
		}
	}
	for _, name := range o.Files {
		_ = unix.Unlinkat(folder, name, 0)
	}
	denyAll()
	return nil
}

// lastGrace is how long a role whose agent has died may take to end. Its openers block
// meanwhile.
const lastGrace = 200 * time.Millisecond

// denyAll denies the openers whose events the agent has not read, and then the others: they
// are identified by the numbers of the agent's descriptors.
func denyAll() {
	if err := unix.SetNonblock(guarded, true); err != nil {
		return
	}
	buffer := make([]byte, 256*unix.FAN_EVENT_METADATA_LEN)
	for {
		n, err := unix.Read(guarded, buffer)
		if err != nil || n <= 0 {
			break
		}
		for _, e := range parse(buffer[:n]) {
			respond(guarded, e.fd, unix.FAN_DENY)
		}
	}
	for fd := range int32(mostDescriptors) {
		respond(guarded, fd, unix.FAN_DENY)
	}
}

// mostDescriptors is more than an agent ever opens.
const mostDescriptors = 1 << 16
