package agent

import (
	"context"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// followConnection reports on the console when the coordinator is lost, and why, and when it is
// back, until ctx ends.
func (a *agent) followConnection(ctx context.Context) {
	mistake.Go(func() {
		where, ended := store.ShownURL(a.Boot.Coordinator), 0
		for ctx.Err() == nil {
			now, changed := a.store.Connection()
			if !now.Up {
				a.sayLost(ctx, where)
				continue
			}
			if now.Ended > ended {
				ended = now.Ended
				a.console.say("the data of %s is older than what this agent has seen there: it was lost, or restored to an older state; starting a new session", where)
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	})
}

// sayLost reports that there is no connection, until there is one.
func (a *agent) sayLost(ctx context.Context, where string) {
	since := a.Now()
	a.console.say("the connection with the coordinator %s is lost: roles continue, but their reads and publications wait until it is back", where)
	waiting, over := context.WithCancel(ctx)
	defer over()
	patience := a.console.wait(waiting, "no connection with the coordinator "+where)
	mistake.Go(func() { a.reach(waiting, patience) })
	for {
		now, changed := a.store.Connection()
		if now.Up {
			a.console.say("the connection with the coordinator is back after %v", a.Now().Sub(since).Round(time.Second/10))
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
