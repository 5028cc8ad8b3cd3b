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

// filePrefix begins the names of output files, which are $heat_outputs_path.NAME. refusalFile
// is where a shell script's functions say why it cannot go on.
const (
	filePrefix  = "output"
	refusalFile = "refused"
)

func outputsFolder(job *driver.Job) string { return filepath.Join(job.Folder, "outputs") }
func outputsPrefix(job *driver.Job) string { return filepath.Join(outputsFolder(job), filePrefix) }

// outputs publishes the files of a folder as soon as they are complete: when one that was
// written is closed, or one is moved there.
//
// A file is read after the kernel's notification. A script that writes a file in several
// steps, closing it each time, has published the first; a later one is another value,
// which fails the role. It should write elsewhere and move, or write once.
type outputs struct {
	job    *driver.Job
	refuse context.CancelCauseFunc // ends the role
	events *os.File
	done   chan struct{}
	said   map[string]bool
}

func watchOutputs(ctx context.Context, job *driver.Job, refuse context.CancelCauseFunc) (*outputs, error) {
	folder := outputsFolder(job)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create the outputs' folder: %w", err)
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
	o := &outputs{job: job, refuse: refuse, events: events, done: make(chan struct{}), said: map[string]bool{}}
	mistake.Go(func() { o.follow(ctx) })
	return o, nil
}

// stop ends the watch and waits for pending publications. The last files are left to the
// sweep.
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

// overflow stands for the event that reports lost events.
const overflow = "/"

// eventNames returns the names of the files in events.
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

// sweep publishes all existing files.
func (o *outputs) sweep(ctx context.Context) {
	entries, err := os.ReadDir(outputsFolder(o.job))
	if err != nil {
		o.say("read the outputs: %v", err)
		return
	}
	for _, entry := range entries {
		o.publish(ctx, entry.Name())
	}
}

// publish publishes one file. An error with a declared output already fails the role; it
// is also in the standard error, for the script's author.
func (o *outputs) publish(ctx context.Context, file string) {
	if file == refusalFile {
		if why, err := os.ReadFile(filepath.Join(outputsFolder(o.job), file)); err == nil {
			o.refuse(refusalError(why))
		}
		return
	}
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

// refusalError is why a script was ended that would have read an empty variable.
type refusalError string

func (e refusalError) Error() string { return string(e) }

// say prints a message to the script's standard error, once.
func (o *outputs) say(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if !o.said[text] {
		o.said[text] = true
		fmt.Fprintf(o.job.Stderr, "hotc-agent: %s\n", text)
	}
}
