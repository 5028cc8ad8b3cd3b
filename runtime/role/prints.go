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

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/runtime/process"
)

// prints is what a role prints: two files beside its folder, which the role's
// processes write themselves. Nothing stands between, so that a daemon which the
// role leaves behind can print on when the agent is gone.
type prints struct {
	stdout, stderr *os.File
	from           [2]int64 // where this run begins
	mask           *mask    // what is taken out; nil is nothing

	mu     sync.Mutex
	read   [2]int64 // how far the tail has come
	tail   []byte   // of both, in the order they were seen
	unsent bool     // the coordinator has another tail
}

// printEndings are those of the two files' names.
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

// scrub takes the secrets out of what the run has left in the files. It writes over them in
// their place, since what the role has left behind may print on.
func (p *prints) scrub() error {
	for i, file := range p.files() {
		// to a file that is open for appending one can only append
		again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), os.O_RDWR, 0)
		if err == nil {
			err = p.mask.overwrite(again, p.from[i])
			again.Close()
		}
		if err != nil {
			return fmt.Errorf("take the secrets out of the role's output: %w", err)
		}
	}
	return nil
}

func (p *prints) files() [2]*os.File { return [2]*os.File{p.stdout, p.stderr} }

// look reads what was printed since the last look and says whether there is anything
// that was not sent.
func (p *prints) look() (unsent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, file := range p.files() {
		info, err := file.Stat()
		if err != nil || info.Size() <= p.read[i] {
			continue
		}
		// A secret at the cut is seen whole, and so taken out whole.
		from := max(p.read[i], info.Size()-coordinator.LogSize-p.mask.longest())
		more, _ := io.ReadAll(io.NewSectionReader(file, from, info.Size()-from))
		p.read[i] = info.Size()
		p.tail = p.mask.hide(append(p.tail, more...))
		if over := len(p.tail) - coordinator.LogSize; over > 0 {
			p.tail = append([]byte(nil), p.tail[over:]...)
		}
		p.unsent = true
	}
	return p.unsent
}

// send hands the tail to who keeps it. One that cannot be kept now is sent again with
// what is printed next.
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

// tailNow is the tail as it was last seen. What it holds is never changed.
func (p *prints) tailNow() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tail[:len(p.tail):len(p.tail)]
}

// lastLine is the end of what the run printed, best of all to its standard error.
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

// lastLines are for people: the last 20 lines of the run, at most 4 KiB.
func (p *prints) lastLines() string {
	p.look()
	text := bytes.TrimRight(p.tailNow(), "\n")
	lines := bytes.Split(text[max(0, len(text)-4<<10):], []byte{'\n'})
	return readable(bytes.Join(lines[max(0, len(lines)-20):], []byte{'\n'}))
}

// readable is what was printed as a text for JSON.
func readable(printed []byte) string { return string(bytes.ToValidUTF8(printed, []byte("?"))) }

// end is the last part of one of the files, without what earlier runs printed.
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

// The tail is looked at often, so that the two files keep their order, and sent
// seldom.
const (
	lookEvery = 250 * time.Millisecond
	sendEvery = time.Second
	lastSend  = 5 * time.Second
)

// followLog sends the tail of what the role prints to the coordinator, at most
// once a second, and at the end.
func (l *life) followLog() (stop func()) {
	return coordinator.Beside(l.ctx, func(ctx context.Context) {
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

// sendLog sends the tail at the end, even of an agent that is to end itself, but
// does not hold up that end.
func (l *life) sendLog() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), lastSend)
	defer cancel()
	// What cannot be kept there still lies on the server.
	l.prints.send(func(tail []byte) error { return l.host.Cells.WriteLog(ctx, l.role.Name, tail) })
}
