package script

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// filePrefix is what the names of output files begin with, so that
// $heat_outputs_path.NAME is such a name.
const filePrefix = "output"

func outputsFolder(job *driver.Job) string { return filepath.Join(job.Folder, "outputs") }
func outputsPrefix(job *driver.Job) string { return filepath.Join(outputsFolder(job), filePrefix) }

// outputs publishes the files of a folder at the moment they are complete: when
// one that was written is closed, or one is moved there.
//
// What a file holds is read after the kernel has told of it. A script that writes
// a file in several steps, each of which closes it, has published the first; a
// later one is another value, which fails the role. It should write elsewhere and
// move, or write once.
type outputs struct {
	job    *driver.Job
	events *os.File
	done   chan struct{}
	said   map[string]bool
}

func watchOutputs(ctx context.Context, job *driver.Job) (*outputs, error) {
	folder := outputsFolder(job)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the outputs' folder: %w", err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch the outputs: %w", os.NewSyscallError("inotify_init1", err))
	}
	events := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, folder, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO); err != nil {
		events.Close()
		return nil, fmt.Errorf("watch the outputs: %w", os.NewSyscallError("inotify_add_watch", err))
	}
	o := &outputs{job: job, events: events, done: make(chan struct{}), said: map[string]bool{}}
	mistake.Go(func() { o.follow(ctx) })
	return o, nil
}

// stop ends the watch and waits until what was under way is published. What came
// last is left to the sweep.
func (o *outputs) stop() {
	o.events.Close()
	<-o.done
}

func (o *outputs) follow(ctx context.Context) {
	defer close(o.done)
	buffer := make([]byte, 64*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	for {
		n, err := o.events.Read(buffer)
		if err != nil {
			return
		}
		for _, name := range eventNames(buffer[:n]) {
			if name == overflow {
				o.sweep(ctx)
				continue
			}
			o.publish(ctx, name)
		}
	}
}

// overflow stands for the event that says that events were lost.
const overflow = "/"

// eventNames are the names of the files that events tell of.
func eventNames(events []byte) []string {
	var names []string
	for len(events) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(events[4:])
		length := int(binary.NativeEndian.Uint32(events[12:]))
		name := events[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+length]
		events = events[unix.SizeofInotifyEvent+length:]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			names = append(names, overflow)
		case mask&(unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO) != 0:
			names = append(names, strings.TrimRight(string(name), "\x00"))
		}
	}
	return names
}

// sweep publishes what is there.
func (o *outputs) sweep(ctx context.Context) {
	entries, err := os.ReadDir(outputsFolder(o.job))
	if err != nil {
		o.say("the outputs cannot be read: %v", err)
		return
	}
	for _, entry := range entries {
		o.publish(ctx, entry.Name())
	}
}

// publish publishes one file. What goes wrong with a declared output is the
// role's failure already; the script's author finds it in the standard error too.
func (o *outputs) publish(ctx context.Context, file string) {
	name, isOutput := strings.CutPrefix(file, filePrefix+".")
	if !isOutput {
		return
	}
	path := filepath.Join(outputsFolder(o.job), file)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		err = o.job.Values.WriteText(ctx, driver.NameOfFile(name), text)
	}
	if err != nil && ctx.Err() == nil {
		o.say("%s: %v", file, err)
	}
}

// say tells the script's author something once.
func (o *outputs) say(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if !o.said[text] {
		o.said[text] = true
		fmt.Fprintf(o.job.Stderr, "hotc-agent: %s\n", text)
	}
}
