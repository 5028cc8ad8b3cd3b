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

// The descriptors that the guard is started with: fanotify's, and that of the files'
// folder. The next agent may make another one of that name before the guard has ended.
const (
	guarded = 3
	folder  = 4
)

// Guard is the guard's whole life: it holds fanotify's descriptor until the agent
// says that the role has ended, or has gone itself. Then the role is ended first, the
// openers that are left are denied and the files removed; only then the descriptor goes.
func Guard(in io.Reader) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) // it ends with the agent, and not before
	agent := bufio.NewReader(in)
	line, err := agent.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the guard was told nothing: %w", err)
	}
	var o orders
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("the guard's orders cannot be read: %w", err)
	}
	rest, _ := io.ReadAll(agent)
	if strings.TrimSpace(string(rest)) == atEase {
		return nil
	}
	for {
		if _, err := process.EndMarked([]string{o.Mark}, lastWish); err == nil {
			break
		}
	}
	for _, name := range o.Files {
		_ = unix.Unlinkat(folder, name, 0)
	}
	denyAll()
	return nil
}

// lastWish is how long a role whose agent has died may take to end by itself. None of
// its openers gets through meanwhile.
const lastWish = 200 * time.Millisecond

// denyAll denies the openers of whom the agent has not heard, and then those of whom it
// has: they are known by the numbers of descriptors that went with it.
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

// mostDescriptors is more than an agent ever has.
const mostDescriptors = 1 << 16
