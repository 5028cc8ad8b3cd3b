package agent

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// console is where operators look when nothing else can be reached.
type console struct {
	mu  sync.Mutex
	out io.Writer
}

func (c *console) say(format string, arguments ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, "hotc-agent: "+format+"\n", arguments...)
}

// When a wait is first reported, and how often it is repeated.
const (
	sayAfter = 5 * time.Second
	sayEvery = time.Minute
)

// patience reports what the agent waits for: the first reason after a while, new ones at once, and
// the current one again every minute.
type patience struct {
	console *console
	mu      sync.Mutex
	why     string
}

// wait starts reporting a wait, until the context ends.
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
