package agent

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// console is where a person looks when nothing else can be reached.
type console struct {
	mu  sync.Mutex
	out io.Writer
}

func (c *console) say(format string, arguments ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, "hotc-agent: "+format+"\n", arguments...)
}

// The times of a wait: how long nothing is said, and how often it is said again.
const (
	sayAfter = 5 * time.Second
	sayEvery = time.Minute
)

// patience says what the agent waits for: every new reason at once, the first
// one after a while, and all of them again every minute.
type patience struct {
	console *console
	mu      sync.Mutex
	why     string
}

// wait starts a wait. It is over when the context ends.
func (c *console) wait(ctx context.Context, why string) *patience {
	p := &patience{console: c, why: why}
	mistake.Go(func() {
		timer := time.NewTimer(sayAfter)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
				p.repeat()
				timer.Reset(sayEvery)
			}
		}
	})
	return p
}

func (p *patience) repeat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.console.say("waiting: %s", p.why)
}

func (p *patience) because(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = why
	p.console.say("waiting: %s", why)
}
