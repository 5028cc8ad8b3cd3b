package lazyfile

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// event is one opener.
type event struct {
	fd  int32 // of the file; it also identifies the opener in the answer
	pid int
}

// answered is a completed read.
type answered struct {
	file  *file
	value []byte
	err   error
}

// answer answers openers until the context has ended, then denies all others.
func (f *Files) answer() {
	defer close(f.done)
	asked := make(chan []event)
	mistake.Go(func() { f.listen(asked) })
	ended := make(chan answered)
	reads := 0
	over := f.ctx.Done()
	for asked != nil || reads > 0 {
		select {
		case events, open := <-asked:
			if !open {
				asked = nil
			}
			for _, e := range events {
				if f.take(e, ended) {
					reads++
				}
			}
		case a := <-ended:
			reads--
			f.finish(a)
		case <-over:
			over = nil
			for _, x := range f.byFile {
				f.deny(x)
			}
			_ = f.events.SetReadDeadline(time.Now()) // pending events are still read
		}
	}
}

// listen reads the kernel's events.
func (f *Files) listen(asked chan<- []event) {
	defer close(asked)
	buffer := make([]byte, 256*unix.FAN_EVENT_METADATA_LEN)
	for {
		n, err := f.events.Read(buffer)
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				f.cancel(&brokenError{fmt.Errorf("read fanotify's events: %w", err)})
			}
			return
		}
		asked <- parse(buffer[:n])
	}
}

func parse(buffer []byte) (events []event) {
	for len(buffer) >= unix.FAN_EVENT_METADATA_LEN {
		m := (*unix.FanotifyEventMetadata)(unsafe.Pointer(&buffer[0]))
		if m.Fd >= 0 && m.Mask&unix.FAN_OPEN_PERM != 0 {
			events = append(events, event{m.Fd, int(m.Pid)})
		}
		if m.Event_len < unix.FAN_EVENT_METADATA_LEN || int(m.Event_len) > len(buffer) {
			return events
		}
		buffer = buffer[m.Event_len:]
	}
	return events
}

// take records an opener, and starts the read that it waits for.
func (f *Files) take(e event, ended chan<- answered) (reads bool) {
	id, err := inodeOf(int(e.fd))
	x := f.byFile[id]
	switch {
	case err != nil || x == nil, e.pid == os.Getpid(), x.written: // the kernel asked before the mark was removed
		f.respond(e.fd, unix.FAN_ALLOW)
		return false
	case x.denied || f.ctx.Err() != nil || !isOf(e.pid, f.Mark):
		f.respond(e.fd, unix.FAN_DENY)
		return false
	}
	x.waiting = append(x.waiting, e.fd)
	if x.asked {
		return false
	}
	x.asked = true
	mistake.Go(func() {
		value, err := f.Read(f.ctx, x.input)
		ended <- answered{x, value, err}
	})
	return true
}

// finish allows the openers of a file, once its value is written.
func (f *Files) finish(a answered) {
	err := a.err
	if err == nil {
		if _, err = a.file.own.WriteAt(a.value, 0); err != nil {
			f.cancel(&brokenError{fmt.Errorf("write the file of input %s: %w", a.file.input, err)})
		}
	}
	if err != nil || f.ctx.Err() != nil {
		f.deny(a.file)
		return
	}
	// The mark is removed before the answer; the loop answers openers in between.
	_ = unix.FanotifyMark(f.fd(), unix.FAN_MARK_REMOVE, unix.FAN_OPEN_PERM, unix.AT_FDCWD, a.file.path)
	for _, fd := range a.file.waiting {
		f.respond(fd, unix.FAN_ALLOW)
	}
	a.file.waiting, a.file.written = nil, true
}

func (f *Files) deny(x *file) {
	x.denied = true
	for _, fd := range x.waiting {
		f.respond(fd, unix.FAN_DENY)
	}
	x.waiting = nil
}

func (f *Files) fd() (fd int) {
	fd = -1
	if raw, err := f.events.SyscallConn(); err == nil {
		_ = raw.Control(func(x uintptr) { fd = int(x) })
	}
	return fd
}

// respond answers one opener, which may have been killed meanwhile.
func (f *Files) respond(fd int32, response uint32) {
	respond(f.fd(), fd, response)
	unix.Close(int(fd))
}

func respond(fanotify int, fd int32, response uint32) {
	r := unix.FanotifyResponse{Fd: fd, Response: response}
	_, _ = unix.Write(fanotify, unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r)))
}
