package role

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/process"
)

// prints is a role's output: two files beside its folder, which the role's processes
// write directly, so that a daemon that the role leaves behind can print when the agent
// is gone.
type prints struct {
	stdout, stderr *os.File
	from           [2]int64 // where this run's output begins
	mask           *mask    // removed from it, if not nil

	mu     sync.Mutex
	read   [2]int64 // offsets read so far
	tail   []byte   // of both, in the order seen
	unsent bool     // the coordinator has an older tail
}

// printEndings are the suffixes of the two files.
var printEndings = []string{".stdout", ".stderr"}

func openPrints(work string) (*prints, error) {
	p := &prints{}
	for i, ending := range printEndings {
		file, err := os.OpenFile(work+ending, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
		if err != nil {
			p.close()
			return nil, fmt.Errorf("open the role's output: %w", err)
		}
		if info, err := file.Stat(); err == nil {
			p.from[i], p.read[i] = info.Size(), info.Size()
		}
		*[]**os.File{&p.stdout, &p.stderr}[i] = file
	}
	return p, nil
}

func (p *prints) close() {
	for _, file := range p.files() {
		if file != nil {
			file.Close()
		}
	}
}

// scrub overwrites the secrets in the run's output in place, since processes that the role has
// left behind may continue to print.
func (p *prints) scrub() error {
	for i, file := range p.files() {
		// the file itself is open for appending only
		again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), os.O_RDWR, 0)
		if err == nil {
			err = p.mask.overwrite(again, p.from[i])
			again.Close()
		}
		if err != nil {
			return fmt.Errorf("remove the secrets from the role's output: %w", err)
		}
	}
	return nil
}

func (p *prints) files() [2]*os.File { return [2]*os.File{p.stdout, p.stderr} }

// look reads new output and reports whether anything is unsent.
func (p *prints) look() (unsent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, file := range p.files() {
		info, err := file.Stat()
		if err != nil || info.Size() <= p.read[i] {
			continue
		}
		// A secret at the cut is read and masked as a whole.
		from := max(p.read[i], info.Size()-protocol.LogSize-p.mask.longest())
		more, _ := io.ReadAll(io.NewSectionReader(file, from, info.Size()-from))
		p.read[i] = info.Size()
		p.tail = p.mask.hide(append(p.tail, more...))
		if over := len(p.tail) - protocol.LogSize; over > 0 {
			p.tail = append([]byte(nil), p.tail[over:]...)
		}
		p.unsent = true
	}
	return p.unsent
}

// send passes the tail to keep. If that fails, it is sent again with the next output.
func (p *prints) send(keep func(tail []byte) error) {
	p.mu.Lock()
	p.unsent = false
	p.mu.Unlock()
	if keep(p.tailNow()) != nil {
		p.mu.Lock()
		p.unsent = true
		p.mu.Unlock()
	}
}

// tailNow is the current tail, which is never modified.
func (p *prints) tailNow() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tail[:len(p.tail):len(p.tail)]
}

// lastLine is the last line of the run's output, preferably of its standard error.
func (p *prints) lastLine() string {
	for _, i := range []int{1, 0} {
		for _, line := range slices.Backward(bytes.Split(p.mask.hide(p.end(i, 4<<10)), []byte{'\n'})) {
			if text := process.OneLine(line, 200); text != "" {
				return text
			}
		}
	}
	return ""
}

// lastLines are the last 20 lines of the run, at most 4 KiB.
func (p *prints) lastLines() string {
	p.look()
	text := bytes.TrimRight(p.tailNow(), "\n")
	lines := bytes.Split(text[max(0, len(text)-4<<10):], []byte{'\n'})
	return readable(bytes.Join(lines[max(0, len(lines)-20):], []byte{'\n'}))
}

// readable returns output as valid UTF-8, for JSON.
func readable(printed []byte) string { return string(bytes.ToValidUTF8(printed, []byte("?"))) }

// end is the end of one of the files, without the output of earlier runs.
func (p *prints) end(which int, size int64) []byte {
	file := p.files()[which]
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	from := max(p.from[which], info.Size()-size)
	text, _ := io.ReadAll(io.NewSectionReader(file, from, max(0, info.Size()-from)))
	return text
}

// The files are read often, to keep the order between them, and sent rarely.
const (
	lookEvery = 250 * time.Millisecond
	sendEvery = time.Second
	lastSend  = 5 * time.Second
)

// followLog sends the tail of the role's output to the coordinator, at most once a
// second, and at the end.
func (l *life) followLog() (stop func()) {
	return store.Beside(l.ctx, func(ctx context.Context) {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		var sent time.Time
		for {
			select {
			case <-ctx.Done():
				if l.prints.look() {
					l.sendLog()
				}
				return
			case now := <-ticker.C:
				if l.prints.look() && now.Sub(sent) >= sendEvery {
					l.prints.send(func(tail []byte) error { return l.host.Cells.WriteLog(ctx, l.role.Name, tail) })
					sent = now
				}
			}
		}
	})
}

// sendLog sends the tail at the end, even if the agent is to end, without delaying
// that.
func (l *life) sendLog() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), lastSend)
	defer cancel()
	// If that fails, the output is still on the server.
	l.prints.send(func(tail []byte) error { return l.host.Cells.WriteLog(ctx, l.role.Name, tail) })
}
